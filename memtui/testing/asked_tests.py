"""Tests of a store that is asked: it answers as memtui does over the same memories."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from memtui.model import Memory
from memtui.query import Query, parse_query
from memtui.stores.queryable import Accuracy, Page, QueryableStore
from memtui.testing.asked import AskedMemories
from memtui.testing.asked_queries import random_line

NOW = datetime(2026, 11, 1, tzinfo=UTC)


class Both(NamedTuple):
    """The same memories twice, at least some thousands of several years."""

    memories: Sequence[Memory]
    asked: AskedMemories
    stored: QueryableStore


def ids(page: Page) -> list[str]:
    return [memory.id for memory in page.memories]


def every_page(store: QueryableStore, query: Query, limit: int, backwards: bool) -> list[str]:
    found: list[str] = []
    after = None
    while True:
        page = store.find(query, after, limit, backwards=backwards)
        found = [*ids(page), *found] if backwards else [*found, *ids(page)]
        if page.is_last:
            return found
        after = page.positions[0 if backwards else -1]


class AskedTests:
    """Needs a fixture `both`, a value of `Both`."""

    examples = 120
    """Random queries."""

    def test_random_queries_find_the_same_in_the_same_order(self, both: Both) -> None:
        chance = random.Random(7)
        compared = 0
        for _ in range(self.examples):
            line = random_line(chance, both.memories)
            query = parse_query(line, NOW, typing=chance.random() < 0.5)
            if both.stored.understands(query):
                continue
            wanted = both.asked.find(query, None, 300)
            assert ids(both.stored.find(query, None, 300)) == ids(wanted), line
            expected = both.asked.count(query, 500)
            assert both.stored.count(query, 500) == expected, line
            compared += 0 < expected.value < 500
        assert compared > self.examples // 4

    def test_pages_from_either_side_make_the_whole_list(self, both: Both) -> None:
        for line in ("file sort:new", "type:person sort:old", "importance:>=medium tag:ops"):
            for order in ("", " sort:old", " sort:importance"):
                query = parse_query(line.partition(" sort")[0] + order, NOW)
                wanted = ids(both.asked.find(query, None, 10_000))
                assert every_page(both.stored, query, 97, backwards=False) == wanted
                assert every_page(both.stored, query, 97, backwards=True) == wanted
        assert wanted

    def test_facets_and_days_are_counted_as_in_memory(self, both: Both) -> None:
        for line in ("", "file", "type:decision status:all", "memory importance:high entity:ban"):
            query = parse_query(line, NOW)
            found, wanted = both.stored.facets(query), both.asked.facets(query)
            assert found.accuracy is Accuracy.EXACT
            for name in ("type", "importance", "status", "kind", "store"):
                assert dict(found.counts[name]) == dict(wanted.counts[name]), (line, name)
            most = dict(list(wanted.counts["entity"].items())[:5])
            assert {name: found.counts["entity"][name] for name in most} == most
            assert both.stored.buckets(query, "month") == both.asked.buckets(query, "month")
            assert both.stored.buckets(query, "day") == both.asked.buckets(query, "day")

    def test_one_round_trip_answers_a_keystroke(self, both: Both) -> None:
        query = parse_query("mem sort:new", NOW, typing=True)
        answer = both.stored.answer(query, 50, 100)
        assert answer.page == both.stored.find(query, None, 50)
        ranked = parse_query("memory session", NOW, typing=True)
        assert both.stored.answer(ranked, 50, 100).page.memories == both.stored.candidates(
            ranked, 50
        )
        assert answer.count == both.asked.count(query, 100)

    def test_a_jump_by_time_begins_there(self, both: Both) -> None:
        time = NOW - timedelta(days=300)
        for line in ("status:all", "status:all sort:old"):
            query = parse_query(line, NOW)
            position = both.stored.position_at(query, time)
            page = both.stored.find(query, position, 5)
            assert ids(page) == ids(both.asked.find(query, position, 5))
            assert abs((page.memories[0].when or NOW) - time) < timedelta(days=1)
