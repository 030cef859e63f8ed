"""The table of all loaded memories by slot, and what a ref or the target of a link names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec.structs import replace

from memtui.errors import RefError
from memtui.model import Memory
from memtui.search import columns as columns_of
from memtui.search.columns import Columns
from memtui.search.documents import find_position
from memtui.text import visible

MAX_DEAD = 4_096
"""Dead rows that stay readable at least; beyond as many as there are memories, older ones go."""


class SlotTable:
    """Rows with their columns; not thread-safe, `LoadedStores` holds the lock.

    A memory that changed is appended and its former row marked dead. Slots are never used again, so
    a slot names the same row for as long as the library is open.
    """

    def __init__(self) -> None:
        self.rows: list[Memory] = []
        self.slot_of: dict[str, int] = {}
        """Ref -> slot of every live memory."""
        self.columns: Columns = columns_of.build(())
        self._dead: list[int] = []
        """Dead slots whose memory is still there, oldest first."""

    def append(self, memories: Sequence[Memory], *, shard_of: Sequence[str]) -> list[int]:
        """Add memories, and make their refs unique.

        A ref that is taken already (the same id twice in one store) gets its shard appended.

        Args:
            memories: added in this order.
            shard_of: the key of the shard of each.

        Returns:
            The slots of memories whose ref was taken, and of those that had it.
        """
        first = len(self.rows)
        shared: list[int] = []
        for memory, shard in zip(memories, shard_of, strict=True):
            slot, ref = len(self.rows), memory.ref
            if ref in self.slot_of:
                shared += (self.slot_of[ref], slot)
                ref = _free_ref(f"{ref}@{shard}", self.slot_of)
            self.rows.append(memory if ref == memory.ref else replace(memory, ref=ref))
            self.slot_of[ref] = slot
        new = columns_of.build(self.rows[first:])
        self.columns = columns_of.concat([self.columns, new])
        return shared

    def append_cached(self, rows: Sequence[Memory], columns: Columns) -> range:
        """Add the cached rows of a store, whose refs are unique; return their slots."""
        slots = range(len(self.rows), len(self.rows) + len(rows))
        self.rows += rows
        self.slot_of.update(zip((memory.ref for memory in rows), slots, strict=True))
        self.columns = columns_of.concat([self.columns, columns])
        return slots

    def move(self, moved: Mapping[int, Memory]) -> None:
        """Take these memories instead of those in the same slots, which lay elsewhere in the same
        file and are equal in all else."""
        for slot, memory in moved.items():
            self.rows[slot] = memory
        if moved:
            positions = [find_position(memory.origin) for memory in moved.values()]
            self.columns = self.columns.with_positions([*moved], positions)

    def redate(self, dated: Mapping[int, Memory]) -> None:
        """Take these memories instead of those in the same slots, which differ in the time of
        change only."""
        for slot, memory in dated.items():
            self.rows[slot] = memory
        shown = {slot: memory for slot, memory in dated.items() if self.columns.by_file[slot]}
        times = [memory.when.timestamp() for memory in shown.values() if memory.when]
        self.columns = self.columns.with_times([*shown], times)

    def set_places(self, shards: Iterable[tuple[Sequence[int], Sequence[int]]]) -> None:
        """Let the slots of each shard that was read again come where its former slots were.

        Args:
            shards: the slots, in the order of reading, and the former slots of each shard; one that
                had none comes after all others.
        """
        if found := [(slots, former) for slots, former in shards if slots and former]:
            self.columns = self.columns.with_places(found)

    def shared(self, label: str) -> list[int]:
        """Slots of memories whose ref was made unique, and of those with the plain ref."""
        begin = f"{label}:"
        found: list[int] = []
        for ref, slot in self.slot_of.items():
            if "@" in ref and ref.startswith(begin):
                plain = plain_ref(self.rows[slot])
                if ref != plain:
                    found += (self.slot_of.get(plain, slot), slot)
        return found

    def mark_dead(self, slots: Iterable[int]) -> None:
        """Mark the rows in these slots dead."""
        if dead := list(slots):
            self.columns = self.columns.without(dead)
            for slot in dead:
                if self.slot_of.get(ref := self.rows[slot].ref) == slot:
                    del self.slot_of[ref]
            self._dead += dead
            if len(self._dead) > max(MAX_DEAD, len(self.slot_of)):
                for slot in self._dead[:-MAX_DEAD]:
                    self.rows[slot] = _forgotten(self.rows[slot].store)
                del self._dead[:-MAX_DEAD]


@lru_cache
def _forgotten(store: str) -> Memory:
    """What a dead row of a store has when its memory is let go."""
    return Memory("", "", store, "note")


def plain_ref(memory: Memory) -> str:
    """The ref of a memory whose id is unique in its store."""
    return f"{memory.store}:{memory.id}"


def _free_ref(ref: str, used: Mapping[str, int]) -> str:
    if ref not in used:
        return ref
    number = 2
    while f"{ref}~{number}" in used:
        number += 1
    return f"{ref}~{number}"


def _entities_called(name: str, paths: Collection[str]) -> list[str]:
    """The entities with this last part."""
    return [path for path in paths if path.rpartition("/")[2] == name] if name else []


def exact_slot(ref: str, slots: Mapping[str, int]) -> int:
    """Return the slot of exactly this ref. Raises RefError."""
    try:
        return slots[ref]
    except KeyError:
        raise RefError(f"no memory has the ref {visible(ref)!r}") from None


def link_target(
    text: str,
    memory: Memory,
    candidates: Iterable[Memory],
    elsewhere: Collection[str],
    resolve: Callable[[str], Memory],
) -> str:
    """Return the id of the memory, or the path of the entity, that `text` names as a link's target;
    the ref of a memory of another store.

    Tried in this order: the target of a link that this memory has, whatever it names; the ref or
    id of a memory; the path of an entity; its last part, where only one of this store, or of all,
    has it; the beginning of a memory's id.

    Args:
        text: what the person typed.
        memory: where the link starts.
        candidates: all memories of its store.
        elsewhere: the paths of the entities of all stores.
        resolve: `Library.resolve`.

    Raises:
        RefError: nothing has that name.
    """
    name = text.removeprefix(f"{memory.store}:")
    others = list(candidates)
    if any(link.target == name for link in memory.links) or any(m.id == name for m in others):
        return name
    own = {other.entity for other in others if other.entity}
    if name in own or name in elsewhere:
        return name
    named = _entities_called(name, own) or _entities_called(name, elsewhere)
    if len(named) == 1:
        return named[0]
    try:
        other = resolve(text)
    except RefError as error:
        if named:
            paths = ", ".join(visible(path) for path in sorted(named)[:3])
            raise RefError(f"{visible(name)!r} names {paths}", do="give the whole path") from None
        raise RefError(f"{error.what}, and no entity has that name", do=error.do) from None
    return other.id if other.store == memory.store else other.ref
