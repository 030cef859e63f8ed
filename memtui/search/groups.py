"""Group memories by session, branch, day, folder or entity, each group in its own order.

The order is that of creation, then of the place in the file, so that a changed memory, which has a
new slot, keeps its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from memtui.dataclass import dataclass
from memtui.search import analysis
from memtui.search.array_types import Ints, Longs
from memtui.search.columns import Columns

Names = Mapping[str, Sequence[tuple[tuple[str, ...], int]]]
"""First word of a name -> the words and the code of each name that begins with it."""


REACH = 2
"""Memories before and after that a window has."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of the living memories, one after the other, each in its own order."""

    columns: Columns
    """Of which slots."""
    order: Ints
    """The slot at each position."""
    group: Ints
    """The group at each position, ascending from 0."""
    place: Ints
    """The position of each slot; -1 if it is not alive."""
    of_slot: Ints
    """The group of each slot; `count` if it is not alive."""
    count: int
    """How many groups there are."""
    speakers: Names
    entities: Names

    def windows(self, slots: Longs) -> Ints:
        """The windows of these slots, one column each: the slots before, itself, those after.

        Where a group ends, and for slots outside of groups, the number of all slots stands.
        """
        windows = np.full((2 * REACH + 1, len(slots)), len(self.of_slot), np.int32)
        windows[REACH] = slots
        at = self.place.take(slots)
        for step in (*range(-REACH, 0), *range(1, REACH + 1)):
            is_inside = (at >= max(0, -step)) & (at < len(self.order) - max(0, step))
            (columns,) = is_inside.nonzero()
            beside = at[columns] + step
            is_same = self.group[beside] == self.group[at[columns]]
            windows[REACH + step, columns[is_same]] = self.order[beside[is_same]]
        return windows


_last_groups: Groups | None = None
"""Of the last columns; assigned as a whole, so any thread may read it."""


def find_groups(columns: Columns) -> Groups:
    """The groups of these columns, computed once for columns that are asked again."""
    global _last_groups
    last = _last_groups
    if last is None or last.columns is not columns:
        last = _last_groups = _find_groups(columns)
    return last


def _find_groups(columns: Columns) -> Groups:
    slots = np.flatnonzero(columns.alive)
    key = columns.context[slots].astype(np.int64) * (len(columns.stores) + 1) + columns.store[slots]
    created = np.nan_to_num(columns.created[slots], nan=np.inf)
    ordered = np.lexsort((columns.position[slots], created, key))
    order, key = slots[ordered].astype(np.int32), key[ordered]
    begins = np.ones(len(key), np.bool_)
    begins[1:] = key[1:] != key[:-1]
    group = np.cumsum(begins, dtype=np.int32) - np.int32(1)
    count = int(begins.sum())
    place = np.full(len(columns), -1, np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    of_slot = np.full(len(columns), count, np.int32)
    of_slot[order] = group
    speakers = _index_names(columns.speakers)
    entities = _index_names([entity.rpartition("/")[2] for entity in columns.entities])
    return Groups(columns, order, group, place, of_slot, count, speakers, entities)


@lru_cache(maxsize=32_768)
def _split_name(name: str) -> tuple[str, ...]:
    return tuple(analysis.list_words(name))


def _index_names(names: Sequence[str]) -> Names:
    found: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    for code, name in enumerate(names):
        if words := _split_name(name):
            found.setdefault(words[0], []).append((words, code))
    return found
