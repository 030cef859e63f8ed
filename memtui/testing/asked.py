"""A store that is asked, over memories that are all here: what every other such store must answer.

It asks the search that memtui has for stores that are read.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from memtui.library.finding import Searchable, SearchResult
from memtui.library.finding import find as find_in
from memtui.model import Memory
from memtui.query import Query, Sort
from memtui.search.aggregates import COUNTED
from memtui.search.columns import build
from memtui.search.documents import to_document
from memtui.search.index import memory_index
from memtui.stores.queryable import (
    PUSHED_ORDERS,
    Accuracy,
    Answer,
    Changed,
    Count,
    FoundFacets,
    Page,
    Position,
    QueryableStore,
    position_of,
    pushed_order,
    ranked_answer,
)


class AskedMemories(QueryableStore):
    """A store of these memories, read-only; `change` stands for what other people write."""

    format = "asked"

    def __init__(self, memories: Sequence[Memory], label: str = "asked") -> None:
        self.label, self.root = label, Path(f"{label}:")
        self.asked = 0
        """How many memories it has given."""
        self._changes: list[str] = []
        self._put(memories)

    def _put(self, memories: Sequence[Memory]) -> None:
        self._rows = sorted(memories, key=lambda memory: memory.id)
        slots = {memory.ref: slot for slot, memory in enumerate(self._rows)}
        segments = (memory_index.make(map(to_document, self._rows)),)
        now = datetime.now(UTC)
        self._scope = Searchable(
            self._rows, build(self._rows), segments, now=now, slot_of=slots, revision=0
        )

    def change(self, refs: Collection[str], memories: Sequence[Memory]) -> None:
        """Replace these memories with others."""
        self._put([*(row for row in self._rows if row.ref not in refs), *memories])
        self._changes += [*refs, *(memory.ref for memory in memories)]

    def understands(self, query: Query) -> tuple[str, ...]:
        return ()

    def _ask(self, query: Query) -> SearchResult:
        order = pushed_order(query)
        return find_in(replace(query, sort=order, then=(), as_written=True), self._scope)

    def find(
        self, query: Query, after: Position | None, limit: int, *, backwards: bool = False
    ) -> Page:
        order, found = pushed_order(query), self._ask(query)
        memories = [self._rows[slot] for slot in found.slots]
        positions = [position_of(memory, order) for memory in memories]
        is_ascending = order is not Sort.OLD
        if not is_ascending:
            memories, positions = memories[::-1], positions[::-1]
        if is_ascending != backwards:
            first = 0 if after is None else bisect_right(positions, after)
            end = min(len(memories), first + limit)
            is_last = end == len(memories)
        else:
            end = len(memories) if after is None else bisect_left(positions, after)
            first = max(0, end - limit)
            is_last = first == 0
        step = 1 if is_ascending else -1
        memories, positions = memories[first:end][::step], positions[first:end][::step]
        self.asked += len(memories)
        return Page(tuple(memories), tuple(positions), is_last)

    def position_at(self, query: Query, time: datetime) -> Position:
        keys: tuple[float, ...] = (-time.timestamp(),)
        return Position((1.0, *keys) if pushed_order(query) is Sort.IMPORTANCE else keys)

    def count(self, query: Query, at_most: int) -> Count:
        total = self._ask(query).total
        is_exact = total <= at_most
        return Count(min(total, at_most), Accuracy.EXACT if is_exact else Accuracy.AT_LEAST)

    def facets(self, query: Query) -> FoundFacets:
        counted = self._ask(query).facets
        return FoundFacets({name: dict(getattr(counted, name)) for name in COUNTED})

    def buckets(self, query: Query, unit: Literal["day", "month"]) -> Mapping[date, int]:
        whens = (self._rows[slot].when for slot in self._ask(query).slots)
        days = (when.astimezone().date() for when in whens if when is not None)
        counts = Counter(day.replace(day=1) if unit == "month" else day for day in days)
        return dict(sorted(counts.items()))

    def answer(self, query: Query, limit: int, at_most: int) -> Answer:
        page = self.find(query, None, limit)
        if query.order in PUSHED_ORDERS:
            return Answer(page, self.count(query, at_most))
        return ranked_answer(page.memories, limit)

    def get(self, refs: Collection[str]) -> tuple[Memory, ...]:
        slots = (self._scope.slot_of.get(ref) for ref in refs)
        return tuple(self._rows[slot] for slot in slots if slot is not None)

    def ids_beginning(self, names: Collection[str], most: int) -> list[str]:
        return [each.id for each in self._rows if each.id.startswith(tuple(names))][:most]

    def changed_since(self, mark: str) -> Changed:
        refs = self._changes[int(mark) :] if mark else ()
        return Changed(tuple(dict.fromkeys(refs)), str(len(self._changes)))

    def wait_for_change(self, timeout: float) -> bool:
        return True

    def close(self) -> None:
        return

    def cancel(self) -> None:
        return
