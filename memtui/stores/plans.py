"""Build the plans that every format has in common.

The outcome of a change once its edits are known, and the repeated additions of a batch: changes of
one action that are planned one after the other before any of them is applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.model import Memory
from memtui.stores.base import StoreView


def plan_one(
    change: Change,
    memory: Memory,
    edits: tuple[Edit, ...],
    warnings: tuple[str, ...] = (),
    *,
    ends: bool = False,
) -> Plan:
    """The plan of a change to this memory alone; outcome NOTHING without edits.

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


def plan_duplicate(change: Change, what: str) -> Plan:
    """The plan of an import whose id is taken: what is there stays."""
    return Plan((change,), outcome=Outcome.DEDUPE, reason=f"{what} is there already")


def plan_merge(
    change: Change,
    memory: Memory,
    others: Sequence[Memory],
    edits: tuple[Edit, ...],
    warnings: tuple[str, ...] = (),
) -> Plan:
    """The plan of merging others into this memory, which stays."""
    refs = tuple(other.ref for other in others)
    return Plan(
        changes=(change,),
        edits=edits,
        refs=(memory.ref, *refs),
        supersedes=refs,
        reason=f"merged {len(others)} into {memory.id}",
        warnings=warnings,
    )


def dangling_warnings(memory: Memory, among: Iterable[Memory]) -> tuple[str, ...]:
    """Warn of each of these memories that names one which is about to be deleted."""
    return tuple(
        f"{other.id} names it and will point nowhere"
        for other in among
        if memory.id in other.supersedes or any(link.target == memory.id for link in other.links)
    )


def successor_warnings(memory: Memory) -> tuple[str, ...]:
    """Warn that the successors of a restored memory stay current."""
    if not memory.superseded_by:
        return ()
    return (f"{', '.join(memory.superseded_by)} took its place and stays active too",)


_IDENTITY_FIELDS = ("kind", "title", "content", "type", "entity")
"""Fields of an ADD that make another one the same."""


@dataclass(frozen=True, slots=True)
class BatchView:
    """The memories of the store, and the plans of this action so far."""

    view: StoreView
    planned: Sequence[Plan]

    def get(self, ref: str) -> Memory:
        """Raises RefError."""
        return self.view.get(ref)

    def memories(self, store: str) -> Iterable[Memory]:
        """All memories that exist; planned ones are not among them."""
        return self.view.memories(store)


def planned_before(view: StoreView) -> Sequence[Plan]:
    """The plans made so far for the action that this view belongs to."""
    return view.planned if isinstance(view, BatchView) else ()


def repeated_add(change: Change, planned: Iterable[Plan]) -> Plan | None:
    """The plan of an ADD that repeats one of these plans: nothing to do. None for any other."""
    if change.act is not Act.ADD or change.force or change.fields.get("id"):
        return None
    for plan in planned:
        for known in plan.changes:
            if known.act is Act.ADD and plan.edits and _identity(known) == _identity(change):
                reason = "the same is added already"
                return Plan((change,), outcome=Outcome.DEDUPE, reason=reason, refs=plan.refs[:1])
    return None


def _identity(change: Change) -> tuple[object, ...]:
    return (change.store, *(change.fields.get(name) or "" for name in _IDENTITY_FIELDS))
