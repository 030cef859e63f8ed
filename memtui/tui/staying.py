"""What stays the same when the list changes: the cursor's memory, and memories read again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memtui.model import Memory, Place

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


def fresh_slots(gone: Iterable[int], come: Iterable[int], rows: Sequence[Memory]) -> frozenset[int]:
    """Of the slots that came, those whose memory is new or says something else than before.

    A file that is read again gives all its memories new slots; most of them did not change.
    """
    before = {memory.ref: _said(memory) for memory in (rows[slot] for slot in gone)}
    return frozenset(slot for slot in come if before.get(rows[slot].ref) != _said(rows[slot]))


def _said(memory: Memory) -> Memory:
    """The memory apart from where it lies: lines move when something is written above them."""
    return replace(memory, origin=Place(""), also=())
