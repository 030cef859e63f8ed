"""What a search found in queried stores, joined with what is loaded."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cached_property
from itertools import accumulate, zip_longest
from math import inf, isnan

from msgspec import Struct
from msgspec.structs import replace

from memtui.errors import MemtuiError, QueryStopped
from memtui.insight.statistics import Statistics, order_counts
from memtui.library.finding import SearchResult
from memtui.library.result_window import ResultWindow
from memtui.model import IMPORTANCES, Memory
from memtui.query import Sort, filter_values
from memtui.search.aggregates import COUNTED, Facets
from memtui.search.columns import to_array
from memtui.search.ranking import DEFAULTS, ScorePart, Weights
from memtui.stores.queryable import (
    Accuracy,
    Answer,
    Count,
    FoundFacets,
    Position,
    QueryableStore,
)
from memtui.text import number

FIRST_SLOT = 1 << 40
"""Slots from here on are of queried stores: they name a ref for as long as the library is open."""
EPOCH = date(1970, 1, 1)


class ResultRows(Sequence[Memory]):
    """The memory of each slot: the loaded ones, and those of queried stores that are here."""

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
    """What was found among the candidates that it gave; None if it answered the whole query."""
    slots: Sequence[int] = ()
    """The slots of what was found among the candidates."""
    fault: MemtuiError | None = None
    """Why it did not answer; the candidates are then those that were seen last."""
    left_out: tuple[str, ...] = ()
    """The parts of the query that it cannot answer."""


class QueriedResult(SearchResult, frozen=True, eq=False, dict=True, kw_only=True):
    """The hits of a query in loaded and in queried stores."""

    loaded: SearchResult
    """The hits among the loaded memories."""
    answers: tuple[StoreAnswer, ...] = ()
    origins: Sequence[tuple[SearchResult, int]] = ()
    """Of each hit, where the order is made here, its result and position there."""
    count_facets: Callable[[], Sequence[FoundFacets]] = tuple
    """Asks each store for its facets, once; call it in a background job."""
    days: Callable[[], Mapping[int, int]] = dict
    """Counts the hits by day since 1970, asking the stores once; call it in a background job."""

    def is_approximate(self, slot: int) -> bool:
        return slot < FIRST_SLOT and self.loaded.is_approximate(slot)

    @property
    def window(self) -> ResultWindow | None:
        """The list, where it is asked for by pages."""
        return self.slots if isinstance(self.slots, ResultWindow) else None

    @property
    def faults(self) -> Mapping[str, MemtuiError]:
        """Label of each store that did not answer -> why."""
        return {each.store.label: each.fault for each in self.answers if each.fault is not None}

    @property
    def types(self) -> Collection[str]:
        here = self.slots if self.window is None else (line.slot for line in self.window.run.lines)
        return {self.rows[slot].shown_type for slot in here}

    @property
    def are_facets_here(self) -> bool:
        return "facets" in vars(self)

    @cached_property
    def facets(self) -> Facets:
        """The sum of the facets of all stores, which are asked for them; for a background job."""
        mine = self.loaded.facets
        counts = {name: Counter(getattr(mine, name)) for name in COUNTED}
        tree = Counter(mine.tree)
        for each, found in zip(self.answers, self.count_facets(), strict=True):
            for name in COUNTED:
                counts[name].update(found.counts.get(name, {}))
            entities = found.counts.get("entity", {})
            tree.update({(each.store.label, name): count for name, count in entities.items()})
        return Facets(
            **{name: dict(found.most_common()) for name, found in counts.items()},
            entity_repeats=mine.entity_repeats,
            tree=tree,
            tree_repeats=mine.tree_repeats,
        )

    @property
    def are_facets_exact(self) -> bool:
        return all(each.accuracy is Accuracy.EXACT for each in self.count_facets())

    @property
    def count(self) -> Count:
        counts = (self._count_in(number) for number in range(len(self.answers)))
        return sum_counts([Count(self.loaded.total), *counts])

    def _count_in(self, number: int) -> Count:
        """The hits in one store: as many as its facets have counted, once these are here."""
        answer = self.answers[number]
        if not self.are_facets_here or answer.left_out or answer.fault is not None:
            return answer.answer.count
        facets = self.count_facets()[number]
        filtered = {part.field for part in self.query.conditions}  # whose facets lift the filter
        name = next((name for name in ("kind", "importance") if name not in filtered), "")
        counted = Count(sum(facets.counts.get(name, {}).values()), facets.accuracy)
        return counted if counted.value >= answer.answer.count.value else answer.answer.count

    @cached_property
    def hint(self) -> str:
        """For the person: what is wrong with the query, and which parts a store cannot answer."""
        parts = [
            f"{what} is looked for in the newest {number(len(each.answer.page.memories))}"
            f" of {each.store.label} only"
            for each in self.answers
            if each.ranked is not None and not each.answer.page.is_last
            for what in each.left_out
        ]
        stopped = [
            f"{each.store.label}: {each.fault.what}"
            for each in self.answers
            if isinstance(each.fault, QueryStopped)
        ]
        mine = self.loaded.hint if self.loaded.rows or not self.answers else self.query.hint
        return "; ".join(filter(None, (mine, *stopped, *parts)))

    @property
    def among(self) -> str:
        """The newest memories of which alone the order was made: `the newest 5,000 of 212,000+`."""
        parts = [
            f"the newest {number(len(each.answer.page.memories))} of {number(*self._count_in(at))}"
            for at, each in enumerate(self.answers)
            if each.ranked is not None and each.fault is None and not each.answer.page.is_last
        ]
        return " and ".join(parts)

    @property
    def limits(self) -> tuple[str, ...]:
        joined = "the stores are joined by rank" if self.is_joined_by_rank else ""
        among = f"ordered are {self.among}" if self.among else ""
        away = (f"{label} does not answer: {fault.what}" for label, fault in self.faults.items())
        return tuple(filter(None, (among, joined, *away, *self.loaded.limits)))

    @property
    def is_joined_by_rank(self) -> bool:
        """Whether scores of several collections stand in one list."""
        return bool(self.origins) and len({id(found) for found, _ in self.origins}) > 1

    def summarize(self, loaded: Statistics) -> Statistics:
        """The statistics of all hits: those of the loaded ones, with the numbers that the stores
        gave; what they do not count, such as pins, is of the loaded ones alone."""
        days, facets = self.days(), self.facets
        ends = [datetime.fromordinal(EPOCH.toordinal() + day).astimezone() for day in days]
        total, accuracy = self.count
        return replace(
            loaded,
            **order_counts({name: getattr(facets, name) for name in COUNTED}),
            total=total,
            accuracy=accuracy,
            oldest=min(ends, default=None),
            newest=max(ends, default=None),
        )

    def explain(self, position: int, weights: Weights = DEFAULTS) -> tuple[ScorePart, ...]:
        if not self.origins:
            return ()
        found, at = self.origins[position]
        return found.explain(at, weights)


def sum_counts(counts: Sequence[Count]) -> Count:
    accuracies = {count.accuracy for count in counts}
    least = (Accuracy.ABOUT, Accuracy.AT_LEAST, Accuracy.EXACT)
    accuracy = next(each for each in least if each in accuracies)
    return Count(sum(count.value for count in counts), accuracy)


def positions_of(loaded: SearchResult) -> list[Position]:
    """Where the hits among the loaded memories stand in the order of their query."""
    columns, at = loaded.columns, to_array(loaded.slots)
    when = columns.ordering_times.take(at).tolist()
    keys: list[tuple[float, ...]] = [(inf if isnan(each) else -each,) for each in when]
    if loaded.query.order is Sort.IMPORTANCE:
        ranks = columns.importance.take(at).tolist()
        keys = [(float(rank), *key) for rank, key in zip(ranks, keys, strict=True)]
    ids = (loaded.rows[slot].id for slot in loaded.slots)
    return list(map(Position, keys, ids))


def place_at(found: QueriedResult, share: float) -> Position | None:
    """A position near this share of the list, by the days of its memories."""
    query, days = found.query, found.days()
    if not days:
        return None
    rank: tuple[float, ...] = ()
    if query.order is Sort.IMPORTANCE:
        chosen = filter_values(query, "importance") or IMPORTANCES
        counts = [found.facets.importance.get(name, 0) * (name in chosen) for name in IMPORTANCES]
        which, share = _part_at(counts, share)
        rank = (float(which),)
    newest = sorted(days, reverse=query.order is not Sort.OLD)
    which, part = _part_at([days[day] for day in newest], share)
    start = datetime.combine(EPOCH + timedelta(newest[which]), datetime.min.time()).astimezone()
    part = part if query.order is Sort.OLD else 1 - part
    return Position((*rank, -(start + timedelta(part)).timestamp()))


def _part_at(counts: Sequence[int], share: float) -> tuple[int, float]:
    """The part in which this share of the sum lies, and the share of that part."""
    ends = list(accumulate(counts))
    at = share * ends[-1]
    which = min(bisect_right(ends, at), len(counts) - 1)
    start = ends[which] - counts[which]
    return which, min(1.0, (at - start) / (counts[which] or 1))


def join_by_rank(found: QueriedResult) -> SearchResult:
    """The hits of all stores, each in an order of its own, joined by rank."""
    loaded, rows = found.loaded, dict[int, Memory]()
    parts: list[list[tuple[int, SearchResult, int]]] = [
        [(slot, loaded, at) for at, slot in enumerate(loaded.slots)]
    ]
    for each in found.answers:
        if (ranked := each.ranked) is not None:
            rows |= {s: ranked.rows[at] for s, at in zip(each.slots, ranked.slots, strict=True)}
            parts.append([(slot, ranked, at) for at, slot in enumerate(each.slots)])
    hits = [hit for rank in zip_longest(*parts) for hit in rank if hit is not None]
    scores = [part.scores[at] if part.scores is not None else 0.0 for _, part, at in hits]
    return replace(
        found,
        slots=[slot for slot, _, _ in hits],
        scores=scores if found.query.order is Sort.RELEVANCE else None,
        rows=ResultRows(loaded.rows, rows.__getitem__),
        origins=[(part, at) for _, part, at in hits],
    )
