"""The orders of a list that need no scores of a text: time, importance, priority, use."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from memtui.query import Sort
from memtui.search.array_types import Doubles, Longs, Mask
from memtui.search.columns import Columns
from memtui.search.priority import priority_parts
from memtui.search.salience import decayed_salience


def order_slots(columns: Columns, found: Mask, sort: Sort, now: datetime) -> Longs:
    """Sort the slots of a mask; RELEVANCE, which needs scores, gives newest first."""
    newest = columns.newest_first
    slots = newest[found[newest]]
    match sort:
        case Sort.OLD:
            dated = ~np.isnan(columns.when[slots])
            return np.concatenate([slots[dated][::-1], slots[~dated]])
        case Sort.IMPORTANCE:
            return slots[np.argsort(columns.importance[slots], kind="stable")]
        case Sort.PRIORITY:
            return slots[np.argsort(-priority_parts(columns, slots, now).total, kind="stable")]
        case Sort.SALIENCE:
            return slots[np.argsort(-salience_now(columns, slots, now), kind="stable")]
        case Sort.USED:
            last = -np.nan_to_num(columns.accessed[slots])
            return slots[np.lexsort((last, -columns.accesses[slots]))]
        case _:
            return slots


def salience_now(columns: Columns, slots: Longs, now: datetime) -> Doubles:
    """The salience of these slots, see `memtui.search.salience`."""
    return decayed_salience(
        columns.base_salience[slots].astype(np.float64),
        columns.accesses[slots].astype(np.float64),
        columns.accessed[slots],
        now,
    )
