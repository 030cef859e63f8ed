"""Immutable snapshots of the library: every memory by slot, and the state of every store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from memtui.files.text_items import is_similar
from memtui.model import Memory
from memtui.search.columns import Columns, Slots
from memtui.stores.base import Unreadable
from memtui.stores.sidecar import is_kept
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
    target: str = ""
    """Where its files lie, if its folder is a link (`memtui.paths.link_target`)."""

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


def find_reworded(memory: Memory, before: Snapshot, now: Snapshot) -> Memory | None:
    """The memory that stands in the place of one that was there before; None if none does.

    In stores whose ids are digests of the texts, a text that another program changed has another
    id, as if one memory went and another came.

    The place is between its neighbours in the same list of the same file. A single new text for a
    single one that went is it, whatever it says; elsewhere, and at the end of the list, where
    programs add texts, it has to be similar.
    """
    known, present = (
        {each.ref: each for each in _list_of(memory, snapshot)} for snapshot in (before, now)
    )
    if memory.ref not in known or memory.ref in present:
        return None
    refs, order = list(known), list(present)
    at = refs.index(memory.ref)
    above = next((ref for ref in reversed(refs[:at]) if ref in present), "")
    below = next((ref for ref in refs[at + 1 :] if ref in present), "")
    start = order.index(above) + 1 if above else 0
    end = order.index(below) if below else len(order)
    new = [ref for ref in order[start:end] if ref not in known]
    first = refs.index(above) + 1 if above else 0
    last = refs.index(below) if below else len(refs)
    if below and len(new) == 1 == last - first:
        return present[new[0]]
    new.sort(key=lambda ref: abs(order.index(ref) - start - (at - first)))
    found = (present[ref] for ref in new)
    return next((each for each in found if is_similar(each.content, memory.content)), None)


def _list_of(memory: Memory, snapshot: Snapshot) -> list[Memory]:
    """The memories of its list, in the order of the file."""
    rows = (snapshot.rows[slot] for slot in snapshot.columns.slots_of_store(memory.store))
    found = [
        each
        for each in rows
        if each.origin.file == memory.origin.file
        and (each.entity, each.kind) == (memory.entity, memory.kind)
        and not is_kept(each)
    ]
    return sorted(found, key=lambda each: each.origin.line or 0)
