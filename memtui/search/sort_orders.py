"""The orders of a list that need no scores of a text: time, importance, priority."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from memtui.query import Sort
from memtui.search.array_types import Doubles, Longs, Mask
from memtui.search.columns import Columns
from memtui.search.priority import priority_parts
from memtui.search.salience import decayed_salience


def order_slots(
    columns: Columns, found: Mask, sort: Sort, now: datetime, then: Sequence[Sort] = ()
) -> Longs:
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


def _sort_values(columns: Columns, slots: Longs, sort: Sort, now: datetime) -> Doubles | None:
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
            return -priority_parts(columns, slots, now).total
        case Sort.LEAST_PRIORITY:
            return priority_parts(columns, slots, now).total
        case _:
            return None


def salience_now(columns: Columns, slots: Longs, now: datetime) -> Doubles:
    """The salience of these slots, see `memtui.search.salience`."""
    return decayed_salience(
        columns.base_salience[slots].astype(np.float64),
        columns.accesses[slots].astype(np.float64),
        columns.accessed[slots],
        now,
    )
