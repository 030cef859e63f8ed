"""What a change comes to, once its edits are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memtui.changes import Change, Edit, Outcome, Plan
from memtui.model import Memory


def done(
    change: Change,
    memory: Memory,
    edits: tuple[Edit, ...],
    warnings: tuple[str, ...] = (),
    *,
    ends: bool = False,
) -> Plan:
    """The plan of a change that touches this memory alone; without edits there is nothing to do.

    `ends`: it would stop being current.
    """
    return Plan(
        changes=(change,),
        edits=edits,
        outcome=Outcome.DONE if edits else Outcome.NOTHING,
        reason="" if edits else "it is so already",
        refs=(memory.ref,),
        supersedes=(memory.ref,) if ends and edits else (),
        warnings=warnings,
    )


def there_already(change: Change, what: str) -> Plan:
    """The plan of an arrival under an id that is taken: what is there stays as it is."""
    return Plan((change,), outcome=Outcome.DEDUPE, reason=f"{what} is there already")


def merged(
    change: Change,
    memory: Memory,
    others: Sequence[Memory],
    edits: tuple[Edit, ...],
    warnings: tuple[str, ...] = (),
) -> Plan:
    """The plan of making one of several: this memory stays, the others are no longer current."""
    refs = tuple(other.ref for other in others)
    return Plan(
        changes=(change,),
        edits=edits,
        refs=(memory.ref, *refs),
        supersedes=refs,
        reason=f"merged {len(others)} into {memory.id}",
        warnings=warnings,
    )


def left_dangling(memory: Memory, among: Iterable[Memory]) -> tuple[str, ...]:
    """A warning for each of these that names a memory which is about to be deleted."""
    return tuple(
        f"{other.id} names it and will point nowhere"
        for other in among
        if memory.id in other.supersedes or any(link.target == memory.id for link in other.links)
    )


def successors_stay(memory: Memory) -> tuple[str, ...]:
    """A warning that what took the place of a memory stays current when that one is restored."""
    if not memory.superseded_by:
        return ()
    return (f"{', '.join(memory.superseded_by)} took its place and stays active too",)
