"""Slots and serial numbers: keep track of rows when slots are renumbered.

A **serial** is given to a row once and never reused; serials ascend with slots. While slots are not
renumbered, a slot identifies a row. What outlives a compaction of the table stores serials.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memtui.search.array_types import Mask
from memtui.search.columns import Slots

Serials = NDArray[np.int64]
"""The serial of each slot, ascending."""

NO_SERIALS: Serials = np.empty(0, np.int64)


def append_range(numbers: Serials, first: int, count: int) -> Serials:
    """Return the `numbers` of some rows and those of `count` further ones, from `first` on."""
    return np.concatenate([numbers, np.arange(first, first + count)])


def find_slot(serials: Serials, serial: int) -> int:
    """The slot of the row with this `serial` in a table with these `serials`; -1 if it has none."""
    slot = int(np.searchsorted(serials, serial))
    return slot if slot < len(serials) and serials[slot] == serial else -1


def find_slots(serials: Serials, row_serials: Sequence[int]) -> list[int]:
    """The slots of the rows with `row_serials`, which all are among the table's `serials`."""
    slots: list[int] = np.searchsorted(serials, np.asarray(row_serials, np.int64)).tolist()
    return slots


def list_kept_slots(alive: Mask, ranges: Iterable[range]) -> Slots:
    """The slots that are `alive`, and all slots of the `ranges`: those that a compaction keeps."""
    keep = alive.copy()
    for slots in ranges:
        keep[slots.start : slots.stop] = True
    return keep.nonzero()[0]


def renumber_slot(remaining: Slots, slot: int) -> int:
    """The new slot of a row when only the `remaining` slots are numbered.

    For a `slot` that is not among them: the new slot of the next one that is.
    """
    return int(np.searchsorted(remaining, slot))


def find_kept_in_range(remaining: Slots, slots: range) -> Sequence[int]:
    """Return which of the `slots` are among the `remaining` ones, relative to their start."""
    start, stop = np.searchsorted(remaining, (slots.start, slots.stop))
    inside: list[int] = (remaining[start:stop] - slots.start).tolist()
    return inside


def diff_serials(before: Serials, now: Serials) -> tuple[list[int], list[int]]:
    """The serials only in `before`, and those only in `now`."""
    removed = np.setdiff1d(before, now, assume_unique=True)
    added = np.setdiff1d(now, before, assume_unique=True)
    return removed.tolist(), added.tolist()


def without_serials(serials: Serials, removed: Sequence[int]) -> Serials:
    """Return the `serials` without the `removed` ones."""
    return np.setdiff1d(serials, np.asarray(removed, np.int64), assume_unique=True)


def with_serials(serials: Serials, added: Sequence[int]) -> Serials:
    """Return the `serials` and the `added` ones, ascending."""
    return np.union1d(serials, np.asarray(added, np.int64))
