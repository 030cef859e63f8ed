"""Salience: what a memory is worth by its type, its revisions and how it is used.

    salience = (type weight + revisions + 0.1 x accesses) x decay ^ days since the last access

as proposed for Engram (issue #168, Capability 2): each access adds 0.1, each day takes a share,
decisions and architecture start higher, what is maintained counts for more, and everything starts
at 1.0. The decay, the type weights and the form of the revision signal are left open there: the
decay halves in 30 days as in agent-memory, the revisions saturate as in Engram v3's ranking
(n / (n + 4)). Never accessed: the days since the last change. Salience ranks; it never removes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memtui.model import Memory
from memtui.search import usage
from memtui.search.array_types import Doubles
from memtui.search.recency import HALF_LIFE_DAYS, days_since

ACCESS_BOOST = 0.1
BASE = 1.0
TYPE_WEIGHTS: Mapping[str, float] = {"architecture": 1.5, "decision": 1.5, "policy": 1.5}
"""1.5 is what Ambient multiplies high importance by."""
REVISIONS = 0.2
HALF_OF_REVISIONS = 4.0
"""Revisions that give half of `REVISIONS`."""


@dataclass(frozen=True, slots=True)
class SalienceRange:
    """How salience is distributed over some memories."""

    least: float
    median: float
    p90: float
    most: float


def base_salience(memory: Memory) -> float:
    """Type weight and revisions; accesses and decay come on top."""
    revised = usage.count_revisions(memory)
    weight = TYPE_WEIGHTS.get(memory.type.casefold(), BASE)
    return weight + REVISIONS * revised / (revised + HALF_OF_REVISIONS)


def decayed_salience(
    base: Doubles,
    accesses: Doubles,
    last: Doubles,
    now: datetime,
    *,
    boost: float = ACCESS_BOOST,
    half_life: float = HALF_LIFE_DAYS,
) -> Doubles:
    """The salience now.

    Args:
        base: See `base_salience`.
        accesses: How often each was accessed.
        last: Seconds since 1970 of the last access, else change; nan counts as just now.
        now: The time.
        boost: What an access adds.
        half_life: Days in which salience halves.
    """
    days = np.nan_to_num(days_since(last, now))
    return (base + boost * accesses) * np.exp2(-days / half_life)


def describe_range(values: Sequence[float] | Doubles) -> SalienceRange | None:
    """Minimum, median, P90 and maximum; None of nothing."""
    if not len(values):
        return None
    low, middle, high, top = np.quantile(np.asarray(values), (0.0, 0.5, 0.9, 1.0)).tolist()
    return SalienceRange(low, middle, high, top)
