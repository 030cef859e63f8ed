"""Sort found slots by score, only as far as they are read.

A short word finds tens of thousands of memories, of which a screen shows some fifty. The first
`SORTED_FIRST` are selected by one partition and sorted; the rest is sorted when it is read: when
a person jumps to the end, or a command wants everything.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from memtui.search.array_types import Doubles, Floats, Longs

SORTED_FIRST = 128
"""Some screens; a partition takes nearly the same time for any number, the sort after it not."""


_Number = TypeVar("_Number", int, float)


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
        slots: Their slots.
        when: The time of every slot there is.
        count: How many are wanted.
        at: The positions to choose from; None: all.
    """
    values = scores if at is None else scores.take(at)
    best = positions_of_highest(values, count)
    at, values = best if at is None else at.take(best), values.take(best)
    order = np.lexsort((-when.take(slots.take(at)), -values))[:count]
    chosen: Longs = at.take(order)
    return chosen


class _ArrayView(Sequence[_Number]):
    """Numbers in the order of an array, which is never copied whole: as a list, and an array again
    for each count, 300,000 of them would keep every other thread waiting for 20 ms."""

    @abstractmethod
    def _in_order(self, stop: int) -> NDArray[Any]:
        """The numbers in order, at least the first `stop` of them."""

    @overload
    def __getitem__(self, index: int) -> _Number: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_Number]: ...
    def __getitem__(self, index: int | slice) -> _Number | Sequence[_Number]:
        found: _Number | Sequence[_Number]
        if isinstance(index, slice):
            indices = range(len(self))[index]
            stop = max(indices[0], indices[-1]) + 1 if indices else 0
            found = self._in_order(stop)[index].tolist() if indices else []
        else:
            at = range(len(self))[index]
            found = self._in_order(at + 1)[at].item()
        return found

    def __iter__(self) -> Iterator[_Number]:
        return iter(self._in_order(len(self)).tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self[:8])}, {len(self)} in all)"

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none


class ArraySlots(_ArrayView[int]):
    """Slots in the order of an array."""

    def __init__(self, slots: Longs) -> None:
        self.unsorted = slots
        """The slots, in any order."""

    def _in_order(self, stop: int) -> Longs:  # noqa: ARG002
        return self.unsorted

    def __len__(self) -> int:
        return len(self.unsorted)

    def index(self, value: int, start: int = 0, stop: int | None = None) -> int:
        """Return the place of the slot `value`, from `start` and before `stop`."""
        if (self.unsorted == value).any():
            for at in (self._in_order(len(self)) == value).nonzero()[0].tolist():
                if at in range(len(self))[start:stop]:
                    return int(at)
        raise ValueError(f"{value} is not among the slots")


class OrderedSlots(ArraySlots):
    """Slots from the highest score to the lowest; newest first if equal, then in slot order.

    `slots` and their `scores` come in any order; `when` is the time of every slot there is.
    """

    def __init__(self, slots: Longs, scores: Doubles, when: Doubles) -> None:
        super().__init__(slots)
        self.unsorted_scores, self._when = scores, when
        first = positions_of_highest(scores, SORTED_FIRST)
        self._first_positions = self._sorted(first)[:SORTED_FIRST]
        self._first_slots = slots.take(self._first_positions)

    def _sorted(self, at: Longs) -> Longs:
        falling = -self.unsorted_scores.take(at)
        order = falling.argsort()
        falling = falling.take(order)
        if np.logical_and.reduce(falling[1:] > falling[:-1]):  # no two are equal
            return at.take(order)
        slots = self.unsorted.take(at)
        when = self._when.take(slots)  # undated is nan, which sorts behind everything
        return at.take(np.lexsort((slots, -when, -self.unsorted_scores.take(at))))

    @cached_property
    def _all_positions(self) -> Longs:
        if len(self._first_positions) == len(self.unsorted):
            return self._first_positions
        return self._sorted(np.arange(len(self.unsorted)))

    def positions(self, stop: int) -> Longs:
        """The positions in the slots as they were given, in order, at least `stop` of them."""
        return self._first_positions if stop <= len(self._first_positions) else self._all_positions

    @cached_property
    def _all_slots(self) -> Longs:
        return self.unsorted.take(self._all_positions)

    def _in_order(self, stop: int) -> Longs:
        return self._first_slots if stop <= len(self._first_positions) else self._all_slots


class OrderedScores(_ArrayView[float]):
    """The scores of ordered slots."""

    def __init__(self, of: OrderedSlots) -> None:
        self._of = of

    def _in_order(self, stop: int) -> Doubles:
        return self._of.unsorted_scores.take(self._of.positions(stop))

    def __len__(self) -> int:
        return len(self._of)
