"""All memories of all open stores by slot, as shards come, change and go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memtui.library.snapshot import Rows
from memtui.model import Memory
from memtui.search import columns as columns_of
from memtui.search import numbering
from memtui.search.catalog import CachedRows, Catalog
from memtui.search.columns import Columns, Slots


class SlotTable:
    """Rows with their columns; not thread-safe, the library holds the lock.

    A memory that changed is appended, its former row is no longer alive. `compact` lets go of such
    rows, so that the table stays in proportion to what is there.
    """

    def __init__(self) -> None:
        self._parts: list[Sequence[Memory]] = []
        self._slot_of: dict[str, int] | None = None
        self._serials = numbering.NO_SERIALS
        self._given = 0
        """Serials that have been given."""
        self.columns: Columns = columns_of.build(())

    def __len__(self) -> int:
        return len(self.columns)

    def rows(self) -> Rows:
        return Rows(self._parts, self._serials)

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
        self._parts = _joined([*self._parts, tuple(unique)])
        self._number(len(unique))
        self.columns = columns_of.concat([self.columns, columns_of.build(unique)])
        return shared

    def append_cached(self, catalog: Catalog) -> int:
        """Add the rows of a cached store as they are. Returns the first slot."""
        first = len(self)
        self._parts.append(catalog.rows)
        self._number(len(catalog.rows))
        self._slot_of = None
        self.columns = columns_of.concat([self.columns, catalog.columns])
        return first

    def _number(self, count: int) -> None:
        self._serials = numbering.append_serials(self._serials, self._given, count)
        self._given += count

    def compact(self, kept: Slots) -> None:
        """Number the rows in these slots (ascending) anew and let go of all others."""
        parts: list[Sequence[Memory]] = []
        first = 0
        for part in self._parts:
            inside = numbering.find_kept_in_range(kept, range(first, first + len(part)))
            first += len(part)
            parts.append(part if len(inside) == len(part) else tuple(part[at] for at in inside))
        self._parts = _joined(parts)
        self._serials = self._serials[kept]
        self._slot_of = None
        self.columns = columns_of.take(self.columns, kept)

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
            refs = (ref for part in self._parts for ref in _refs(part))
            self._slot_of = {ref: slot for slot, ref in enumerate(refs) if alive[slot]}
        return self._slot_of

    def alive_count(self) -> int:
        return int(self.columns.alive.sum())


def _joined(parts: Iterable[Sequence[Memory]]) -> list[Sequence[Memory]]:
    """The same rows in few parts: a part in memory takes in the next one unless it is far longer,
    so that there are as many as the number of rows has digits and no row is copied often."""
    joined: list[Sequence[Memory]] = []
    for part in parts:
        new = part
        while joined and isinstance(new, tuple) and isinstance(joined[-1], tuple):
            if len(joined[-1]) > 2 * len(new):
                break
            new = (*joined.pop(), *new)
        if len(new):
            joined.append(new)
    return joined


def _refs(part: Sequence[Memory]) -> Iterable[str]:
    return part.refs if isinstance(part, CachedRows) else (memory.ref for memory in part)


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
