"""A team's store answers as memtui answers over the same memories in memory."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from memtui.query import parse_query
from memtui.stores.queryable import Accuracy
from memtui.team.store import TeamStore
from memtui.testing import AskedConformance
from memtui.testing.asked import AskedMemories
from memtui.testing.asked_tests import Both
from tests.long_run import count
from tests.postgres import EMPTY, Server
from tests.team_fixtures import Team, add
from tests.team_memories import copy_memories, generate

NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture(scope="session")
def both(server: Server) -> Iterator[Both]:
    server.execute("postgres", f"create database answers template {EMPTY}")
    memories = list(generate(5_000))
    with server.connect("answers") as connection:
        copy_memories(connection, memories)
        connection.execute("analyze memtui.memories")
    store = TeamStore(Path(f"postgres:{server.add_service('answers', 'answers', 'anna')}"), "team")
    yield Both(memories, AskedMemories(memories, "team"), store)
    store.close()


@pytest.mark.slow
class TestTeamConformance(AskedConformance):
    """Of a team's store."""

    examples = count(40, 4_000)


@pytest.mark.slow
def test_many_hits_are_sampled_and_said_to_be(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memtui.team.store.MAX_COUNTED", 100)
    monkeypatch.setattr("memtui.team.store.SURELY_FEW", 10)
    monkeypatch.setattr("memtui.team.store.SAMPLED", 2_000)
    query = parse_query("", NOW)
    found, wanted = both.stored.facets(query), both.asked.facets(query)
    assert found.accuracy is Accuracy.ABOUT
    whole = sum(wanted.counts["type"].values())
    for line, accuracy in (
        ("zzq", Accuracy.EXACT),
        ("OPS", Accuracy.ABOUT),
        ("id:0000001", Accuracy.EXACT),
    ):
        asked = parse_query(line, NOW)
        few = both.stored.facets(asked)
        assert few.accuracy is accuracy
        if accuracy is Accuracy.EXACT:
            assert few.counts["type"] == dict(both.asked.facets(asked).counts["type"])
    assert sum(found.counts["type"].values()) == pytest.approx(whole, rel=0.3)


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


def test_an_owner_names_the_people_of_her_own_team_only(team: Team) -> None:
    team.execute(
        "drop role if exists olga",
        "create role olga login in role memtui_owner",
        "insert into memtui.members values ('core', 'olga')",
    )
    with team.server.connect(team.database, "olga") as connection:
        connection.execute("insert into memtui.members values ('core', 'otto')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("insert into memtui.members values ('other', 'olga')")
    add(team.open("anna"), "for the core team")
    assert team.open("otto").count(parse_query("", NOW), 9).value == 1


def test_searches_under_row_security_use_the_index(both: Both) -> None:
    with both.stored.connection.transaction() as connection:
        connection.execute("set local enable_seqscan = off")
        connection.execute("set local enable_indexscan = off")
        plan = connection.execute(
            "explain select from memtui.memories where words @@ 'memory'::tsquery"
        ).fetchall()
    assert "memories_words" in str(plan)
