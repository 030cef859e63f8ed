"""What a change of one memory comes to, once its edits are known."""

from __future__ import annotations

from memtui.changes import Change, Edit, Outcome, Plan
from memtui.model import Memory


def done(
    change: Change, memory: Memory, edits: tuple[Edit, ...], warnings: tuple[str, ...] = ()
) -> Plan:
    """The plan of a change that touches this memory alone; without edits there is nothing to do."""
    return Plan(
        changes=(change,),
        edits=edits,
        outcome=Outcome.DONE if edits else Outcome.NOTHING,
        reason="" if edits else "it is so already",
        refs=(memory.ref,),
        warnings=warnings,
    )
