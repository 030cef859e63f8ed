"""Whether what was asked is what is there: the model learns a change from its own diff, which would
be believed also where it leaves out a half of what the act means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memtui.changes import Act, Change, Plan
from memtui.model import Memory


@dataclass(frozen=True)
class After:
    """One change that was made, and the memories as they are now."""

    change: Change
    memory: Memory | None
    """What it was done on; of an ADD, what it made."""
    successor: Memory | None
    others: tuple[Memory | None, ...]


def _superseded(old: Memory | None, by: Memory | None) -> bool:
    if old is None or by is None:
        return False
    return old.id in by.supersedes and by.id in old.superseded_by and old.status != "active"


def _as_asked(found: str, wanted: str) -> bool:
    """A text keeps its last newline, an entity its first word."""
    return found.rstrip() == wanted.rstrip() or found.endswith(f"/{wanted.rpartition('/')[2]}")


def _linked(after: After) -> bool:
    wanted = after.change.fields["relation"], after.change.fields["target"]
    return any((link.relation, link.target) == wanted for link in after.memory.links)


_HOLDS: dict[Act, Callable[[After], bool]] = {
    Act.ADD: lambda after: after.memory is not None,
    Act.EDIT: lambda after: all(
        _as_asked(getattr(after.memory, name), wanted)
        for name, wanted in after.change.fields.items()
    ),
    Act.SUPERSEDE: lambda after: _superseded(after.memory, after.successor),
    Act.RETIRE: lambda after: after.memory.status != "active",
    Act.RESTORE: lambda after: after.memory.status == "active",
    Act.DELETE: lambda after: after.memory is None,
    Act.PIN: lambda after: after.memory.pinned,
    Act.UNPIN: lambda after: not after.memory.pinned,
    Act.LINK: _linked,
    Act.UNLINK: lambda after: not _linked(after),
    Act.RETYPE: lambda after: after.memory.type == after.change.fields["type"],
    Act.MERGE: lambda after: all(_superseded(other, after.memory) for other in after.others),
}


def fault(plan: Plan, there: Mapping[str, Memory]) -> str:
    """What is wrong with the memories after this plan was carried out; empty when nothing is."""
    (change,) = plan.changes
    successor = there.get(plan.refs[0]) if plan.refs else None
    memory = there.get(change.ref) if change.ref else successor
    if memory is None and change.act is Act.EDIT:  # it has moved
        memory = successor
    others = tuple(there.get(f"{change.store}:{id}") for id in change.fields.get("others", ()))
    after = After(change, memory, successor, others)
    holds = _HOLDS.get(change.act)
    if holds is None or holds(after):
        return ""
    return f"after {change}: {after}"
