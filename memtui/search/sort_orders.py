"""Sort orders that need no text scores: time, importance, priority, use.

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
from memtui.search.array_types import Doubles, Longs, Mask
from memtui.search.columns import Columns
from memtui.search.ranking import DEFAULTS, Weights
from memtui.search.salience import DEFAULTS as CONSTANTS
from memtui.search.salience import ScoreConstants, base_salience, days_since, decayed_salience


def order_slots(
    columns: Columns,
    found: Mask,
    sort: Sort,
    now: datetime,
    then: Sequence[Sort] = (),
    weights: Weights = DEFAULTS,
) -> Longs:
    """Return the slots of a mask in an order; RELEVANCE, which needs scores, gives newest first.

    Args:
        columns: The columns of all slots.
        found: Which slots to sort.
        sort: The order.
        now: What the priority counts recency from.
        weights: Its constants of salience and priority are used.
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
        for values in reversed(_sort_values(columns, slots, key, now, weights)):
            slots = slots[np.argsort(values[slots], kind="stable")]
    return slots


def _sort_values(
    columns: Columns, slots: Longs, sort: Sort, now: datetime, weights: Weights
) -> tuple[Doubles, ...]:
    """What the slots are sorted by, the most significant first; the least value first, nan last."""
    sign = -1.0 if sort.startswith("-") else 1.0
    match sort.removeprefix("-"):
        case Sort.NEW:
            return (-columns.when,)
        case Sort.OLD:
            return (columns.when,)
        case Sort.IMPORTANCE:
            return ((sign * columns.importance).astype(np.float64),)
        case Sort.PRIORITY:
            parts = priority_parts(columns, slots, now, weights.scores)
            return (_spread(-sign * parts.total, columns, slots),)
        case Sort.SALIENCE:
            worth = salience_now(columns, slots, now, weights.scores)
            return (_spread(-sign * worth, columns, slots),)
        case Sort.USED:
            accesses = (-sign * columns.accesses).astype(np.float64)
            return accesses, -sign * np.nan_to_num(columns.accessed)
        case _:
            return ()


def _spread(values: Doubles, columns: Columns, slots: Longs) -> Doubles:
    """Values of these slots as an array over all slots."""
    spread = np.zeros(len(columns))
    spread[slots] = values
    return spread


def salience_now(
    columns: Columns, slots: Longs, now: datetime, constants: ScoreConstants = CONSTANTS
) -> Doubles:
    """The salience of these slots, see `memtui.search.salience.decayed_salience`.

    Args:
        columns: The columns of all slots.
        slots: The slots, in any order.
        now: The time until which the salience decays.
        constants: Of the salience.
    """
    revisions = columns.revisions[slots].astype(np.float64)
    return decayed_salience(
        base_salience(columns.types, columns.type[slots], revisions, constants),
        columns.accesses[slots].astype(np.float64),
        columns.accessed[slots],
        now,
        constants,
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
        * np.nan_to_num(np.exp(-days_since(columns.when[slots], now) / constants.tau_days)),
        constants.priority_importance * np.array(IMPORTANCE)[columns.importance[slots]],
        constants.priority_frequency * used,
    )
