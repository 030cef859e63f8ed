"""The `store` table of LangGraph, as its migrations make it (langgraph-checkpoint-postgres 3.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui.changes import Act, Change, invert_edits
from memtui.errors import Conflict, Refused, StoreError
from memtui.query import parse_query
from memtui.stores import registry
from memtui.team.langgraph import LangGraphStore
from tests.postgres import Server
from tests.team_fixtures import View, apply, do

NOW = datetime.now(UTC)
TABLES = """
create table store (prefix text not null, key text not null, value jsonb not null,
    created_at timestamptz default now(), updated_at timestamptz default now(),
    expires_at timestamptz, ttl_minutes int, primary key (prefix, key));
create table store_vectors (prefix text not null, key text not null, field_name text not null,
    embedding float8[], primary key (prefix, key, field_name),
    foreign key (prefix, key) references store on delete cascade)
"""
VALUES = {
    ("users.anna", "tea"): {"text": "Anna likes tea", "n": 1},
    ("users.anna.prefs", "days"): {"kind": "Memory", "content": {"content": "Deploys on Fridays"}},
    ("shop", "other"): {"n": [1, 2.5]},
    ("shop", "precise"): {"text": "pi", "n": "PI"},
}


@pytest.fixture
def store(server: Server) -> Iterator[LangGraphStore]:
    server.execute("postgres", "create database graph")
    server.execute("graph", *TABLES.split(";"))
    with server.connect("graph") as connection:
        for (prefix, key), value in VALUES.items():
            text = json.dumps(value).replace('"PI"', "3.14159265358979323846264338327950288")
            given = (prefix, key, text)
            connection.execute("insert into store (prefix, key, value) values (%s, %s, %s)", given)
    known = registry.format_of("langgraph")
    assert known is not None
    opened = known.open(Path(f"langgraph:{server.add_service('graph', 'graph', 'postgres')}"), "g")
    assert isinstance(opened, LangGraphStore)
    yield opened
    opened.close()
    server.execute("postgres", "drop database graph with (force)")


def rows(server: Server) -> object:
    return server.execute("graph", "select to_jsonb(s)::text from store s order by 1")


def test_rows_are_found_by_words_namespace_and_kind(store: LangGraphStore) -> None:
    found = {
        "": {"tea", "days", "other", "precise"},
        "deploy": {"days"},
        "entity:users": {"tea", "days"},
        "entity:anna tea": {"tea"},
        "type:memory": {"days"},
        "content:likes": {"tea"},
        "nothing": set(),
    }
    for line, keys in found.items():
        query = parse_query(line, NOW)
        page = store.find(query, None, 9)
        assert {memory.extra["key"] for memory in page.memories} == keys, line
        assert store.answer(query, 9, 99).count.value == len(keys)
    assert store.understands(parse_query("has:links", NOW)) == ("has:links",)


def test_a_text_is_changed_and_back_in_every_column(store: LangGraphStore, server: Server) -> None:
    for ref in ("g:users.anna/tea", "g:users.anna.prefs/days"):
        before = rows(server)
        plan = do(store, Act.EDIT, ref, content="Something else")
        assert store.get([ref])[0].content == "Something else"
        apply(store, invert_edits(plan.edits))
        assert rows(server) == before
        plan = do(store, Act.DELETE, ref)
        assert store.get([ref]) == ()
        apply(store, invert_edits(plan.edits))
        assert rows(server) == before
    plan = store.plan(Change(Act.EDIT, "g", ref, {"content": "ours"}), View(store))
    server.execute("graph", 'update store set value = \'{"text": "theirs"}\'')
    with pytest.raises(Conflict):
        apply(store, plan.edits)


def test_what_would_not_fit_any_more_is_refused(store: LangGraphStore, server: Server) -> None:
    server.execute(
        "graph", "insert into store_vectors values ('users.anna', 'tea', 'text', '{1,2}')"
    )
    before = rows(server)
    for ref, why in (
        ("g:users.anna/tea", "vectors"),
        ("g:shop/other", "no text"),
        ("g:shop/precise", "rounded"),
    ):
        with pytest.raises(Refused, match=why):
            do(store, Act.EDIT, ref, content="Something else")
    with pytest.raises(Refused, match="only the text"):
        do(store, Act.PIN, "g:shop/other")
    assert rows(server) == before


def test_a_database_without_the_table_says_so(server: Server) -> None:
    service = server.add_service("graphless", "postgres", "postgres")
    with pytest.raises(StoreError, match="no tables"):
        LangGraphStore(Path(f"langgraph:{service}"), "g").find(parse_query("", NOW), None, 1)
