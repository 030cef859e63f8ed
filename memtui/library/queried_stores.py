"""Search stores that are asked instead of read, beside the memories that are loaded.

By time and by importance the pages of all stores are merged exactly. Any other order is made here,
of the newest candidates that a store gives; results of several stores are then joined by rank,
since scores of different collections cannot be compared.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from heapq import merge
from itertools import accumulate
from threading import Lock
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from memtui.errors import MemtuiError, NotConnected, QueryStopped, RefError
from memtui.library.finding import SearchResult
from memtui.library.result_window import NEAR, PAGE, Line, ResultWindow, Run
from memtui.library.snapshot import Rows
from memtui.model import IMPORTANCES, Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.query import Query, Sort
from memtui.search.aggregates import Facets
from memtui.search.columns import Columns
from memtui.search.ranking import DEFAULTS, ScorePart, Weights
from memtui.stores.queryable import (
    MAX_RANKED,
    PUSHED_ORDERS,
    Accuracy,
    Answer,
    Page,
    Position,
    QueryableStore,
    position_of,
)
from memtui.text import and_more, number, one_line, visible

FIRST_SLOT = 1 << 40
"""Slots from here on are of queried stores: they name a ref for as long as the library is open."""
MAX_SEEN = 6_000
"""Memories that are kept of those seen last, to show them while a store is not connected."""
MAX_NUMBERED = 40_000
"""Refs that have a slot; marks are at most `MAX_MARKED` of them."""
MAX_MARKED = 10_000
COUNTED_TO = 1_000
"""Hits that are counted exactly."""
EPOCH = date(1970, 1, 1)

Value = TypeVar("Value")
Rank = Callable[[Query, Sequence[Memory]], SearchResult]


class SeenMemories:
    """Gives memories of queried stores their slots, and keeps those seen last; for any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._slots: dict[str, int] = {}
        self._refs: dict[int, str] = {}
        self._memories: dict[str, Memory] = {}
        self._next = FIRST_SLOT

    def add(self, memories: Iterable[Memory]) -> list[int]:
        """Note memories as they are now; return their slots."""
        with self._lock:
            return [self._add(memory) for memory in memories]

    def _add(self, memory: Memory) -> int:
        ref = memory.ref
        slot = self._slots.pop(ref, None)
        if slot is None:
            slot, self._next = self._next, self._next + 1
            self._refs[slot] = ref
        self._slots[ref] = slot  # last: those seen longest ago go first
        if len(self._slots) > MAX_NUMBERED:
            del self._refs[self._slots.pop(next(iter(self._slots)))]
        self._memories.pop(ref, None)
        self._memories[ref] = memory
        if len(self._memories) > MAX_SEEN:
            del self._memories[next(iter(self._memories))]
        return slot

    def ref(self, slot: int) -> str:
        """The ref of the memory in a slot; "" if it was let go."""
        return self._refs.get(slot, "")

    def slot(self, ref: str) -> int | None:
        return self._slots.get(ref)

    def get(self, ref: str) -> Memory | None:
        """A memory as it was last seen."""
        return self._memories.get(ref)

    def of(self, label: str) -> list[Memory]:
        """The memories of a store that were seen last."""
        with self._lock:
            return [each for each in self._memories.values() if each.store == label]

    def forget(self, label: str, refs: Collection[str] | None = None) -> None:
        """Drop what was seen of a store, or of these memories of it: they have changed."""
        with self._lock:
            gone = [each.ref for each in self._memories.values() if each.store == label]
            for ref in gone if refs is None else refs:
                self._memories.pop(ref, None)


class ResultRows(Sequence[Memory]):
    """The memory of each slot: loaded ones, and those of queried stores that are here."""

    def __init__(self, loaded: Sequence[Memory], find: Callable[[int], Memory]) -> None:
        self._loaded, self._find = loaded, find

    def __len__(self) -> int:
        return len(self._loaded)

    def __getitem__(self, slot: int) -> Memory:  # type: ignore[override]
        return self._loaded[slot] if slot < FIRST_SLOT else self._find(slot)


