"""Keeping the cursor on the same memory, at the same height, when the list changes under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memtui.model import Memory

LOOKED_NEAR = 50
"""Rows around the cursor, and at the top, among which a changed memory is looked for."""


@dataclass(frozen=True, slots=True)
class Stand:
    """Where the cursor stood."""

    slot: int
    memory: Memory | None
    cursor: int
    top: int


def place(stand: Stand, slots: Sequence[int], rows: Sequence[Memory]) -> tuple[int, int]:
    """Cursor and top line in the new list."""
    if stand.slot < 0 or not slots:
        return 0, 0
    try:
        cursor = slots.index(stand.slot)
    except ValueError:
        cursor = _same_ref(stand, slots, rows)
    # Who looks at the top of the list wants to see what comes in there.
    if stand.cursor == 0 and stand.top == 0:
        return cursor, 0
    return cursor, max(0, cursor - (stand.cursor - stand.top))


def _same_ref(stand: Stand, slots: Sequence[int], rows: Sequence[Memory]) -> int:
    """Where a changed memory stands now: it has another slot but the same ref."""
    count = len(slots)
    if stand.memory is not None:
        near = range(max(0, stand.cursor - LOOKED_NEAR), min(count, stand.cursor + LOOKED_NEAR))
        for index in (*range(min(LOOKED_NEAR, count)), *near):
            if rows[slots[index]].ref == stand.memory.ref:
                return int(index)
    return int(min(stand.cursor, count - 1))
