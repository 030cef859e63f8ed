"""Slots and serial numbers: keep track of rows when slots are renumbered.

A **serial** is given to a row once and never reused; serials ascend with slots. While slots are not
renumbered, a slot identifies a row. What outlives a compaction of the table stores serials.
"""

from __future__ import annotations

from collections.abc import Collection, ItemsView, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memtui.search.array_types import Longs, Mask
from memtui.search.columns import Slots

Serials = NDArray[np.int64]
"""The serial of each slot, ascending."""

NO_SERIALS: Serials = np.empty(0, np.int64)


def append_range(numbers: Serials, first: int, count: int) -> Serials:
    """Return the `numbers` of some rows and those of `count` further ones, from `first` on."""
    return np.concatenate([numbers, np.arange(first, first + count)])


def living(serials: Serials, alive: Mask) -> Serials:
    """The `serials` of the rows that are `alive`; not a copy where all are: 8 MB at a million."""
    return serials if alive.all() else serials[alive]


def find_slot(serials: Serials, serial: int) -> int:
    """The slot of the row with this `serial` in a table with these `serials`; -1 if it has none."""
    slot = int(np.searchsorted(serials, serial))
    return slot if slot < len(serials) and serials[slot] == serial else -1


def choose_slots(
    serials: Serials, row_serials: Sequence[int], ranges: Iterable[range], chosen: Collection[int]
) -> list[int]:
    """Return slots of some rows: those outside the `ranges`, and the `chosen` ones, ascending.

    Args:
        serials: Of all rows of the table.
        row_serials: Of these rows, ascending.
        ranges: Slots to leave out, but for the chosen ones.
        chosen: Slots; those of other rows do not count.
    """
    slots = np.searchsorted(serials, np.asarray(row_serials, np.int64))
    is_chosen = np.ones(len(slots), np.bool_)
    for left_out in ranges:
        is_chosen &= (slots < left_out.start) | (slots >= left_out.stop)
    is_chosen |= np.isin(slots, np.fromiter(chosen, np.int64, len(chosen)))
    found: list[int] = slots[is_chosen].tolist()
    return found


def list_kept_slots(alive: Mask, ranges: Iterable[range]) -> Slots:
    """The slots that are `alive`, and all slots of the `ranges`: those that a compaction keeps."""
    keep = alive.copy()
    for slots in ranges:
        keep[slots.start : slots.stop] = True
    return keep.nonzero()[0]


def renumber_slot(remaining: Slots, slot: int) -> int:
    """The new slot of a row when only the `remaining` slots are numbered.

    For a `slot` that is not among them: the new slot of the next one that is.
    """
    return int(np.searchsorted(remaining, slot))


def find_kept_in_range(remaining: Slots, slots: range) -> Sequence[int]:
    """Return which of the `slots` are among the `remaining` ones, relative to their start."""
    start, stop = np.searchsorted(remaining, (slots.start, slots.stop))
    inside: list[int] = (remaining[start:stop] - slots.start).tolist()
    return inside


def diff_serials(before: Serials, now: Serials) -> tuple[list[int], list[int]]:
    """The serials only in `before`, and those only in `now`."""
    removed = np.setdiff1d(before, now, assume_unique=True)
    added = np.setdiff1d(now, before, assume_unique=True)
    return removed.tolist(), added.tolist()


def without_serials(serials: Serials, removed: Sequence[int]) -> Serials:
    """Return the `serials` without the `removed` ones."""
    return np.setdiff1d(serials, np.asarray(removed, np.int64), assume_unique=True)


def with_serials(serials: Serials, added: Sequence[int]) -> Serials:
    """Return the `serials` and the `added` ones, ascending."""
    return np.union1d(serials, np.asarray(added, np.int64))


HashedRefs = tuple[Longs, Longs]
"""Hashes of refs, ascending, and the slot of each."""


class RefRows(Protocol):
    """Rows whose refs can be read; see `memtui.library.snapshot.Rows`."""

    def find_refs(self, part: str = "", /) -> Iterator[tuple[int, str]]:
        """The slot and the ref of each row whose ref contains this text, ascending."""


