"""All memories of all open stores by slot, as shards come, change and go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from memtui.library.snapshot import Rows
from memtui.model import Memory
from memtui.search import columns as columns_of
from memtui.search.catalog import Catalog
from memtui.search.columns import Columns


class Table:
    """Append-only rows with their columns; not thread-safe, the library holds the lock."""

    def __init__(self) -> None:
        self._parts: list[Sequence[Memory]] = []
        self._refs: list[Callable[[], Sequence[str]]] = []
        self._slot_of: dict[str, int] | None = None
        self.columns: Columns = columns_of.build(())

    def __len__(self) -> int:
        return len(self.columns)

    def rows(self) -> Rows:
        return Rows(self._parts)

    def append(self, memories: Sequence[Memory], *, shard_of: Sequence[str]) -> list[int]:
        """Add memories; `shard_of` names the shard of each.

        A ref that is taken already (the same id twice in one store) gets its shard behind it, so
        that every ref stays unique. Returns the slots of those, and of who had the ref.
        """
        first = len(self)
        taken = self.slot_of
        unique = list(memories)
        shared: list[int] = []
        for at, memory in enumerate(unique):
            ref = memory.ref
            if ref in taken:
                shared += (taken[ref], first + at)
                ref = _free(f"{memory.ref}@{shard_of[at]}", taken)
                unique[at] = replace(memory, ref=ref)
            taken[ref] = first + at
        self._parts.append(tuple(unique))
        refs = [memory.ref for memory in unique]
        self._refs.append(lambda: refs)
        self.columns = columns_of.concat([self.columns, columns_of.build(unique)])
        return shared

    def append_cached(self, catalog: Catalog) -> int:
        """Add the rows of a cached store as they are. Returns the first slot."""
        first = len(self)
        self._parts.append(catalog.rows)
        self._refs.append(lambda: catalog.rows.refs)
        self._slot_of = None
        self.columns = columns_of.concat([self.columns, catalog.columns])
        return first

    def shared(self, label: str) -> list[int]:
        """The slots of a store's memories whose ref had to be another, and of who has it."""
        begin, rows = f"{label}:", self.rows()
        found: list[int] = []
        for ref, slot in self.slot_of.items():
            if "@" in ref and ref.startswith(begin) and ref != (plain := plain_ref(rows[slot])):
                found += (self.slot_of.get(plain, slot), slot)
        return found

    def kill(self, slots: Iterable[int]) -> None:
        """These slots are found no more."""
        gone = list(slots)
        if not gone:
            return
        if self._slot_of is not None:
            rows = self.rows()
            for slot in gone:
                ref = rows[slot].ref
                if self._slot_of.get(ref) == slot:
                    del self._slot_of[ref]
        self.columns = self.columns.without(gone)

    @property
    def slot_of(self) -> dict[str, int]:
        """Ref -> slot of every memory that is there; made when first needed."""
        if self._slot_of is None:
            alive = self.columns.alive
            refs = chain.from_iterable(refs() for refs in self._refs)
            self._slot_of = {ref: slot for slot, ref in enumerate(refs) if alive[slot]}
        return self._slot_of

    def alive_count(self) -> int:
        return int(self.columns.alive.sum())


def plain_ref(memory: Memory) -> str:
    """The ref that no other memory of its store has, unless their ids are the same."""
    return f"{memory.store}:{memory.id}"


def _free(ref: str, taken: dict[str, int]) -> str:
    if ref not in taken:
        return ref
    number = 2
    while f"{ref}~{number}" in taken:
        number += 1
    return f"{ref}~{number}"
