"""A team's store answers as memtui answers over the same memories in memory."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from memtui.model import Memory
from memtui.query import Query, parse_query
from memtui.stores.queryable import Accuracy, Page, QueryableStore
from memtui.team.store import TeamStore
from memtui.testing.asked import AskedMemories
from tests.long_run import count
from tests.postgres import EMPTY, Server
from tests.team_fixtures import Team, add
from tests.team_memories import copy_memories, generate
from tests.team_queries import random_line

NOW = datetime(2026, 11, 1, tzinfo=UTC)


class Both(NamedTuple):
    """The same memories twice."""

    memories: list[Memory]
    asked: AskedMemories
    stored: TeamStore


@pytest.fixture(scope="session")
def both(server: Server) -> Iterator[Both]:
    server.execute("postgres", f"create database answers template {EMPTY}")
    memories = list(generate(10_000))
    with server.connect("answers") as connection:
        copy_memories(connection, memories)
        connection.execute("analyze memtui.memories")
    store = TeamStore(Path(f"postgres:{server.add_service('answers', 'answers', 'anna')}"), "team")
    yield Both(memories, AskedMemories(memories, "team"), store)
    store.close()


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


@pytest.mark.slow
def test_random_queries_find_the_same_in_the_same_order(both: Both) -> None:
    chance = random.Random(7)
    compared = 0
    for _ in range(count(120, 4_000)):
        line = random_line(chance, both.memories)
        query = parse_query(line, NOW, typing=chance.random() < 0.5)
        if both.stored.understands(query):
            continue
        wanted = both.asked.find(query, None, 300)
        assert ids(both.stored.find(query, None, 300)) == ids(wanted), line
        expected = both.asked.count(query, 500)
        assert both.stored.count(query, 500) == expected, line
        compared += 0 < expected.value < 500
    assert compared > 30


@pytest.mark.slow
def test_pages_from_either_side_make_the_whole_list(both: Both) -> None:
    for line in ("file sort:new", "type:person sort:old", "importance:>=medium tag:ops"):
        for order in ("", " sort:old", " sort:importance"):
            query = parse_query(line.partition(" sort")[0] + order, NOW)
            wanted = ids(both.asked.find(query, None, 10_000))
            assert every_page(both.stored, query, 97, backwards=False) == wanted
            assert every_page(both.stored, query, 97, backwards=True) == wanted
    assert wanted


def test_facets_and_days_are_counted_as_in_memory(both: Both) -> None:
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


def test_one_round_trip_answers_a_keystroke(both: Both) -> None:
    query = parse_query("mem sort:new", NOW, typing=True)
    answer = both.stored.answer(query, 50, 100)
    assert answer.page == both.stored.find(query, None, 50)
    ranked = parse_query("memory session", NOW, typing=True)
    assert both.stored.answer(ranked, 50, 100).page.memories == both.stored.candidates(ranked, 50)
    assert answer.count == both.asked.count(query, 100)
    assert answer.facets == both.stored.facets(query)


def test_many_hits_are_sampled_and_said_to_be(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memtui.team.store.MAX_COUNTED", 100)
    monkeypatch.setattr("memtui.team.store.SAMPLED", 2_000)
    query = parse_query("", NOW)
    found, wanted = both.stored.facets(query), both.asked.facets(query)
    assert found.accuracy is Accuracy.ABOUT
    whole = sum(wanted.counts["type"].values())
    assert sum(found.counts["type"].values()) == pytest.approx(whole, rel=0.3)


def test_a_jump_by_time_begins_there(both: Both) -> None:
    time = NOW - timedelta(days=300)
    for line in ("status:all", "status:all sort:old"):
        query = parse_query(line, NOW)
        position = both.stored.position_at(query, time)
        page = both.stored.find(query, position, 5)
        assert ids(page) == ids(both.asked.find(query, position, 5))
        assert abs((page.memories[0].when or NOW) - time) < timedelta(days=1)


def test_what_is_ranked_has_all_words_first(both: Both) -> None:
    query = parse_query("memory session", NOW)
    found = both.stored.candidates(query, 200)
    holds = ["memor" in m.content.lower() and "session" in m.content.lower() for m in found]
    assert sum(holds[:50]) > 0
    assert len(found) == 200


def test_what_is_not_understood_is_named(team: Team) -> None:
    store = team.open()
    known = {
        "plain words type:decision": (),
        "misspeled~": ("misspeled~ (spelling; looked for as it is)",),
        "~meaning": ("~meaning (meaning; looked for as words)",),
        "*middle*": ("*middle* (a pattern needs letters before * and ?)",),
        "has:secret": ("has:secret",),
        r"/(?<=a)b/": (r"regex:(?<=a)b",),
        "word sort:salience": ("sort:salience",),
    }
    for line, named in known.items():
        assert store.understands(parse_query(line, NOW)) == named


def test_rows_of_other_programs_are_found(team: Team) -> None:
    store = team.open()
    store.find(parse_query("", NOW), None, 1)
    with team.server.connect(team.database, "bert") as connection:
        connection.execute(
            "insert into memtui.memories (content, type, entity, tags)"
            " values ('We deployed src/billing_run.py', 'Decision', 'Shop/Api', '{Ops}')"
        )
    for line in ("deploys", "billing", "type:decision", "entity:shop", "entity:api", "tag:ops"):
        assert len(store.find(parse_query(line, NOW), None, 9).memories) == 1, line
    with team.server.connect(team.database, "bert") as connection:
        connection.execute("update memtui.memories set content = 'Nothing happened'")
    assert not store.find(parse_query("deploys", NOW), None, 9).memories
    assert store.find(parse_query("happen", NOW), None, 9).memories


def test_another_team_sees_nothing(team: Team) -> None:
    anna, otto = team.open("anna"), team.open("otto")
    ref = add(anna, "only for the core team")
    every = parse_query("status:all", NOW)
    assert anna.count(every, 10).value == 1
    assert otto.count(every, 10).value == 0
    assert otto.get([ref]) == ()
    add(otto, "of the other team")
    assert otto.count(every, 10).value == 1
    assert anna.count(every, 10).value == 1


def test_searches_under_row_security_use_the_index(both: Both) -> None:
    with both.stored.connection.transaction() as connection:
        connection.execute("set local enable_seqscan = off")
        connection.execute("set local enable_indexscan = off")
        plan = connection.execute(
            "explain select from memtui.memories where words @@ 'memory'::tsquery"
        ).fetchall()
    assert "memories_words" in str(plan)
