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
from datetime import UTC, datetime
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from memtui.model import Memory
from memtui.search.array_types import Doubles, Ints

DAY_SECONDS = 86_400.0
HALF_LIFE_DAYS = 30.0
"""RECENCY_HALF_LIFE_DAYS of agent-memory."""
BASE = 1.0
"""Salience of types without their own weight: "everything starts at 1.0" (proposal for Engram)."""


class ScoreConstants(Struct, frozen=True):
    """Constants of salience and priority; `[context.constants]` of config.toml can set each."""

    access_boost: float = 0.1
    """Salience: what an access adds (proposal for Engram)."""
    salience_half_life_days: float = HALF_LIFE_DAYS
    """Salience: days in which it halves; the proposal leaves it open, agent-memory has 30."""
    revision_boost: float = 0.2
    """Salience: the most that revisions add; memtui's own."""
    revisions_for_half: float = 4
    """Salience: revisions that add half of it, n / (n + 4) (Engram v3's ranking)."""
    tau_days: float = 30.0
    """Priority: its recency is exp(-days / tau). Simple Memory leaves it open; as the half-life."""
    priority_recency: float = 0.5
    """Priority: weight of the recency (Simple Memory, RIF)."""
    priority_importance: float = 0.3
    """Priority: weight of the importance (the same)."""
    priority_frequency: float = 0.2
    """Priority: weight of the frequency (the same)."""
    salience_types: Mapping[str, float] = field(
        default_factory=lambda: {"architecture": 1.5, "decision": 1.5, "policy": 1.5}
    )
    """Salience: what a type starts with, the others with 1; `[context.salience_types]`. That
    decisions and architecture start higher is the proposal's, 1.5 is what Ambient multiplies high
    importance by."""


DEFAULTS = ScoreConstants()
NUMBER_NAMES = ScoreConstants.__struct_fields__[:-1]
_MIN_DAYS = 1 / 1440
"""A minute: with a half-life of 0 all would be worth nothing."""


def read_constants(values: Mapping[str, Any], types: Mapping[str, float]) -> ScoreConstants:
    """Return the default constants with those of the settings in their place.

    Args:
        values: Name -> number; unknown names are left out.
        types: Type -> what it starts with; those that are not named keep theirs.
    """
    known = {name: float(values[name]) for name in NUMBER_NAMES if name in values}
    for name in ("salience_half_life_days", "tau_days", "revisions_for_half"):
        if name in known:
            known[name] = max(known[name], _MIN_DAYS)
    weights = {name.casefold(): float(weight) for name, weight in types.items()}
    return replace(DEFAULTS, salience_types={**DEFAULTS.salience_types, **weights}, **known)


def base_salience(
    types: Sequence[str], codes: Ints, revisions: Doubles, constants: ScoreConstants = DEFAULTS
) -> Doubles:
    """The salience of each memory by type and revisions; accesses and decay come on top.

    Args:
        codes: The number of each memory's type in `types`.
        revisions: How often each was revised, see `count_revisions`.
        constants: Type weights, and what revisions add.
    """
    weights = constants.salience_types
    start = np.array([weights.get(name.casefold(), BASE) for name in types], np.float64)
    share = revisions / (revisions + constants.revisions_for_half)
    found: Doubles = start[codes] + constants.revision_boost * share
    return found


def decayed_salience(
    base: Doubles,
    accesses: Doubles,
    last: Doubles,
    now: datetime,
    constants: ScoreConstants = DEFAULTS,
) -> Doubles:
    """The salience now.

    Args:
        base: See `base_salience`.
        accesses: How often each was accessed.
        last: Seconds since 1970 of the last access, else change; nan counts as just now.
        constants: What an access adds, and the half-life.
    """
    days = np.nan_to_num(days_since(last, now))
    decay = np.exp2(-days / constants.salience_half_life_days)
    found: Doubles = (base + constants.access_boost * accesses) * decay
    return found


def describe_range(values: Sequence[float] | Doubles) -> dict[str, float]:
    """Return `min`, `median`, `p90` and `max`, to three digits; empty for no values."""
    if not len(values):
        return {}
    found = np.quantile(np.asarray(values), (0.0, 0.5, 0.9, 1.0)).round(3).tolist()
    return dict(zip(("min", "median", "p90", "max"), found, strict=True))


def halved(days: float, half_life: float = HALF_LIFE_DAYS) -> float:
    """The share of its weight that a memory keeps after `days`, with a `half_life` in days."""
    return math.exp(-math.log(2) / half_life * max(0.0, days))


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
