"""The types of the arrays that search computes with."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memtui.search import restore_environment

restore_environment()

Mask = NDArray[np.bool_]
"""Whether each of all slots, or of some, is in a set."""
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Keys = NDArray[np.uint64]
"""Digests of texts, see `memtui.search.vectors`."""

_T = TypeVar("_T", np.int16, np.int32, np.int64)


def sort_unique(values: NDArray[_T]) -> NDArray[_T]:
    """Return each value once, ascending.

    As `np.unique`, which imports numpy.ma for that (numpy 2.4): 1.4 MiB and 15 ms.
    """
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def to_mask(members: Sequence[int] | Longs, size: int) -> Mask:
    """Return for each of `size` numbers whether it is one of the `members`."""
    mask = np.zeros(size, np.bool_)
    mask[members] = True
    return mask


def slots_in(members: Sequence[int], mask: Mask | None = None) -> Longs:
    """Return the `members` and the numbers that the `mask` has, as an array."""
    numbers = np.array(members, np.int64)
    return numbers if mask is None else np.concatenate([numbers, mask.nonzero()[0]])
