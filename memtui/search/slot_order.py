"""Order found slots by the fields that `sort:` names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memtui.query import Sort
from memtui.search.array_types import Mask
from memtui.search.columns import DAY_SECONDS, Columns, Slots

RECENCY_TAU_DAYS = 30.0
"""Decay of recency in the priority order (Simple Memory leaves tau open; agent-memory uses 30)."""
PRIORITY_WEIGHTS = (0.5, 0.3, 0.2)
"""Recency, importance, frequency: Simple Memory, section Scoring & Forgetting."""
_IMPORTANCE_VALUES = np.array([1.0, 0.5, 0.0])
"""High, medium, low as 0..1 for the priority formula."""


def order_slots(
    columns: Columns, found: Mask, sort: Sort, now: datetime, then: Sequence[Sort] = ()
) -> Slots:
    """Sort the slots of a mask; RELEVANCE, which needs scores, gives newest first.

    Args:
        columns: The columns of all slots.
        found: Which slots to sort.
        sort: The order.
        now: What the priority counts recency from.
        then: The orders of slots that are equal in `sort`, and so on; at last, newest first.
    """
    newest = columns.newest_first
    slots = newest[found[newest]]
    for key in reversed((sort, *then)):
        if (values := _sort_values(columns, slots, key, now)) is not None:
            slots = slots[np.argsort(values, kind="stable")]
    return slots


def _sort_values(
    columns: Columns, slots: Slots, sort: Sort, now: datetime
) -> NDArray[np.float64] | None:
    """What sorts the slots, the least first and nan last; None to leave the order."""
    match sort:
        case Sort.NEW:
            return -columns.when[slots]
        case Sort.OLD:
            return columns.when[slots]
        case Sort.IMPORTANCE:
            return columns.importance[slots].astype(np.float64)
        case Sort.LEAST_IMPORTANT:
            return -columns.importance[slots].astype(np.float64)
        case Sort.PRIORITY:
            return -priority_scores(columns, slots, now)
        case Sort.LEAST_PRIORITY:
            return priority_scores(columns, slots, now)
        case _:
            return None


def priority_scores(columns: Columns, slots: Slots, now: datetime) -> NDArray[np.float64]:
    """Simple Memory's priority, with a pin as its frequency, because uses are not counted."""
    recency_weight, importance_weight, frequency_weight = PRIORITY_WEIGHTS
    age = np.maximum(0.0, now.timestamp() - columns.when[slots]) / DAY_SECONDS
    recency = np.nan_to_num(np.exp(-age / RECENCY_TAU_DAYS))
    return (
        recency_weight * recency
        + importance_weight * _IMPORTANCE_VALUES[columns.importance[slots]]
        + frequency_weight * columns.pinned[slots]
    )
