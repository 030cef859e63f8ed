"""Simple Memory's priority score, from recency, importance and frequency (RIF).

priority = 0.5 x recency + 0.3 x importance + 0.2 x frequency (white paper, Scoring & Forgetting).
A pinned memory counts as used as often as can be.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import numpy as np

from memtui.search.array_types import Doubles, Longs
from memtui.search.columns import Columns
from memtui.search.recency import days_since, divided_by_e
from memtui.search.salience import DEFAULTS as CONSTANTS
from memtui.search.salience import ScoreConstants

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
    columns: Columns, slots: Longs, now: datetime, constants: ScoreConstants = CONSTANTS
) -> PriorityParts:
    """The parts of the priority of slots, in their order.

    Args:
        columns: The columns of all slots.
        slots: The slots, in any order.
        now: The time from which recency is counted.
        constants: Weights of the parts, and tau of the recency.
    """
    used = np.maximum(columns.salience[slots], columns.pinned[slots]).astype(np.float64)
    return PriorityParts(
        constants.priority_recency
        * divided_by_e(days_since(columns.when[slots], now), constants.tau_days),
        constants.priority_importance * np.array(IMPORTANCE)[columns.importance[slots]],
        constants.priority_frequency * used,
    )
