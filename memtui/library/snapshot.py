"""Immutable snapshots of the library: every memory by slot, and the state of every store."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import overload

from memtui.dataclass import dataclass
from memtui.model import Memory
from memtui.search import numbering
from memtui.search.catalog import CachedRows, CatalogRow, encode_row
from memtui.search.numbering import Serials
from memtui.stores.base import Unreadable


class Rows(Sequence[Memory]):
    """Slot -> memory, in parts; cached parts decode a memory when it is asked for.

    Immutable: memories that changed or were removed stay readable in their slots, so that the
    screen can still show them, though no query finds them. A slot is valid for these rows only; a
    serial (`memtui.search.numbering`) names the same row in later ones too.
    """

    def __init__(
        self, parts: Sequence[Sequence[Memory]] = (), serials: Serials = numbering.NO_SERIALS
    ) -> None:
        self.serials = serials
        self._parts = tuple(rows for rows in parts if len(rows))
        self._firsts: list[int] = []
        self._size = 0
        for rows in self._parts:
            self._firsts.append(self._size)
            self._size += len(rows)

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
        number = bisect_right(self._firsts, index) - 1
        return self._parts[number][index - self._firsts[number]]

    @property
    def cached(self) -> list[range]:
        """The slots of cached rows, which take no memory here."""
        placed = zip(self._firsts, self._parts, strict=True)
        return [range(at, at + len(rows)) for at, rows in placed if isinstance(rows, CachedRows)]

    def serial(self, slot: int) -> int:
        """The serial of the row in this slot."""
        return int(self.serials[slot])

    def slot(self, serial: int) -> int:
        """The slot of the row with this serial; -1 where there is none."""
        return numbering.find_slot(self.serials, serial)

    def with_serials(self, serials: Iterable[int]) -> dict[int, Memory]:
        """Serial -> memory, of those serials that are in these rows, in slot order."""
        found = ((serial, self.slot(serial)) for serial in sorted(serials))
        return {serial: self[slot] for serial, slot in found if slot >= 0}

    def line(self, slot: int) -> CatalogRow:
        """One row as the cache stores it; cached rows are not decoded for it."""
        at = bisect_right(self._firsts, slot) - 1
        rows, index = self._parts[at], slot - self._firsts[at]
        return rows.line(index) if isinstance(rows, CachedRows) else encode_row(rows[index])

    def lines(self, slots: range) -> Iterator[CatalogRow]:
        """These rows as the cache stores them."""
        for first, rows in zip(self._firsts, self._parts, strict=True):
            begin, end = max(0, slots.start - first), min(len(rows), slots.stop - first)
            if begin < end:
                lines = rows.lines() if isinstance(rows, CachedRows) else map(encode_row, rows)
                yield from islice(lines, begin, end)

    def candidate_slots(self, pattern: re.Pattern[bytes]) -> Iterator[int]:
        """The slots whose cached record matches, ascending, and all slots of rows not cached."""
        for first, rows in zip(self._firsts, self._parts, strict=True):
            found = rows.candidates(pattern) if isinstance(rows, CachedRows) else range(len(rows))
            yield from (first + at for at in found)

    def ref_of(self, slot: int) -> str:
        """The ref of one row; cached rows are not decoded for it."""
        at = bisect_right(self._firsts, slot) - 1
        rows, index = self._parts[at], slot - self._firsts[at]
        return rows.ref(index) if isinstance(rows, CachedRows) else rows[index].ref

    def find_refs(self, part: str = "") -> Iterator[tuple[int, str]]:
        """The slot and the ref of each row whose ref contains this text, ascending."""
        for first, rows in zip(self._firsts, self._parts, strict=True):
            if (find := getattr(rows, "find_refs", None)) is not None:
                yield from ((first + at, ref) for at, ref in find(part))
            else:
                refs = enumerate((memory.ref for memory in rows), first)
                yield from (found for found in refs if part in found[1])

    def __iter__(self) -> Iterator[Memory]:
        for rows in self._parts:
            yield from rows


@dataclass(frozen=True, slots=True)
class MemorySet:
    """The live memories of one snapshot, for `Library.diff_memories`."""

    rows: Rows
    serials: Serials
    """Of the live memories."""


@dataclass(frozen=True, slots=True)
class StoreState:
    """One open store, for display."""

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
    """All rows and store states; immutable."""

    rows: Rows
    count: int
    """Live memories of any status; `rows` may be longer."""
    stores: tuple[StoreState, ...]
    revision: int
    """One more than in the snapshot before."""
