"""What stays the same when the list changes: the cursor's memory, and memories read again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memtui.model import Memory, Place

if TYPE_CHECKING:
    from memtui.library.snapshot import Rows

LOOKED_NEAR = 50
"""Rows around the cursor, and at the top, among which a changed memory is looked for."""


@dataclass(frozen=True, slots=True)
class CursorPosition:
    """Where the cursor stood."""

    serial: int
    """Of the row; -1 where there was none."""
    memory: Memory | None
    cursor: int
    top: int


def restore_cursor(stand: CursorPosition, slots: Sequence[int], rows: Rows) -> tuple[int, int]:
    """Cursor and top line in the new list."""
    if stand.serial < 0 or not slots:
        return 0, 0
    try:
        cursor = slots.index(rows.slot(stand.serial))
    except ValueError:
        cursor = _same_ref(stand, slots, rows)
    # Who looks at the top of the list wants to see what comes in there.
    if stand.cursor == 0 and stand.top == 0:
        return cursor, 0
    return cursor, max(0, cursor - (stand.cursor - stand.top))


def _same_ref(stand: CursorPosition, slots: Sequence[int], rows: Sequence[Memory]) -> int:
    """Where a changed memory stands now: it has another slot but the same ref."""
    count = len(slots)
    if stand.memory is not None:
        near = range(max(0, stand.cursor - LOOKED_NEAR), min(count, stand.cursor + LOOKED_NEAR))
        for index in (*range(min(LOOKED_NEAR, count)), *near):
            if rows[slots[index]].ref == stand.memory.ref:
                return int(index)
    return int(min(stand.cursor, count - 1))


def find_changed(gone: Mapping[int, Memory], come: Mapping[int, Memory]) -> frozenset[int]:
    """Of the rows that came, by serial, those whose memory is new or says something else.

    A file that is read again gives all its memories new rows; most of them did not change.
    """
    before = {memory.ref: _said(memory) for memory in gone.values()}
    changed = (serial for serial, now in come.items() if before.get(now.ref) != _said(now))
    return frozenset(changed)


def map_replaced(gone: Mapping[int, Memory], come: Mapping[int, Memory]) -> dict[int, int]:
    """For each row that went the one that has its memory now; -1 where none has."""
    now = {memory.ref: serial for serial, memory in come.items()}
    return {serial: now.get(memory.ref, -1) for serial, memory in gone.items()}


def follow_serials(serials: Collection[int], again: Mapping[int, int]) -> set[int]:
    """Marks on rows, gone on with where their memories were read again."""
    return {again.get(serial, serial) for serial in serials} - {-1}


def _said(memory: Memory) -> Memory:
    """The memory apart from where it lies: lines move when something is written above them."""
    return replace(memory, origin=Place(""), also=())
