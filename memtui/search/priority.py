"""Simple Memory's priority of recency, importance and frequency (RIF).

priority = 0.5 x recency + 0.3 x importance + 0.2 x frequency (white paper, Scoring & Forgetting).
A pinned memory counts as used as often as can be.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import numpy as np

from memtui.search.array_types import Doubles, Longs
from memtui.search.columns import Columns
from memtui.search.recency import TAU_DAYS, days_since, divided_by_e

WEIGHTS = (0.5, 0.3, 0.2)
"""Of recency, importance, frequency."""
IMPORTANCE = (1.0, 0.5, 0.0)
"""What high, medium and low are worth; memtui's own, the white paper says only 0 to 1."""


class PriorityParts(NamedTuple):
    """The three parts, weighted; they add up to the priority."""

    recency: Doubles
    importance: Doubles
    frequency: Doubles

    @property
    def total(self) -> Doubles:
        return self.recency + self.importance + self.frequency


def priority_parts(
    columns: Columns, slots: Longs, now: datetime, tau: float = TAU_DAYS
) -> PriorityParts:
    """The parts of the priority of these slots, in their order."""
    recency, importance, frequency = WEIGHTS
    used = np.maximum(columns.salience[slots], columns.pinned[slots]).astype(np.float64)
    return PriorityParts(
        recency * divided_by_e(days_since(columns.when[slots], now), tau),
        importance * np.array(IMPORTANCE)[columns.importance[slots]],
        frequency * used,
    )
