"""Changes of one action, planned one after the other before any of them is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memtui.changes import Act, Change, Outcome, Plan
from memtui.model import Memory
from memtui.stores.base import StoreView

_TELLING = ("kind", "title", "content", "type", "entity")
"""Fields of an ADD that make another one the same."""


@dataclass(frozen=True, slots=True)
class BatchView:
    """What a store may ask while it plans one of them: the memories, and the plans so far."""

    view: StoreView
    planned: Sequence[Plan]

    def get(self, ref: str) -> Memory:
        """Raises RefError."""
        return self.view.get(ref)

    def memories(self, store: str) -> Iterable[Memory]:
        """All memories that are there; what is only planned is not among them."""
        return self.view.memories(store)


def planned_before(view: StoreView) -> Sequence[Plan]:
    """The plans so far of the action that this view is of."""
    return view.planned if isinstance(view, BatchView) else ()


def asked_before(change: Change, planned: Iterable[Plan]) -> Plan | None:
    """The plan of an ADD that asks for what one before it asks for: nothing. None for any other."""
    if change.act is not Act.ADD or change.force or change.fields.get("id"):
        return None
    for plan in planned:
        for known in plan.changes:
            if known.act is Act.ADD and plan.edits and _telling(known) == _telling(change):
                reason = "the same is added already"
                return Plan((change,), outcome=Outcome.DEDUPE, reason=reason, refs=plan.refs[:1])
    return None


def _telling(change: Change) -> tuple[object, ...]:
    return (change.store, *(change.fields.get(name) or "" for name in _TELLING))
