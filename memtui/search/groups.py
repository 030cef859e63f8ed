"""Group memories by session, branch, day, folder or entity, each group in its own order.

The order is that of creation, then of the place in the file, so that a changed memory, which has a
new slot, keeps its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memtui.dataclass import dataclass
from memtui.model import KINDS
from memtui.search import analysis
from memtui.search.array_types import Floats, Ints, Longs
from memtui.search.columns import Columns

KINDS_IN_GROUPS = frozenset(KINDS)
"""The kinds that take part."""


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
    """The position of each slot; -1 if it does not take part."""
    of_slot: Ints
    """The group of each slot; `count` if it does not take part."""
    count: int
    """How many groups there are."""
    speakers: Names
    entities: Names

    @cached_property
    def has_questions(self) -> bool:
        """Whether any text ends with a question."""
        return bool(self.columns.asks.any())

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
    joins = np.array([kind in KINDS_IN_GROUPS for kind in KINDS])[columns.kind]
    slots = np.flatnonzero(joins & columns.alive)
    key = columns.context[slots].astype(np.int64) * (len(columns.stores) + 1) + columns.store[slots]
    created = np.nan_to_num(columns.created[slots], nan=np.inf)
    keys = key, created, columns.position[slots]
    order = slots.astype(np.int32)
    if not _are_in_order(keys):
        ordered = np.lexsort(keys[::-1])
        order, key = order[ordered], key[ordered]
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


def _are_in_order(keys: Sequence[NDArray[Any]]) -> bool:
    """Whether rows are ascending by the first key, equal ones by the second, and so on.

    A store that was read once mostly is; to sort a million takes 200 ms, to look at them 5.
    """
    is_tied = np.ones(max(0, len(keys[0]) - 1), np.bool_)
    for key in keys:
        before, after = key[:-1], key[1:]
        if (is_tied & (after < before)).any():
            return False
        is_tied &= after == before
    return True


@lru_cache(maxsize=32_768)
def _split_name(name: str) -> tuple[str, ...]:
    return tuple(analysis.list_words(name))


def _index_names(names: Sequence[str]) -> Names:
    found: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    for code, name in enumerate(names):
        if words := _split_name(name):
            found.setdefault(words[0], []).append((words, code))
    return found


class Context(NamedTuple):
    """What the memories around a match, and other marks of the query, add to its score."""

    slots: Longs
    """The slots that were looked at, unique, in no order."""
    at: Longs
    """The position of each in `Match.slots`."""
    parts: Mapping[str, Floats]
    """Name -> what the part adds to each of `slots`, weighted."""
    total: Floats
    """The sum of the parts for each of `slots`."""

    def parts_of(self, slot: int) -> dict[str, float]:
        """Return what each part adds to the score of a slot."""
        at = np.flatnonzero(self.slots == slot)
        return {name: float(values[at[0]]) for name, values in self.parts.items() if len(at)}
