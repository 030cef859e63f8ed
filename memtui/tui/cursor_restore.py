"""Restore the cursor and marks when the list changes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memtui.model import Memory, Place

if TYPE_CHECKING:
    from memtui.library.snapshot import Rows

SEARCHED_ROWS = 50
"""Rows at the top and around the cursor that are searched for a changed memory."""


class CursorPosition(NamedTuple):
    """The position of the cursor in a list."""

    serial: int
    """Serial of its row; -1 for none."""
    memory: Memory | None
    cursor: int
    top: int


def restore_cursor(position: CursorPosition, slots: Sequence[int], rows: Rows) -> tuple[int, int]:
    """Return cursor and top line for a new list."""
    if position.serial < 0 or not slots:
        return 0, 0
    try:
        cursor = slots.index(rows.slot(position.serial))
    except ValueError:
        cursor = _find_same_ref(position, slots, rows)
    # At the top of the list, stay there to show new memories.
    if position.cursor == 0 and position.top == 0:
        return cursor, 0
    return cursor, max(0, cursor - (position.cursor - position.top))


def keep_selected(position: CursorPosition, slots: Sequence[int], rows: Rows) -> tuple[int, int]:
    """Return cursor and top line for the results of another query.

    The selected memory stays selected, on its line of the screen where there are enough lines
    above it; if it is not among the results, the cursor goes to the first.
    """
    if position.serial < 0:
        return 0, 0
    try:
        cursor = slots.index(rows.slot(position.serial))
    except ValueError:
        return 0, 0
    return cursor, max(0, cursor - (position.cursor - position.top))


def _find_same_ref(position: CursorPosition, slots: Sequence[int], rows: Sequence[Memory]) -> int:
    """Find a changed memory, which has another slot but the same ref."""
    count = len(slots)
    if position.memory is not None:
        near = range(
            max(0, position.cursor - SEARCHED_ROWS), min(count, position.cursor + SEARCHED_ROWS)
        )
        for index in (*range(min(SEARCHED_ROWS, count)), *near):
            if rows[slots[index]].ref == position.memory.ref:
                return int(index)
    return int(min(position.cursor, count - 1))


def find_changed(removed: Mapping[int, Memory], added: Mapping[int, Memory]) -> frozenset[int]:
    """Return the serials of new rows whose memory is new or changed.

    A file that is read again gives all its memories new rows, mostly unchanged ones.

    Args:
        removed: Memories of removed rows, by serial.
        added: Memories of new rows, by serial.
    """
    before = {memory.ref: _without_place(memory) for memory in removed.values()}
    changed = (
        serial for serial, now in added.items() if before.get(now.ref) != _without_place(now)
    )
    return frozenset(changed)


def map_replaced(removed: Mapping[int, Memory], added: Mapping[int, Memory]) -> dict[int, int]:
    """Map each removed row to the new row of the same memory, -1 if there is none."""
    now = {memory.ref: serial for serial, memory in added.items()}
    return {serial: now.get(memory.ref, -1) for serial, memory in removed.items()}


def follow_serials(serials: Collection[int], again: Mapping[int, int]) -> set[int]:
    """Map serials to the new rows of their memories, dropping those without one."""
    return {again.get(serial, serial) for serial in serials} - {-1}


def _without_place(memory: Memory) -> Memory:
    """The memory without its location, since lines move when text above them changes."""
    return replace(memory, origin=Place(""), also=())
