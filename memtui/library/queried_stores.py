"""Search stores that are asked instead of read, beside the memories that are loaded.

By time and by importance the pages of all stores are merged exactly. Any other order is made here,
of the newest candidates that a store gives; results of several stores are then joined by rank,
since scores of different collections cannot be compared.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache, partial
from heapq import merge
from operator import attrgetter
from threading import Lock
from typing import TypeVar

from msgspec.structs import replace

from memtui.errors import MemtuiError, QueryStopped, StoreError
from memtui.library.finding import SearchResult
from memtui.library.handles import MAX_NAMED, SHORTEST, SHORTEST_TYPED, Handles
from memtui.library.queried_result import (
    EPOCH,
    FIRST_SLOT,
    QueriedResult,
    ResultRows,
    StoreAnswer,
    join_by_rank,
    place_at,
    positions_of,
    sum_counts,
)
from memtui.library.result_window import PAGE, Line, ResultWindow, Run
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.query import Query, Sort
from memtui.search.aggregates import count_days
from memtui.stores.queryable import (
    MAX_RANKED,
    Accuracy,
    Answer,
    Count,
    FoundFacets,
    Page,
    Position,
    QueryableStore,
    position_of,
    pushed_order,
)

MAX_SEEN = 6_000
"""Memories that are kept of those seen last, to show them while a store is not connected; all
`MAX_RANKED` hits of a list are among them, which acts on marks need."""
MAX_NUMBERED = 20_000
"""Refs that have a slot; marks are at most `MAX_MARKED` of them."""
MAX_MARKED = 10_000
RANKED_TYPING = 200
"""Candidates that are put in order while the last word is typed, until enter or a space ends it."""
COUNTED_TO = 1_000
"""Hits that are counted exactly."""
EVERYTHING = Query().with_status("all")
"""Finds all memories of every status."""
MAX_ALIKE = 10_000
"""Ids that are asked for, to tell the listed ones from them."""
_NOT_COUNTED = FoundFacets({}, Accuracy.ABOUT)

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

    def number(self, ref: str) -> int:
        """The slot for a ref."""
        with self._lock:
            return self._number(ref)

    def _add(self, memory: Memory) -> int:
        ref = memory.ref
        self._memories.pop(ref, None)
        self._memories[ref] = memory
        if len(self._memories) > MAX_SEEN:
            del self._memories[next(iter(self._memories))]
        return self._number(ref)

    def _number(self, ref: str) -> int:
        slot = self._slots.pop(ref, None)
        if slot is None:
            slot, self._next = self._next, self._next + 1
            self._refs[slot] = ref
        self._slots[ref] = slot  # last: those seen longest ago go first
        if len(self._slots) > MAX_NUMBERED:
            del self._refs[self._slots.pop(next(iter(self._slots)))]
        return slot

    def ref(self, slot: int) -> str:
        """The ref of the memory in a slot; "" if it was let go."""
        return self._refs.get(slot, "")

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


def _by_store(memories: Iterable[Memory]) -> dict[str, list[Memory]]:
    found: dict[str, list[Memory]] = {}
    for memory in memories:
        found.setdefault(memory.store, []).append(memory)
    return found


class QueriedStores:
    """The queried stores of a library; may be used from any thread."""

    def __init__(self, stores: Iterable[QueryableStore], now: Callable[[], datetime]) -> None:
        self.stores = {store.label: store for store in stores}
        self.seen = SeenMemories()
        self._now = now
        self._marks: dict[str, str] = {}
        self._changed: set[int] = set()
        self._returned: set[str] = set()
        """Stores that are connected again, whose lists are still those of before."""
        self.answered: dict[str, datetime] = {}
        """When each store last answered."""
        self.faults: dict[str, StoreError] = {}
        """Why a store does not answer."""

    def __bool__(self) -> bool:
        return bool(self.stores)

    def _ask(
        self,
        store: QueryableStore,
        question: Callable[[], Value],
        cancelled: IsCancelled = never,
    ) -> Value:
        """Ask a store, and note whether it is connected. Raises what it raises, Cancelled."""
        try:
            answer = question()
        except QueryStopped as error:
            if cancelled():
                raise Cancelled from error
            raise
        except StoreError as error:
            self.faults[store.label] = error
            raise
        if self.faults.pop(store.label, None) is not None:
            self._returned.add(store.label)
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
        found = self._ask(store, partial(store.get, refs))
        self.seen.add(found)
        return found

    def find_named(self, text: str) -> list[Memory]:
        """The memories that a text names: one with this ref or id, else those with this beginning
        of their ids."""
        label, colon, rest = text.partition(":")
        chosen = [self.stores[label]] if colon and label in self.stores else [*self.stores.values()]
        name = rest if colon and label in self.stores else text
        exact = [found for s in chosen for found in self._get(s, [f"{s.label}:{name}"])]
        if exact or len(name) < SHORTEST_TYPED:
            return exact
        return [
            memory
            for store in chosen
            for memory in self._get(store, self._begun(store, [name], MAX_NAMED + 1))
        ]

    def handles(self, memories: Iterable[Memory]) -> dict[str, str]:
        """The beginning of the id of each, by its ref, as far as no other memory's id begins so;
        the ref itself where its store cannot say."""
        handles: dict[str, str] = {}
        for label, group in _by_store(memories).items():
            store = self.stores[label]
            begun = self._begun(store, [each.id[:SHORTEST] for each in group], MAX_ALIKE)
            found = Handles({*begun, *(each.ref for each in group)})
            is_known = bool(begun) and len(begun) < MAX_ALIKE
            handles |= {r: found.beginning(r) if is_known else r for r in (m.ref for m in group)}
        return handles

    def _begun(self, store: QueryableStore, names: Sequence[str], most: int) -> list[str]:
        """The refs of a store whose ids begin with one of these names, at most so many."""
        ids = self._ask(store, partial(store.ids_beginning, names, most))
        return [f"{store.label}:{id}" for id in ids]

    def refresh(self) -> bool:
        """Ask what changed since the last time; return whether anything may have."""
        is_other = False
        for label, store in self.stores.items():
            mark = self._marks.get(label, "")
            try:
                found = self._ask(store, partial(store.changed_since, mark))
            except StoreError:
                continue
            self._marks[label] = found.mark
            self.seen.forget(label, found.refs if found.is_complete else None)
            slots = map(self.seen.number, found.refs)
            self._changed.update(slots)
            is_other |= bool(found.refs) or not found.is_complete or label in self._returned
            self._returned.discard(label)
        return is_other

    def connect(self) -> None:
        """Connect to the stores; `faults` then says which do not answer."""
        for store in self.stores.values():
            with suppress(StoreError):
                self._ask(store, partial(store.get, ()))

    def size(self, label: str) -> Count:
        """How many memories a store has, of every status. Raises StoreError."""
        store = self.stores[label]
        return self._ask(store, partial(size_of, store))

    def take_changed(self) -> frozenset[int]:
        """The slots of the memories that were found changed since the last call."""
        changed, self._changed = frozenset(self._changed), set()
        return changed

    def wait_for_change(self, label: str, timeout: float) -> bool:
        """Wait until others change a store, at most so many seconds; return whether they may have.

        Raises what `QueryableStore.wait_for_change` raises.
        """
        store = self.stores[label]
        return self._ask(store, partial(store.wait_for_change, timeout))

    # ---- searching ------------------------------------------------------------------------------

    def find(
        self,
        loaded: SearchResult,
        rank: Rank,
        cancelled: IsCancelled = never,
        near: tuple[Position, int] | None = None,
    ) -> SearchResult:
        """Search these stores too.

        Args:
            loaded: The hits of the query among the loaded memories.
            rank: Searches some memories.
            cancelled: Asked while the stores answer.
            near: A position and its line, where the list is looked at; None: its beginning.

        Raises:
            Cancelled: `cancelled` returned True.
        """
        query = loaded.query
        answers = tuple(
            self._answer(store, query, rank, cancelled)
            for store in self.stores.values()
            if _may_have(query, store.label)
        )
        if not answers:
            return loaded
        count = sum_counts([Count(loaded.total), *(each.answer.count for each in answers)])

        @cache
        def count_facets() -> Sequence[FoundFacets]:
            return [self._facets(query, each, cancelled) for each in answers]

        @cache
        def days() -> Mapping[int, int]:
            return self._count_days(query, loaded, answers, cancelled)

        fields = {name: getattr(loaded, name) for name in loaded.__struct_fields__}
        parts = [loaded, *(each.ranked for each in answers if each.ranked is not None)]
        words = tuple(dict.fromkeys(word for part in parts for word in part.words))
        fields |= {"total": count.value, "accuracy": count.accuracy, "words": words or query.words}
        fields |= {"count_facets": count_facets, "days": days}
        found = QueriedResult(**fields, loaded=loaded, answers=answers)
        if _is_pushed(query):
            return self._merged(found, near)
        return join_by_rank(found)

    def _answer(
        self, store: QueryableStore, query: Query, rank: Rank, cancelled: IsCancelled
    ) -> StoreAnswer:
        """Ask one store; where it cannot answer, search what was seen of it."""
        left_out = store.understands(query)
        is_ranked = bool(left_out) or not _is_pushed(query)
        is_typed = query.is_typed and any(term.is_open for term in query.wanted_terms)
        limit = (RANKED_TYPING if is_typed else MAX_RANKED) if is_ranked else 2 * PAGE
        try:
            answer = self._ask(store, partial(store.answer, query, limit, COUNTED_TO), cancelled)
        except StoreError as error:
            page = Page(tuple(self.seen.of(store.label)))
            answer = Answer(page, Count(0))
            fault: MemtuiError | None = error
        else:
            page, fault = answer.page, None
        if cancelled():
            raise Cancelled
        slots = self.seen.add(page.memories)
        if not is_ranked and fault is None:
            return StoreAnswer(store, answer)
        ranked = rank(query, page.memories)
        count = Count(len(ranked.slots))
        if not page.is_last:  # there are more than were looked at
            count = Count(count.value, Accuracy.AT_LEAST) if left_out else answer.count
            if count.value < len(page.memories):
                count = Count(len(page.memories), Accuracy.AT_LEAST)
        found = replace(answer, page=page, count=count)
        return StoreAnswer(
            store, found, ranked, [slots[at] for at in ranked.slots], fault, left_out
        )

    def _facets(self, query: Query, each: StoreAnswer, cancelled: IsCancelled) -> FoundFacets:
        """Count the values in one store; nothing of one that does not answer."""
        if each.fault is None or isinstance(each.fault, QueryStopped):
            with suppress(StoreError):
                return self._ask(each.store, partial(each.store.facets, query), cancelled)
        return _NOT_COUNTED

    def count(self, query: Query, loaded: Count, cancelled: IsCancelled = never) -> Count:
        """Count the hits, up to `COUNTED_TO` in each store; one that does not answer has none."""
        counts = [loaded]
        for store in self.stores.values():
            if _may_have(query, store.label):
                with suppress(StoreError):
                    ask = partial(store.count, query, COUNTED_TO)
                    counts.append(self._ask(store, ask, cancelled))
        return sum_counts(counts)

    # ---- in the order of the stores -------------------------------------------------------------

    def _merged(self, found: QueriedResult, near: tuple[Position, int] | None) -> SearchResult:
        """The pages of all stores, merged exactly."""
        query, order = found.query, found.query.order
        listed = _Listed(order)
        for slot, position in zip(found.loaded.slots, positions_of(found.loaded), strict=True):
            listed.lines.append(Line(slot, position, found.loaded.rows[slot]))
        asked: list[QueryableStore] = []
        for each in found.answers:
            if each.ranked is None:
                asked.append(each.store)
                continue
            for slot, at in zip(each.slots, each.ranked.slots, strict=True):
                memory = each.ranked.rows[at]
                listed.lines.append(Line(slot, position_of(memory, order), memory))
        listed.sort()

        def ask(after: Position | None, limit: int, backwards: bool) -> tuple[list[Line], bool]:
            pages = [
                self._ask(s, partial(s.find, query, after, limit, backwards=backwards))
                for s in asked
            ]
            return self._merge_pages(order, listed, pages, after, limit, backwards)

        def find_place(share: float) -> Position | None:
            return place_at(found, share)

        if near is not None:
            window = ResultWindow(Run(length=found.total), ask, find_place)
            window.take(window.around(*near))
        else:
            pages = [each.answer.page for each in found.answers if each.ranked is None]
            lines, is_last = self._merge_pages(order, listed, pages, None, 2 * PAGE, False)
            length = len(lines) if is_last else max(found.total, len(lines) + 1)
            window = ResultWindow(Run(tuple(lines), 0, length), ask, find_place)
        rows = ResultRows(found.loaded.rows, window.memory)
        return replace(found, slots=window, rows=rows, scores=None)

    def _merge_pages(
        self,
        order: Sort,
        listed: _Listed,
        pages: Sequence[Page],
        after: Position | None,
        limit: int,
        backwards: bool,
    ) -> tuple[list[Line], bool]:
        mine, is_last = listed.page(after, limit, backwards)
        batches = [mine]
        for page in pages:
            slots = self.seen.add(page.memories)
            batches.append(list(map(Line, slots, page.positions, page.memories)))
        lines = list(merge(*batches, key=_position_of, reverse=order is Sort.OLD))
        is_last = is_last and all(page.is_last for page in pages)
        if len(lines) <= limit:
            return lines, is_last
        if backwards:
            cut = len(lines) - limit
            while cut and lines[cut - 1].position == lines[cut].position:
                cut -= 1
            return lines[cut:], is_last and not cut
        cut = limit
        while cut < len(lines) and lines[cut].position == lines[cut - 1].position:
            cut += 1
        return lines[:cut], is_last and cut == len(lines)

    def _count_days(
        self,
        query: Query,
        loaded: SearchResult,
        answers: Sequence[StoreAnswer],
        cancelled: IsCancelled,
    ) -> Mapping[int, int]:
        """Count the hits by day; those of a store that does not answer are left out."""
        counts = Counter(count_days(loaded.columns, loaded.slots)[0])
        for each in answers:
            if each.fault is not None and each.ranked is not None:
                counts.update(count_days(each.ranked.columns, each.ranked.slots)[0])
                continue
            with suppress(StoreError):
                ask = partial(each.store.buckets, query, "day")
                found = self._ask(each.store, ask, cancelled)
                counts.update({(day - EPOCH).days: count for day, count in found.items()})
        return counts


class _Listed:
    """Lines that are all here, in the order of positions."""

    def __init__(self, order: Sort) -> None:
        self.lines: list[Line] = []
        self._positions: list[Position] = []
        self._is_ascending = order is not Sort.OLD

    def sort(self) -> None:
        self.lines.sort(key=_position_of)
        self._positions = [line.position for line in self.lines]

    def page(self, after: Position | None, limit: int, backwards: bool) -> tuple[list[Line], bool]:
        """As `QueryableStore.find`."""
        count = len(self.lines)
        if self._is_ascending != backwards:
            first = 0 if after is None else bisect_right(self._positions, after)
            end = min(count, first + limit)
            is_last = end == count
        else:
            end = count if after is None else bisect_left(self._positions, after)
            first = max(0, end - limit)
            is_last = first == 0
        lines = self.lines[first:end]
        return lines if self._is_ascending else lines[::-1], is_last


_position_of = attrgetter("position")


def size_of(store: QueryableStore) -> Count:
    """How many memories a store has, of every status. Raises as `QueryableStore.facets`."""
    found = store.facets(EVERYTHING)
    return Count(sum(found.counts.get("kind", {}).values()), found.accuracy)


def _is_pushed(query: Query) -> bool:
    """Whether the stores can give the order of a query."""
    return not query.then and pushed_order(query) is query.order


def _may_have(query: Query, label: str) -> bool:
    """Whether the filters by store let memories of this one pass."""
    name = label.casefold()
    of_store = (part for part in query.conditions if part.field == "store")
    return all((name in part.values) != part.negated for part in of_store)
