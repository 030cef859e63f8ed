"""Put what was found in order: by time, importance, priority, use.

Simple Memory's priority is made of recency, importance and frequency (RIF): 0.5 x recency
+ 0.3 x importance + 0.2 x frequency, its recency exp(-age / tau) (white paper, Scoring &
Forgetting). A pinned memory counts as used as often as can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np

from memtui.query import Sort
from memtui.search.array_types import Doubles, Floats, Longs, Mask
from memtui.search.columns import Columns
from memtui.search.salience import base_salience, days_since, decayed_salience

TAU_DAYS = 30.0
"""The recency of the priority is exp(-days / tau). Simple Memory leaves it open."""
PRIORITY_RECENCY, PRIORITY_IMPORTANCE, PRIORITY_FREQUENCY = 0.5, 0.3, 0.2
"""Weights of the parts of the priority (Simple Memory, RIF)."""


def order_slots(
    columns: Columns,
    found: Mask,
    sort: Sort,
    now: datetime,
    then: Sequence[Sort] = (),
) -> Longs:
    """Return the slots of a mask in an order; RELEVANCE, which needs scores, gives newest first.

    Args:
        found: Which slots to sort.
        now: What the priority counts recency from.
        then: The orders of slots that are equal in `sort`, and so on; at last, newest first.
    """
    newest = columns.newest_first
    slots = newest[found[newest]]
    keys = [sort, *then]
    if keys[-1] is Sort.NEW:  # they are in this order
        keys.pop()
    elif keys[-1] is Sort.OLD:  # the reverse, also of equal times; undated ones stay last
        keys.pop()
        dated = ~np.isnan(columns.when[slots])
        slots = np.concatenate([slots[dated][::-1], slots[~dated]])
    for key in reversed(keys):
        if values := _sort_values(columns, slots, key, now):
            slots = slots[np.lexsort(values[::-1])]
    return slots


def _sort_values(columns: Columns, slots: Longs, sort: Sort, now: datetime) -> tuple[Doubles, ...]:
    """What the slots are sorted by, the most significant first; the least value first, nan last."""
    sign = -1.0 if sort.startswith("-") else 1.0
    match sort.removeprefix("-"):
        case Sort.NEW:
            return (-columns.when.take(slots),)
        case Sort.OLD:
            return (columns.when.take(slots),)
        case Sort.IMPORTANCE:
            return ((sign * columns.importance.take(slots)).astype(np.float64),)
        case Sort.PRIORITY:
            return (-sign * priority_parts(columns, slots, now).total,)
        case Sort.SALIENCE:
            return (-sign * salience_now(columns, slots, now),)
        case Sort.USED:
            accesses = (-sign * columns.accesses.take(slots)).astype(np.float64)
            return accesses, -sign * np.nan_to_num(columns.accessed.take(slots))
        case _:
            return ()


def positions_of_highest(values: Floats | Doubles, count: int) -> Longs:
    """The positions of the `count` highest of these `values`, and of all equal ones, ascending."""
    first = len(values) - count
    if first <= 0:
        return np.arange(len(values))
    ordered = values.copy()
    ordered.partition(first)
    found: Longs = (values >= ordered[first]).nonzero()[0]
    return found


def best_positions(
    scores: Floats, slots: Longs, when: Doubles, count: int, at: Longs | None = None
) -> Longs:
    """The positions of the `count` highest `scores`, in order; if equal, the newest first.

    Args:
        scores: The score of each of the `slots`.
        count: How many are wanted.
        at: The positions to choose from; None: all.
    """
    values = scores if at is None else scores.take(at)
    best = positions_of_highest(values, count)
    at, values = best if at is None else at.take(best), values.take(best)
    order = np.lexsort((-when.take(slots.take(at)), -values))[:count]
    chosen: Longs = at.take(order)
    return chosen


def salience_now(columns: Columns, slots: Longs, now: datetime) -> Doubles:
    """The salience of these slots, see `memtui.search.salience.decayed_salience`.

    Args:
        now: The time until which the salience decays.
    """
    revisions = columns.revisions[slots].astype(np.float64)
    return decayed_salience(
        base_salience(columns.types, columns.type[slots], revisions),
        columns.accesses[slots].astype(np.float64),
        columns.accessed[slots],
        now,
    )


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


def priority_parts(columns: Columns, slots: Longs, now: datetime) -> PriorityParts:
    """The parts of the priority of slots, in their order."""
    used = np.maximum(columns.salience[slots], columns.pinned[slots]).astype(np.float64)
    return PriorityParts(
        PRIORITY_RECENCY * np.nan_to_num(np.exp(-days_since(columns.when[slots], now) / TAU_DAYS)),
        PRIORITY_IMPORTANCE * np.array(IMPORTANCE)[columns.importance[slots]],
        PRIORITY_FREQUENCY * used,
    )
