"""Slots and serial numbers: which row is which before and after slots are given anew.

A **serial** is given to a row once and never again; serials ascend with slots. While slots are as
they are, a slot is enough to name a row. What outlives a compaction of the table holds serials.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memtui.search.columns import Mask, Slots

Serials = NDArray[np.int64]
"""The serial of each slot, ascending."""

NO_SERIALS: Serials = np.empty(0, np.int64)


def append_serials(serials: Serials, first: int, count: int) -> Serials:
    """The serials with those of `count` further rows, which begin at `first`."""
    return np.concatenate([serials, np.arange(first, first + count)])


def find_slot(serials: Serials, serial: int) -> int:
    """The slot of the row with this serial; -1 where it is no longer in the table."""
    slot = int(np.searchsorted(serials, serial))
    return slot if slot < len(serials) and serials[slot] == serial else -1


def list_kept_slots(alive: Mask, ranges: Iterable[range]) -> Slots:
    """The slots of what is alive, and all slots of these ranges."""
    keep = alive.copy()
    for slots in ranges:
        keep[slots.start : slots.stop] = True
    return keep.nonzero()[0]


def append_later_slots(kept: Slots, before: int, now: int) -> Slots:
    """Kept slots of a table that had `before` rows, and all rows that came since."""
    return np.concatenate([kept, np.arange(before, now)])


def renumber_slot(kept: Slots, slot: int) -> int:
    """The slot of a kept row (or of where one would be) once only the kept ones are numbered."""
    return int(np.searchsorted(kept, slot))


def find_kept_in_range(kept: Slots, slots: range) -> Sequence[int]:
    """Which of these slots are kept, counted from their first."""
    start, stop = np.searchsorted(kept, (slots.start, slots.stop))
    inside: list[int] = (kept[start:stop] - slots.start).tolist()
    return inside


def filter_serials(serials: Serials, mask: Mask) -> Serials:
    """The serials of the slots that the mask has."""
    return serials[mask]


def diff_serials(before: Serials, now: Serials) -> tuple[list[int], list[int]]:
    """The serials that are only among the former, and those that are only among the latter."""
    gone = np.setdiff1d(before, now, assume_unique=True)
    come = np.setdiff1d(now, before, assume_unique=True)
    return gone.tolist(), come.tolist()
