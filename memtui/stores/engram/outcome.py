"""The plan that does nothing, and why."""

from __future__ import annotations

from memtui.changes import Change, Outcome, Plan
from memtui.model import Memory


def nothing(change: Change, memory: Memory, reason: str) -> Plan:
    """The memory already is as asked."""
    return Plan((change,), (), Outcome.NOTHING, reason=reason, refs=(memory.ref,))