class RefSlots(Mapping[str, int]):
    """Ref -> slot of every live memory of a table.

    Most refs are known by their hash only (Python's, of 64 bits, salted anew in each process): 12
    bytes each, where a dict of texts takes 190. The texts are read from the rows when asked for.
    """

    def __init__(
        self,
        rows: RefRows,
        alive: Mask,
        hashed: Sequence[HashedRefs],
        recent: dict[str, int],
    ) -> None:
        """
        Args:
            rows: of all slots.
            alive: whether each of them is live.
            hashed: hashes of refs, ascending, and the slot of each.
            recent: ref -> slot of all others.
        """
        self._rows, self._alive = rows, alive
        self.hashed, self.recent = hashed, recent

    def get(self, ref: Any, default: Any = None) -> Any:
        """As that of a dict.

        Args:
            ref: Of a memory.
            default: What is returned if no memory has it.

        Returns:
            The slot.
        """
        if (slot := self.recent.get(ref, -1)) >= 0 and self._alive[slot]:
            return slot
        number = hash(ref)
        for hashes, slots in self.hashed:
            at = int(hashes.searchsorted(number))
            while at < len(hashes) and hashes[at] == number:
                if self._alive[slot := int(slots[at])]:
                    return slot
                at += 1
        return default

    def __getitem__(self, ref: str) -> int:
        slot: int | None = self.get(ref)
        if slot is None:
            raise KeyError(ref)
        return slot

    def __contains__(self, ref: object) -> bool:
        return self.get(ref) is not None

    def may_have(self, refs: Sequence[str]) -> list[bool]:
        """Whether each of the refs may be that of a memory; False where none has it, unless it is
        recent."""
        numbers = np.fromiter(map(hash, refs), np.int64, len(refs))
        found = np.zeros(len(refs), np.bool_)
        for hashes, _ in self.hashed:
            if len(hashes):  # the cache of unreadable stores has none
                found |= hashes.take(hashes.searchsorted(numbers), mode="clip") == numbers
        return found.tolist()

    def find(self, part: str = "") -> Iterator[tuple[str, int]]:
        """The refs that contain this text, and their slots, ascending."""
        alive = self._alive
        return ((ref, slot) for slot, ref in self._rows.find_refs(part) if alive[slot])

    def __iter__(self) -> Iterator[str]:
        return (ref for ref, _ in self.find())

    def __len__(self) -> int:
        return int(self._alive.sum())

    def items(self) -> ItemsView[str, int]:
        """Return the refs with their slots, in the order of these."""
        return _Pairs(self)

    def extended(self, count: int) -> RefSlots:
        """The same before so many live rows are added, whose refs go into its own `recent`."""
        alive = np.concatenate([self._alive, np.ones(count, np.bool_)])
        return self.copied(self._rows, alive, {})

    def copied(self, rows: RefRows, alive: Mask, recent: Mapping[str, int]) -> RefSlots:
        """The same for other rows.

        Args:
            rows: They have the same refs in the same slots, and maybe further rows.
            alive: Which of them are live.
            recent: Ref -> slot of the further ones.
        """
        return RefSlots(rows, alive, self.hashed, {**self.recent, **recent})


class _Pairs(ItemsView[str, int]):
    _mapping: RefSlots

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return self._mapping.find()


def hash_refs(refs: Iterable[tuple[int, str]], count: int) -> HashedRefs:
    """The hashes of `refs`, given as slot and ref; there must be `count` of them."""
    pairs = ((hash(ref), slot) for slot, ref in refs)
    found: Any = np.fromiter(pairs, np.dtype((np.int64, 2)), count)
    return _in_order(found[:, 0], found[:, 1])


def with_hashed(tables: Sequence[HashedRefs], new: HashedRefs) -> Sequence[HashedRefs]:
    """Return the `tables` and a `new` one, merged with those of similar size: there are few."""
    others = [*tables]
    while others and len(others[-1][0]) <= 2 * len(new[0]):
        hashes, slots = map(np.concatenate, zip(others.pop(), new, strict=True))
        new = _in_order(hashes, slots)
    return (*others, new)


def _in_order(hashes: Longs, slots: Longs) -> HashedRefs:
    order = hashes.argsort(kind="stable")
    return hashes.take(order), slots.take(order)
