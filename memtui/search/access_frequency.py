"""Access frequency: how often a memory was used, as its store or memtui's sidecar counts it.

Simple Memory: frequency = log(1 + hits) / K. The white paper leaves K open; here it is
log(1 + `MAX_USES`), so that the value lies in 0..1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from memtui.model import Memory

MAX_USES = 32
"""Uses at which the frequency is 1."""
ACCESS_COUNT = "access_count"
LAST_ACCESSED = "last_accessed"
"""Keys of `Memory.extra` under which stores give the accesses that were counted."""
_REVISIONS = ("revision_count", "duplicate_count")
"""Counted from 1."""
_ACCESSES = ("hits", ACCESS_COUNT, "accessCount", "injected")
_LAST_TIMES = (LAST_ACCESSED, "last_accessed_at", "lastAccessed", "last")
_MAX_COUNT = 1_000_000
"""Files may hold integers that no float can represent."""
_NESTED = "injections"
"""Key under which the workspace format counts the uses of a document."""


_COUNTED = frozenset({"salience", *_REVISIONS, *_ACCESSES, *_LAST_TIMES, _NESTED})


def is_counted(memory: Memory) -> bool:
    """Whether the memory may have a count of uses; most memories of a store have none."""
    return not _COUNTED.isdisjoint(memory.extra)


def measure_frequency(memory: Memory) -> float:
    """The frequency of a memory, 0..1: its own `salience`, else of its accesses and revisions."""
    own = memory.extra.get("salience")
    if isinstance(own, (int, float)) and _is_number(own):
        return float(min(1, max(0, own)))
    return frequency(count_accesses(memory) + count_revisions(memory))


def frequency(uses: float) -> float:
    """Return log(1 + uses) / K, at most 1."""
    return min(1.0, math.log1p(uses) / math.log1p(MAX_USES))


def count_accesses(memory: Memory) -> float:
    """How often the memory was given to an agent or a person, as far as programs counted it."""
    return sum(_sum(group, _ACCESSES, 0) for group in _groups(memory))


def count_revisions(memory: Memory) -> float:
    """How often the memory was rewritten or repeated."""
    return sum(_sum(group, _REVISIONS, 1) for group in _groups(memory))


def find_last_access(memory: Memory) -> datetime | None:
    """The last recorded time at which the memory was given to an agent or a person, or None."""
    for group in _groups(memory):
        for name in _LAST_TIMES:
            value = group.get(name)
            if isinstance(value, str) and value:
                try:
                    time = datetime.fromisoformat(value)
                    return time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)
                except (ValueError, OverflowError):
                    continue
    return None


def _groups(memory: Memory) -> Iterable[Mapping[str, Any]]:
    yield memory.extra
    nested = memory.extra.get(_NESTED)
    if isinstance(nested, Mapping):
        yield nested


def _sum(counted: Mapping[str, Any], names: Iterable[str], least: int) -> float:
    counts = [counted[name] for name in names if _is_number(counted.get(name))]
    return sum((float(max(0, min(count, _MAX_COUNT) - least)) for count in counts), 0.0)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