class StoreAnswer(Struct, frozen=True):
    """What one store answered to a query."""

    store: QueryableStore
    answer: Answer
    ranked: SearchResult | None = None
    """The candidates in the order of the query; None if the store has put them in order."""
    fault: MemtuiError | None = None
    """Why it did not answer; the candidates are then those that were seen last."""

    @property
    def label(self) -> str:
        return self.store.label


class QueriedResult(SearchResult, frozen=True, eq=False, dict=True, kw_only=True):
    """The hits of a query in loaded and in queried stores."""

    loaded: SearchResult
    """The hits among the loaded memories."""
    answers: tuple[StoreAnswer, ...] = ()
    origins: Sequence[tuple[SearchResult, int]] = ()
    """Of each hit, where the order is made here, its result and position there."""
    are_facets_exact: bool = True

    @property
    def window(self) -> ResultWindow | None:
        """The list, where it is asked for by pages."""
        return self.slots if isinstance(self.slots, ResultWindow) else None

    def is_approximate(self, slot: int) -> bool:
        return slot < FIRST_SLOT and self.loaded.is_approximate(slot)

    @cached_property
    def facets(self) -> Facets:
        """The sum of the facets of all stores."""
        mine = self.loaded.facets
        counts = {name: Counter(getattr(mine, name)) for name in _COUNTED}
        tree = Counter(mine.tree)
        for each in self.answers:
            for name, found in each.answer.facets.counts.items():
                if name in counts:
                    counts[name].update(found)
            found = each.answer.facets.counts.get("entity", {})
            tree.update({(each.label, entity): number for entity, number in found.items()})
        ordered = {name: dict(found.most_common()) for name, found in counts.items()}
        return Facets(
            **ordered,
            entity_repeats=mine.entity_repeats,
            tree=dict(tree),
            tree_repeats=mine.tree_repeats,
        )

    def explain(self, position: int, weights: Weights = DEFAULTS) -> tuple[ScorePart, ...]:
        if not self.origins:
            return ()
        found, at = self.origins[position]
        return found.explain(at, weights)

    def slots_of_refs(self, refs: Collection[str]) -> set[int]:
        here = self.slots.run.lines if isinstance(self.slots, ResultWindow) else ()
        slots = [line.slot for line in here] or self.slots
        return {slot for slot in slots if self.rows[slot].ref in refs}

    @property
    def faults(self) -> Mapping[str, MemtuiError]:
        """Label of each store that did not answer -> why."""
        return {each.label: each.fault for each in self.answers if each.fault is not None}


_COUNTED = ("type", "importance", "status", "kind", "entity", "store")


