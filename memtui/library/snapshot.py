"""What the library shows at one moment: every memory by slot, and the state of every store."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from memtui.model import Memory
from memtui.search.catalog import CachedRows, Line, line_of
from memtui.stores.base import Unreadable


class Rows(Sequence[Memory]):
    """Slot -> memory, over parts that may decode theirs only when asked.

    Slots of memories that changed or went stay readable, so that what is on screen never breaks;
    no query finds them any more.
    """

    def __init__(self, parts: Sequence[Sequence[Memory]]) -> None:
        self._parts = tuple(part for part in parts if len(part))
        self._firsts: list[int] = []
        self._size = 0
        for part in self._parts:
            self._firsts.append(self._size)
            self._size += len(part)

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> Memory: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Memory]: ...
    def __getitem__(self, index: int | slice) -> Memory | Sequence[Memory]:
        if isinstance(index, slice):
            return [self[slot] for slot in range(*index.indices(self._size))]
        if not 0 <= index < self._size:
            raise IndexError(index)
        part = bisect_right(self._firsts, index) - 1
        return self._parts[part][index - self._firsts[part]]

    def line(self, slot: int) -> Line:
        """One row in the form of the cache; free where it comes from there."""
        at = bisect_right(self._firsts, slot) - 1
        part, index = self._parts[at], slot - self._firsts[at]
        return part.line(index) if isinstance(part, CachedRows) else line_of(part[index])

    def __iter__(self) -> Iterator[Memory]:
        for part in self._parts:
            yield from part


@dataclass(frozen=True, slots=True)
class StoreState:
    """One open store as people see it."""

    label: str
    format: str
    root: Path
    count: int
    """Memories of any status."""
    unreadable: tuple[Unreadable, ...]
    read_only: str
    """Why nothing can be written; empty when it can."""
    loading: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Immutable; the library replaces it whole."""

    rows: Rows
    count: int
    """Memories that are there, of any status; `rows` may be longer."""
    stores: tuple[StoreState, ...]
    revision: int
    """Raised by one with every replacement."""
