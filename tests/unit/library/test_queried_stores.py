"""A store that is asked, beside stores that are read: the list is that of all memories."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from memtui.library import Library, SearchResult
from memtui.library.queried_result import FIRST_SLOT, QueriedResult
from memtui.library.result_window import KEPT, NOT_HERE, PAGE, ResultWindow
from memtui.model import IMPORTANCES, Memory, Place
from memtui.query import Query, Sort, parse_query
from memtui.stores.base import Reading, Scan, Shard, Store
from memtui.stores.queryable import MAX_RANKED, Accuracy, Count, FoundFacets
from memtui.testing.asked import AskedMemories

NOW = datetime(2026, 11, 28, tzinfo=UTC)
WORDS = [
    "tea",
    "coffee",
    "redis",
    "postgres",
    "index",
    "queue",
    "cache",
    "garden",
    "porto",
    "lisbon",
    "deploy",
    "rollback",
]


class ListedStore(Store):
    """A store that is read whole."""

    format = "listed"

    def __init__(self, memories: Sequence[Memory], label: str) -> None:
        self.label, self.root = label, Path(f"/{label}")
        self._memories = tuple(memories)

    def scan(self) -> Scan:
        return Scan((Shard("all", (), "1"),))

    def read(self, shard: Shard) -> Reading:
        return Reading(self._memories)


def make(count: int, label: str, seed: int = 7) -> list[Memory]:
    """Memories of two years; some share their time, as rows of one import do."""
    chance = random.Random(f"{label}{seed}")
    return [
        Memory(
            ref=f"{label}:{number:07}",
            id=f"{number:07}",
            store=label,
            kind="fact",
            type=chance.choice(["decision", "person", "task"]),
            content=" ".join(chance.choices(WORDS, k=6)) + f" n{number}",
            entity=chance.choice(["people/alice", "people/bob", "shop-api"]),
            importance=chance.choice(IMPORTANCES),
            status=chance.choice(["active", "active", "active", "superseded"]),
            created=NOW - timedelta(minutes=chance.randrange(700 * 24 * 60) // 7 * 7),
            origin=Place(f"/{label}/{number}"),
        )
        for number in range(count)
    ]


class SampledMemories(AskedMemories):
    """Estimates the values that filters would find."""

    def facets(self, query: Query) -> FoundFacets:
        return FoundFacets(super().facets(query).counts, Accuracy.ABOUT)


def open_library(*stores: Store) -> Library:
    library = Library(stores, now=lambda: NOW)
    library.load()
    library.index()
    return library


def refs(found: SearchResult, slots: Sequence[int]) -> list[str]:
    return [found.rows[slot].ref for slot in slots]


def window_of(found: SearchResult) -> ResultWindow:
    assert isinstance(found, QueriedResult)
    assert found.window is not None
    return found.window


QUERIES = ["", "type:decision", "importance:high entity:people/alice", "status:all", "-tea cache"]


@pytest.mark.slow
@pytest.mark.parametrize("sort", [Sort.NEW, Sort.OLD, Sort.IMPORTANCE])
def test_pages_of_several_stores_are_the_list_of_all(sort: Sort) -> None:
    asked, listed, other = make(700, "team"), make(300, "here"), make(200, "second")
    library = open_library(
        AskedMemories(asked, "team"), ListedStore(listed, "here"), AskedMemories(other, "second")
    )
    whole = open_library(*(ListedStore(m, m[0].store) for m in (asked, listed, other)))
    for line in QUERIES:
        query = replace(parse_query(line, NOW), sort=sort)
        truth = whole.find(query)
        found = library.find(query)
        shown = refs(found, list(found.slots))
        assert len(shown) == truth.total
        assert sorted(shown) == sorted(refs(truth, truth.slots))
        keys = [_key(found.rows[slot], sort) for slot in found.slots]
        assert keys == [_key(truth.rows[slot], sort) for slot in truth.slots]
        assert found.facets.type == truth.facets.type
        assert found.facets.tree == truth.facets.tree


def _key(memory: Memory, sort: Sort) -> tuple[object, ...]:
    rank = memory.importance if sort is Sort.IMPORTANCE else ""
    return rank, memory.when


@pytest.mark.slow
@pytest.mark.parametrize("sort", [Sort.NEW, Sort.OLD, Sort.IMPORTANCE])
def test_a_random_walk_shows_the_lines_of_the_list_read_whole(sort: Sort) -> None:
    memories = [m for m in make(9_000, "team") if m.status == "active"]
    query = Query(sort=sort)
    library = open_library(AskedMemories(memories, "team"))
    whole = library.queried.stores["team"].find(query, None, 99_999).memories
    truth = [memory.ref for memory in whole]
    found = library.find(query)
    window = window_of(found)
    window.missing = lambda _: None
    window.stretch(len(truth))
    chance, at = random.Random(3), 0
    jumps = [1, -1, 20, -20, 40, 40, 40, 400, -400, 3_000, -2_500, 10**6, -(10**6)]
    for _ in range(60):
        at = max(0, min(at + chance.choice(jumps), len(window) - 1))
        assert window[at] == NOT_HERE or at in window.here
        at += window.take(window.load(at))
        at = min(at, len(window) - 1)
        here = refs(found, [line.slot for line in window.run.lines])
        place = truth.index(here[0])
        assert here == truth[place : place + len(here)], "a run has no gap"
        assert at in window.here
        assert len(here) <= KEPT
        if window.run.is_numbered:
            assert window.here.start == place
        else:
            assert abs(window.here.start - place) < 0.05 * len(truth)
    at = 0
    window.take(window.load(at))
    assert window.run.is_numbered
    assert window.here.start == 0


@pytest.mark.slow
def test_what_is_held_does_not_grow_with_the_store() -> None:
    store = SampledMemories(make(6_000, "team"), "team")
    library = open_library(store)
    found = library.find(Query())
    assert (found.total, found.accuracy) == (1_000, "at least")
    window = window_of(found)
    for at in range(0, 4_000, PAGE):
        window.take(window.load(at))
    assert len(window.run.lines) <= KEPT
    assert store.asked < 5_000, "nothing is asked for twice"


def test_relevance_ranks_the_newest_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memtui.library.queried_stores.MAX_RANKED", 500)
    library = open_library(AskedMemories(make(2_000, "team"), "team"))
    found = library.find(parse_query("tea", NOW))
    assert found.among == "the newest 500 of 500+", "what is counted comes later"
    assert found.facets.type
    assert found.among == "the newest 500 of 606"
    assert found.count == Count(606)
    assert found.scores is not None
    assert list(found.scores) == sorted(found.scores, reverse=True)
    assert sum(part.value for part in library.explain(found, 0)) == pytest.approx(found.scores[0])
    few = library.find(parse_query("n77 status:all", NOW))
    assert few.among == ""
    assert few.accuracy == "exact"
    assert "n77" in few.rows[few.slots[0]].content


@pytest.mark.slow
def test_every_ranked_hit_can_be_marked_and_acted_on() -> None:
    library = open_library(AskedMemories(make(12_000, "team"), "team"))
    for words in ("tea coffee", "redis tea"):
        found = library.find(parse_query(words, NOW))
        assert len(found.slots) == MAX_RANKED
    shown = refs(found, list(found.slots))
    assert all(library.seen(ref) for ref in shown), "without asking the store again"
    assert [memory.ref for memory in library.queried.read(found.slots)] == shown


def test_hits_of_loaded_and_asked_stores_are_joined_by_rank() -> None:
    here = open_library(ListedStore(make(100, "here"), "here"))
    library = open_library(
        AskedMemories(make(100, "team"), "team"), ListedStore(make(100, "here"), "here")
    )
    query = parse_query("tea garden", NOW)
    found, alone = library.find(query), here.find(query)
    assert isinstance(found, QueriedResult)
    assert found.is_joined_by_rank
    mine = [slot for slot in found.slots if slot < FIRST_SLOT]
    assert refs(found, mine) == refs(alone, alone.slots)
    assert found.slots[1] >= FIRST_SLOT
    assert library.explain(found, 1)


def test_a_change_by_another_is_seen_at_the_next_look() -> None:
    store = AskedMemories(make(100, "team"), "team")
    library = open_library(store)
    library.refresh()
    found = library.find(Query())
    first = found.rows[found.slots[0]]
    assert library.get(first.ref) is library.seen(first.ref)
    store.change([first.ref], [replace(first, content="changed by another")])
    assert library.refresh()
    assert library.seen(first.ref) is None
    assert library.get(first.ref).content == "changed by another"
    assert not library.refresh()