class QueriedStores:
    """The queried stores of a library; may be used from any thread."""

    def __init__(self, stores: Iterable[QueryableStore], now: Callable[[], datetime]) -> None:
        self.stores = {store.label: store for store in stores}
        self.seen = SeenMemories()
        self._now = now
        self._marks: dict[str, str] = {}
        self.answered: dict[str, datetime] = {}
        """When each store last answered."""
        self.faults: dict[str, NotConnected] = {}
        """Why a store is not connected."""

    def __bool__(self) -> bool:
        return bool(self.stores)

    def _ask(
        self,
        store: QueryableStore,
        question: Callable[[], Value],
        cancelled: IsCancelled = never,
    ) -> Value:
        """Ask a store, and note whether it is connected. Raises what it raises, Cancelled."""
        while True:
            try:
                answer = question()
            except NotConnected as error:
                self.faults[store.label] = error
                raise
            except QueryStopped as error:
                if cancelled():
                    raise Cancelled from error
                if not error.was_cancelled:
                    raise
            else:
                self.faults.pop(store.label, None)
                self.answered[store.label] = self._now()
                return answer

    def cancel(self) -> None:
        """Stop the questions that are being answered."""
        for store in self.stores.values():
            store.cancel()

    # ---- one memory -----------------------------------------------------------------------------

    def store_of(self, ref: str) -> QueryableStore | None:
        """The queried store that a ref belongs to."""
        return self.stores.get(ref.partition(":")[0])

    def get(self, ref: str) -> Memory | None:
        """The memory with this ref, as it was last seen, else asked for."""
        if (store := self.store_of(ref)) is None:
            return None
        return self.seen.get(ref) or next(iter(self._get(store, [ref])), None)

    def read(self, slots: Iterable[int]) -> list[Memory]:
        """The memories in these slots, in their order; those that are gone are left out."""
        refs = [ref for slot in slots if (ref := self.seen.ref(slot))]
        found = {ref: memory for ref in refs if (memory := self.seen.get(ref))}
        for label, store in self.stores.items():
            missing = [ref for ref in refs if ref not in found and ref.startswith(f"{label}:")]
            if missing:
                found |= {memory.ref: memory for memory in self._get(store, missing)}
        return [found[ref] for ref in refs if ref in found]

    def _get(self, store: QueryableStore, refs: Collection[str]) -> tuple[Memory, ...]:
        found = self._ask(store, lambda: store.get(refs))
        self.seen.add(found)
        return found

    def resolve(self, text: str) -> Memory:
        """The memory that a ref or an id names. Raises RefError."""
        label, colon, _ = text.partition(":")
        for store in self.stores.values():
            refs = [text] if colon and label == store.label else [f"{store.label}:{text}"]
            if found := self._get(store, refs):
                return found[0]
        raise RefError(f"no memory has the id {visible(text)!r}", do="give its whole id")

    def refresh(self) -> set[str]:
        """Ask what changed since the last time; return the refs, "" for more than that."""
        changed: set[str] = set()
        for label, store in self.stores.items():
            mark, was_away = self._marks.get(label, ""), label in self.faults
            try:
                found = self._ask(store, lambda: store.changed_since(mark))  # noqa: B023
            except (NotConnected, QueryStopped):
                continue
            self._marks[label] = found.mark
            if was_away or not found.is_complete:
                changed.add("")
            changed.update(found.refs)
            if changed:
                self.seen.forget(label, None if "" in changed else found.refs)
        return changed

    # ---- searching ------------------------------------------------------------------------------

    def find(
        self,
        query: Query,
        loaded: SearchResult,
        rank: Rank,
        cancelled: IsCancelled = never,
        near: tuple[Position, int] | None = None,
    ) -> SearchResult:
        """Search these stores too.

        Args:
            query: What `loaded` answers.
            loaded: The hits among the loaded memories.
            rank: Searches some memories.
            cancelled: Asked while the stores answer.
            near: A position and its line, where the list is looked at; None: its beginning.

        Raises:
            Cancelled: `cancelled` returned True.
        """
        answers = tuple(
            self._answer(store, query, rank, cancelled)
            for store in self.stores.values()
            if _may_have(query, store.label)
        )
        if any(each.ranked is not None for each in answers) or not answers:
            return self._joined(query, loaded, answers)
        return self._merged(query, loaded, answers, cancelled, near)

    def _answer(
        self, store: QueryableStore, query: Query, rank: Rank, cancelled: IsCancelled
    ) -> StoreAnswer:
        """Ask one store; where it cannot answer, search what was seen of it."""
        is_ranked = query.order not in PUSHED_ORDERS or query.then or store.understands(query)
        asked = replace(query, sort=Sort.NEW, then=()) if is_ranked else query
        limit = MAX_RANKED if is_ranked else 2 * PAGE
        try:
            answer = self._ask(store, lambda: store.answer(asked, limit, COUNTED_TO), cancelled)
        except (NotConnected, QueryStopped) as error:
            ranked = rank(query, self.seen.of(store.label))
            return StoreAnswer(store, replace(_NOTHING, count=_count_of(ranked)), ranked, error)
        if not is_ranked:
            self.seen.add(answer.page.memories)
            return StoreAnswer(store, answer)
        if cancelled():
            raise Cancelled
        ranked = rank(query, answer.page.memories)
        if answer.page.is_last:  # all of them were looked at here
            answer = replace(answer, count=_count_of(ranked))
        elif store.understands(query):
            answer = replace(answer, count=Count(len(ranked.slots), Accuracy.AT_LEAST))
        return StoreAnswer(store, answer, ranked)
