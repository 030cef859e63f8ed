"""What a memory is worth apart from its text: its recency, its uses, and its salience.

Recency is 1 for today and falls towards 0. agent-memory halves it every 30 days,
`exp(-ln 2 / H x days)`, and counts whole days (retrieve-memory.sh, `recency_score`; its README's
table says 0.871 for a week, the script and the formula give 0.851). Simple Memory divides by e
every tau days (see `memtui.search.ordering`).

Frequency is Simple Memory's log(1 + uses) / K. The white paper leaves K open; here it is
log(1 + `MAX_USES`), so that the value lies in 0..1.

    salience = (type weight + revisions + 0.1 x accesses) x decay ^ days since the last access

as proposed for Engram (issue #168, Capability 2): each access adds 0.1, each day takes a share,
decisions and architecture start higher, what is maintained counts for more, and everything starts
at 1.0. The decay, the type weights and the form of the revision signal are left open there: the
decay halves in 30 days as in agent-memory, the revisions saturate as in Engram v3's ranking
(n / (n + 4)). Never accessed: the days since the last change. Salience ranks; it never removes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import numpy as np

from memtui.model import Memory
from memtui.search.array_types import Doubles, Ints

DAY_SECONDS = 86_400.0
HALF_LIFE_DAYS = 30.0
"""RECENCY_HALF_LIFE_DAYS of agent-memory."""
BASE = 1.0
"""Salience of types without their own weight: "everything starts at 1.0" (proposal for Engram)."""


TYPE_WEIGHT = {"architecture": 1.5, "decision": 1.5, "policy": 1.5}
"""What a type starts with, the others with `BASE`. That decisions and architecture start higher is
the proposal's, 1.5 is what Ambient multiplies high importance by."""
ACCESS_BOOST = 0.1
"""What an access adds (proposal for Engram)."""
REVISION_BOOST, REVISIONS_FOR_HALF = 0.2, 4
"""The most that revisions add, memtui's own, and the revisions that add half of it, n / (n + 4)
(Engram v3's ranking)."""


def base_salience(types: Sequence[str], codes: Ints, revisions: Doubles) -> Doubles:
    """The salience of each memory by type and revisions; accesses and decay come on top.

    Args:
        codes: The number of each memory's type in `types`.
        revisions: How often each was revised, see `count_revisions`.
    """
    start = np.array([TYPE_WEIGHT.get(name.casefold(), BASE) for name in types], np.float64)
    share = revisions / (revisions + REVISIONS_FOR_HALF)
    found: Doubles = start[codes] + REVISION_BOOST * share
    return found


def decayed_salience(base: Doubles, accesses: Doubles, last: Doubles, now: datetime) -> Doubles:
    """The salience now.

    Args:
        base: See `base_salience`.
        accesses: How often each was accessed.
        last: Seconds since 1970 of the last access, else change; nan counts as just now.
    """
    days = np.nan_to_num(days_since(last, now))
    decay = np.exp2(-days / HALF_LIFE_DAYS)
    found: Doubles = (base + ACCESS_BOOST * accesses) * decay
    return found


def describe_range(values: Sequence[float] | Doubles) -> dict[str, float]:
    """Return `min`, `median`, `p90` and `max`, to three digits; empty for no values."""
    if not len(values):
        return {}
    found = np.quantile(np.asarray(values), (0.0, 0.5, 0.9, 1.0)).round(3).tolist()
    return dict(zip(("min", "median", "p90", "max"), found, strict=True))


def halved(days: float) -> float:
    """The share of its weight that a memory keeps after `days`."""
    return math.exp(-math.log(2) / HALF_LIFE_DAYS * max(0.0, days))


def whole_days(when: datetime, now: datetime) -> int:
    """Return the whole days from `when` until `now`; 0 if `when` is later."""
    return max(0, int((now - when).total_seconds() // DAY_SECONDS))


def days_since(when: Doubles, now: datetime) -> Doubles:
    """Return the days from `when` (seconds since 1970) until `now`, at least 0; nan stays."""
    days: Doubles = np.maximum(0.0, now.timestamp() - when) / DAY_SECONDS
    return days


MAX_USES = 32
"""Uses at which the frequency is 1."""
ACCESS_COUNT = "access_count"
LAST_ACCESSED = "last_accessed"
"""Keys of `Memory.extra` under which stores give the accesses that were counted."""
_REVISIONS = ("revision_count", "duplicate_count")
"""Counted from 1."""
_ACCESSES = ("hits", ACCESS_COUNT, "accessCount", "injected", "usage_count")
_LAST_TIMES = (LAST_ACCESSED, "last_accessed_at", "lastAccessed", "last", "last_usage")
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
    times = []
    for group in _groups(memory):
        for name in _LAST_TIMES:
            value = group.get(name)
            if isinstance(value, str) and value:
                with suppress(ValueError, OverflowError):
                    time = datetime.fromisoformat(value)
                    times.append(time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC))
    return max(times, default=None)


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
