"""Columns as of an earlier time: which rows existed, and with which status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memtui.dataclass import replace
from memtui.model import CURRENT, STATUSES
from memtui.search.array_types import Mask
from memtui.search.columns import Columns

_ACTIVE = STATUSES.index("active")
_CURRENT = np.array([name in CURRENT for name in STATUSES])


def find_ended(columns: Columns) -> Sequence[int]:
    """Return the slots of the live rows that are not in use."""
    slots: list[int] = np.flatnonzero(columns.alive & ~_CURRENT[columns.status]).tolist()
    return slots


def make_ends(size: int, ends: Mapping[int, float]) -> NDArray[np.float64]:
    """Slot -> Unix seconds at which a row was taken out of use; nan for the others.

    Args:
        size: How many slots there are.
        ends: The known times by slot.

    Returns:
        An array over all slots.
    """
    array = np.full(size, np.nan)
    if ends:
        array[np.fromiter(ends.keys(), np.int64, len(ends))] = np.fromiter(
            ends.values(), np.float64, len(ends)
        )
    return array


def columns_at(
    columns: Columns, at: float, ends: NDArray[np.float64], hidden: Sequence[int]
) -> tuple[Columns, Mask]:
    """Columns of the same rows as of a time (Unix seconds).

    Args:
        columns: Of the rows as they are now.
        at: The time.
        ends: See `make_ends`.
        hidden: Slots of rows that were not there then, or that other rows stand for.

    Returns:
        The columns, and the slots of rows that are in use again. A row that was changed later has
        the time of its creation as its last change.
    """
    begun = columns.begun
    alive = columns.alive & ~(begun > at)
    alive[np.asarray(hidden, np.int64)] = False
    revived = alive & (ends > at)
    status = np.where(revived, columns.status.dtype.type(_ACTIVE), columns.status)
    when = np.where(columns.when > at, begun, columns.when)
    return replace(columns, alive=alive, status=status, when=when), revived


def live_slots(columns: Columns, store: int | None = None) -> Sequence[int]:
    """The slots of the live rows in `columns`, or only of those of one `store` by its code."""
    mask = columns.alive if store is None else columns.alive & (columns.store == store)
    slots: list[int] = np.flatnonzero(mask).tolist()
    return slots


def find_differences(
    before: Columns, after: Columns, shared: int, since: float, until: float
) -> tuple[Sequence[int], Sequence[int]]:
    """Slots of rows that may differ between two views of the same rows.

    Args:
        before: Columns of the first view.
        after: Columns of the second.
        shared: Rows of the present, which both have in the same slots; later ones are their own.
        since: Unix seconds of the first view.
        until: Unix seconds of the second.

    Returns:
        The slots that were there in the first view, and those that were there in the second.
    """
    when = after.when[:shared]
    one, other = before.alive[:shared], after.alive[:shared]
    differ = (one != other) | (before.status[:shared] != after.status[:shared])
    differ |= (when > since) & (when <= until)
    found = []
    for columns in (before, after):
        mask = columns.alive.copy()
        mask[:shared] &= differ
        slots: list[int] = np.flatnonzero(mask).tolist()
        found.append(slots)
    return found[0], found[1]
