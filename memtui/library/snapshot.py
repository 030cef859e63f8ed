"""Immutable snapshots of the library: every memory by slot, and the state of every store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from memtui.model import Memory
from memtui.search.columns import Columns, Slots
from memtui.stores.base import Unreadable
from memtui.text import counted

Rows = list[Memory]
"""The memory of each slot; not changed once a snapshot has it.

A slot names the same row in all snapshots of a library, also in those of an earlier time. Memories
that changed or were removed stay readable in their slots, so that the screen can still show them,
though no query finds them.
"""


class StoreState(Struct, frozen=True):
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
    is_asked: bool = False
    """It is asked instead of read, so `count` is 0."""

    @property
    def size(self) -> str:
        """How many memories it has, in words."""
        return "asked" if self.is_asked else counted(self.count, "memory")


class Snapshot(Struct, frozen=True):
    """All rows and store states; immutable."""

    rows: Rows
    columns: Columns
    """Columns of these rows."""
    slot_of: Mapping[str, int]
    """Ref -> slot of the live memories, which may be of any status."""
    stores: tuple[StoreState, ...]
    revision: int
    """One more than in the snapshot before."""

    @property
    def count(self) -> int:
        """Live memories; `rows` may be longer."""
        return len(self.slot_of)

    def find(self, store: str, id: str) -> Memory | None:
        """The memory with this id in a store, or with this ref; None if there is none."""
        slot = self.slot_of.get(f"{store}:{id}", self.slot_of.get(id))
        return None if slot is None else self.rows[slot]

    def take(self, slots: Slots) -> dict[int, Memory]:
        """The memories in these slots, by slot."""
        return {slot: self.rows[slot] for slot in slots.tolist()}
