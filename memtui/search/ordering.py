"""Sort found slots by score, only as far as they are read.

A short word finds tens of thousands of memories, of which a screen shows some fifty. The first
`SORTED_FIRST` are selected by one partition and sorted; the rest is sorted when it is read: when
a person jumps to the end, or a command wants everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np

from memtui.search.array_types import Doubles, Floats, Longs

SORTED_FIRST = 128
"""Some screens; a partition takes nearly the same time for any number, the sort after it not."""


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
    if len(values) > count:
        ordered = values.copy()
        ordered.partition(len(values) - count)
        best = (values >= ordered[len(values) - count]).nonzero()[0]
        at, values = best if at is None else at.take(best), values.take(best)
    elif at is None:
        at = np.arange(len(values))
    order = np.lexsort((-when.take(slots.take(at)), -values))[:count]
    chosen: Longs = at.take(order)
    return chosen


class ArraySlots(Sequence[int]):
    """Slots in the order of an array, which is never copied whole: as a list, and an array again
    for each count, 300,000 of them would keep every other thread waiting for 20 ms."""

    def __init__(self, slots: Longs) -> None:
        self.unsorted = slots
        """The slots, in any order."""

    @property
    def _in_order(self) -> Longs:
        return self.unsorted

    def __len__(self) -> int:
        return len(self.unsorted)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        if isinstance(index, slice):
            slots: list[int] = self.unsorted[index].tolist()
            return slots
        return int(self.unsorted[index])

    def __iter__(self) -> Iterator[int]:
        return iter(self._in_order.tolist())

    def index(self, value: int, start: int = 0, stop: int | None = None) -> int:
        """Return the place of the slot `value`, from `start` and before `stop`."""
        if (self.unsorted == value).any():
            for at in (self._in_order == value).nonzero()[0].tolist():
                if at in range(len(self))[start:stop]:
                    return int(at)
        raise ValueError(f"{value} is not among the slots")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self[:8])}, {len(self)} in all)"

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none


class OrderedSlots(ArraySlots):
    """Slots from the highest score to the lowest; newest first if equal, then in slot order.

    `slots` and their `scores` come in any order; `when` is the time of every slot there is.
    """

    def __init__(self, slots: Longs, scores: Doubles, when: Doubles) -> None:
        super().__init__(slots)
        self._values, self._when = scores, when
        self._first_positions = self._best(SORTED_FIRST)

    def _best(self, count: int) -> Longs:
        """Positions of the best `count`, in order."""
        scores = self._values
        first = len(scores) - count
        if first <= 0:
            return self._sorted(np.arange(len(scores)))
        ordered = scores.copy()
        ordered.partition(first)
        return self._sorted((scores >= ordered[first]).nonzero()[0])[:count]

    def _sorted(self, at: Longs) -> Longs:
        falling = -self._values.take(at)
        order = falling.argsort()
        falling = falling.take(order)
        if np.logical_and.reduce(falling[1:] > falling[:-1]):  # no two are equal
            return at.take(order)
        slots = self.unsorted.take(at)
        when = self._when.take(slots)  # undated is nan, which sorts behind everything
        return at.take(np.lexsort((slots, -when, -self._values.take(at))))

    @cached_property
    def _all_positions(self) -> Longs:
        if len(self._first_positions) == len(self.unsorted):
            return self._first_positions
        return self._sorted(np.arange(len(self.unsorted)))

    def positions(self, stop: int) -> Longs:
        """The positions in the slots as they were given, in order, at least `stop` of them."""
        return self._first_positions if stop <= len(self._first_positions) else self._all_positions

    @property
    def scores(self) -> OrderedScores:
        """The scores in the same order."""
        return OrderedScores(self)

    def score(self, index: int) -> float:
        """The score at this place of the order."""
        index = range(len(self))[index]
        return float(self._values[self.positions(index + 1)[index]])

    def all_scores(self) -> list[float]:
        """All scores, highest first."""
        found: list[float] = self._values.take(self._all_positions).tolist()
        return found

    @property
    def _in_order(self) -> Longs:
        return self.unsorted.take(self._all_positions)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        if isinstance(index, slice):
            indices = range(len(self))[index]
            stop = max(indices[0], indices[-1]) + 1 if indices else 0
            slots: list[int] = self.unsorted.take(
                self.positions(stop)[index] if stop else []
            ).tolist()
            return slots
        index = range(len(self))[index]
        return int(self.unsorted[self.positions(index + 1)[index]])


class OrderedScores(Sequence[float]):
    """The scores of ordered slots."""

    def __init__(self, of: OrderedSlots) -> None:
        self._of = of

    def __len__(self) -> int:
        return len(self._of)

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[float]: ...
    def __getitem__(self, index: int | slice) -> float | Sequence[float]:
        if isinstance(index, slice):
            return [self._of.score(at) for at in range(len(self))[index]]
        return self._of.score(index)

    def __iter__(self) -> Iterator[float]:
        return iter(self._of.all_scores())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]
