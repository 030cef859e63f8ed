"""A list that is asked for page by page, and holds only the lines around what is looked at.

Lines are numbered from 0, as in a list that is there as a whole. Where a run of lines was not
reached from the beginning its number is an estimate, which is mended when the beginning is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, overload

from msgspec import Struct
from msgspec.structs import replace

from memtui.model import Memory
from memtui.stores.queryable import Position

PAGE = 50
KEPT = 60 * PAGE
"""Lines that are held at most."""
NEAR = 20 * PAGE
"""Lines beyond those that are held that are still gone through; further away is jumped to."""
NOT_HERE = -1
"""Slot of a line whose memory is on its way."""


class Line(NamedTuple):
    """One memory of the list."""

    slot: int
    position: Position
    memory: Memory


Ask = Callable[[Position | None, int, bool], tuple[list[Line], bool]]
"""Returns at most so many lines behind a position, or before it; None is the beginning, or the end.
The second value says whether there are no more."""


class Run(Struct, frozen=True):
    """Lines that follow each other without a gap, and what is known of the list around them."""

    lines: tuple[Line, ...] = ()
    first: int = 0
    """Number of the first of the lines."""
    length: int = 0
    """Lines of the whole list."""
    is_numbered: bool = True
    """The lines are counted from the beginning of the list; else the number is an estimate."""

    @property
    def range(self) -> range:
        """The numbers of the lines."""
        return range(self.first, self.first + len(self.lines))


class ResultWindow(Sequence[int]):
    """The slots of a list, as far as they are here; `NOT_HERE` for the others.

    A line that is needed and not here is asked for at once, or, if `missing` is set, reported.
    Only one thread may use it, except for `load`.
    """

    def __init__(self, run: Run, ask: Ask, find_place: Callable[[float], Position | None]) -> None:
        """Hold a first run of lines.

        Args:
            run: The first page.
            ask: Asks for more of them; may be called in any thread.
            find_place: Gives a position near this share (0 to 1) of the list; None if unknown.
        """
        self.run = run
        self._ask = ask
        self._find_place = find_place
        self.missing: Callable[[int], None] | None = None
        """Called with the number of a line that is not here."""
        self._memories: Mapping[int, Memory] = {}
        self._index()

    # As a sequence

    def __len__(self) -> int:
        return self.run.length

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> list[int]: ...
    def __getitem__(self, at: int | slice) -> int | list[int]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        number = at + len(self) if at < 0 else at
        if not 0 <= number < len(self):
            raise IndexError(at)
        if number not in self.run.range:
            if self.missing is not None:
                self.missing(number)
                return NOT_HERE
            self.take(self.load(number))
            if number not in self.run.range:  # the list is shorter than was thought
                raise IndexError(at)
        return self.run.lines[number - self.run.first].slot

    def __iter__(self) -> Iterator[int]:
        """All slots, asked for page by page; those that are here where missing ones are reported.

        To go through a list of millions a line at a time would stop the screen.
        """
        if self.missing is not None:
            yield from (line.slot for line in self.run.lines)
            return
        number = 0
        while number < len(self):
            try:
                yield self[number]
            except IndexError:
                return
            number += 1

    def index(self, slot: int, start: int = 0, stop: int | None = None) -> int:  # noqa: ARG002
        """The number of the line with this slot. Raises ValueError if it is not here."""
        for at, line in zip(self.run.range, self.run.lines, strict=True):
            if line.slot == slot:
                return at
        raise ValueError(slot)

    @property
    def here(self) -> range:
        """The numbers of the lines that are here."""
        return self.run.range

    def memory(self, slot: int) -> Memory:
        """The memory in this slot. Raises KeyError if it is not here."""
        return self._memories[slot]

    # Asking

    def wants_more(self, number: int) -> bool:
        """Whether the page after or before this line should be asked for already."""
        here = self.run.range
        low, high = number - PAGE, number + PAGE
        return (low >= 0 and low not in here) or (high < len(self) and high not in here)

    def load(self, number: int) -> Run:
        """Ask for the lines around this number; call it in a background job.

        Returns:
            The run to `take`.
        """
        run, length = self.run, len(self)
        here = run.range
        if run.lines and number in here:
            if number + PAGE >= here.stop < length:
                return self._forwards(run, number)
            return self._backwards(run, number) if number - PAGE < here.start > 0 else run
        if run.lines and number == length - 1 and number >= here.stop + 2 * PAGE:
            return self._from_end(number)
        if run.lines and here.stop <= number < here.stop + NEAR:
            return self._forwards(run, number)
        if run.lines and here.start - NEAR <= number < here.start:
            return self._backwards(run, number)
        if number < NEAR:
            return self._from_beginning(number)
        if number < length - NEAR:
            place = self._find_place(number / max(1, length - 1))
            if place is not None and (found := self.around(place, number)).lines:
                return found
        return self._from_end(number)

    def take(self, run: Run) -> int:
        """Hold this run instead; returns by how many lines its numbers were mended."""
        shift = 0
        if self.run.lines and run.lines and not self.run.is_numbered:
            before = {
                line.slot: at for at, line in zip(self.run.range, self.run.lines, strict=True)
            }
            shared = ((at, line.slot) for at, line in zip(run.range, run.lines, strict=True))
            shift = next((at - before[slot] for at, slot in shared if slot in before), 0)
        self.run = run
        self._index()
        return shift

    def stretch(self, length: int) -> int:
        """Take this for the length of the list, which was not known; never less than is here.

        Returns by how many lines the numbers of those that are here were mended.
        """
        run, more = self.run, length - self.run.length
        if more <= 0:
            return 0
        is_end = not run.is_numbered and run.range.stop == run.length
        shift = more if is_end else 0
        self.run = replace(run, length=length, first=run.first + shift)
        return shift

    def _index(self) -> None:
        self._memories = {line.slot: line.memory for line in self.run.lines}

    def _forwards(self, run: Run, number: int) -> Run:
        wanted = max(number - run.range.stop, 0) + 2 * PAGE
        more, is_last = self._ask(run.lines[-1].position, wanted, False)
        lines = (*run.lines, *more)
        stop = run.first + len(lines)
        length = stop if is_last else max(run.length, stop + 1)
        cut = max(0, len(lines) - KEPT)
        return replace(run, lines=lines[cut:], first=run.first + cut, length=length)

    def _backwards(self, run: Run, number: int) -> Run:
        wanted = max(run.first - number, 0) + 2 * PAGE
        more, is_first = self._ask(run.lines[0].position, wanted, True)
        lines = (*more, *run.lines)
        first, length = run.first - len(more), run.length
        if is_first:
            length, first = max(length - first, len(lines)), 0
        elif first < PAGE and not run.is_numbered:  # more come before it than was thought
            length, first = length + PAGE - first, PAGE
        return Run(lines[:KEPT], first, length, run.is_numbered or is_first)

    def _from_beginning(self, number: int) -> Run:
        lines, is_last = self._ask(None, number + 2 * PAGE, False)
        length = len(lines) if is_last else max(len(self), len(lines) + 1)
        return Run(tuple(lines[-KEPT:]), max(0, len(lines) - KEPT), length)

    def _from_end(self, number: int) -> Run:
        wanted = min(max(1, len(self) - number), NEAR) + 2 * PAGE
        lines, is_first = self._ask(None, wanted, True)
        length = len(lines) if is_first else max(len(self), len(lines) + 1)
        return Run(tuple(lines[:KEPT]), length - len(lines), length, is_numbered=is_first)

    def around(self, place: Position, number: int) -> Run:
        """Ask for the lines around a position, which is near this line; as `load`."""
        before, is_first = self._ask(place, PAGE, True)
        behind = before[-1].position if before else None
        after, is_last = self._ask(behind, 2 * PAGE, False)
        first = 0 if is_first else max(number - len(before), PAGE)
        stop = first + len(before) + len(after)
        length = stop if is_last else max(len(self), stop + 1)
        return Run((*before, *after), first, length, is_numbered=is_first)
