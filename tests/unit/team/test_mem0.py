"""A collection of mem0, as its code makes it (mem0/vector_stores/pgvector.py at 8d5b786).

The type of `vector` is another one, since pgvector may be missing here; memtui never reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from memtui.changes import Act, Change
from memtui.errors import Refused, StoreError
from memtui.library import Library
from memtui.query import parse_query
from memtui.stores import registry
from memtui.team.mem0 import WHY_READ_ONLY, Mem0Store
from tests.postgres import Server
from tests.team_fixtures import View

NOW = datetime.now(UTC)
PAYLOADS = (
    {"data": "Anna likes tea", "user_id": "anna", "created_at": "2026-03-01T09:30:00+00:00",
     "updated_at": "2026-04-01T10:00:00.5+02:00", "hash": "f00", "text_lemmatized": "anna like"},
    {"data": "Deploys on Fridays", "agent_id": "bot", "run_id": "r1", "actor_id": "bert",
     "created_at": "2026-05-01T09:30:00"},
    {"memory": "An older form", "created_at": "2026-02-31T25:61:00", "updated_at": 7},
    {"data": 5, "user_id": "", "created_at": "yesterday"},
    {},
)  # fmt: skip


@pytest.fixture
def service(server: Server) -> Iterator[str]:
    server.execute("postgres", "create database mem0")
    table = "(id uuid primary key, vector float8[], payload jsonb)"
    with server.connect("mem0") as connection:
        for name in ('"mem0"', '"Team-notes"'):
            connection.execute(f"create table {name} {table}")
        connection.execute("create table mem0migrations (user_id text)")
        for number, payload in enumerate(PAYLOADS):
            connection.execute("insert into mem0 values (%s, '{1,2}', %s)",
                               (UUID(int=number), json.dumps(payload)))  # fmt: skip
        connection.execute("insert into mem0 values (%s, null, null)", (UUID(int=99),))
    yield server.add_service("mem0", "mem0", "postgres")
    server.execute("postgres", "drop database mem0 with (force)")


def opened(root: str) -> Mem0Store:
    known = registry.format_of("mem0-postgres")
    assert known is not None
    store = known.open(Path(root), "m")
    assert isinstance(store, Mem0Store)
    return store


def test_a_collection_is_read_and_searched(service: str) -> None:
    store = opened(f"mem0:{service}")
    page = store.find(parse_query("", NOW), None, 9)
    found = {memory.id[-1]: memory for memory in page.memories}
    assert [memory.id[-1] for memory in page.memories][:2] == ["1", "0"], "newest first"
    assert len(found) == 5
    anna = found["0"]
    assert (anna.content, anna.entity, anna.kind) == ("Anna likes tea", "users/anna", "fact")
    assert anna.created == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    assert anna.updated == datetime(2026, 4, 1, 8, 0, 0, 500_000, tzinfo=UTC)
    assert anna.extra["hash"] == "f00"
    assert found["2"].content == "An older form"
    assert found["1"].source == "r1"
    lines = {"deploy": {"1"}, "entity:users": {"0"}, "tea -anna": set(), "/T.a/": {"0"}}
    for line, ids in lines.items():
        query = parse_query(line, NOW)
        assert {each.id[-1] for each in store.find(query, None, 9).memories} == ids, line
        assert store.answer(query, 9, 99).count.value == len(ids)
    assert store.get([anna.ref])[0] == anna
    mark = store.changed_since("").mark
    assert store.changed_since(mark).is_complete
    store.close()


def test_it_can_only_be_read_and_says_why(service: str, server: Server, tmp_path: Path) -> None:
    rows = "select payload::text, vector::text from mem0 order by id"
    before = server.execute("mem0", rows)
    store = opened(f"mem0:{service}")
    ref = store.find(parse_query("tea", NOW), None, 1).memories[0].ref
    for act in (Act.EDIT, Act.DELETE, Act.RETIRE):
        assert store.refusal(act, store.get([ref])[0]) == WHY_READ_ONLY
        with pytest.raises(Refused, match="only mem0 can compute"):
            store.plan(Change(act, "m", ref, {"content": "x"}), View(store))
    library = Library.open([Path(f"mem0:{service}")], state=tmp_path)
    library.load()
    assert library.snapshot.stores[0].read_only == WHY_READ_ONLY
    assert len(library.find(parse_query("deploys", NOW)).slots) == 1
    assert server.execute("mem0", rows) == before
    store.close()


def test_another_collection_is_named(service: str) -> None:
    other = opened(f"mem0:{service}/Team-notes")
    assert other.find(parse_query("", NOW), None, 9).memories == ()
    other.close()
    for name in ("nothing", "mem0migrations"):
        with pytest.raises(StoreError, match=f"no collection {name}"):
            opened(f"mem0:{service}/{name}").find(parse_query("", NOW), None, 1)
    for name in ('x" as y; drop table mem0', "a/b", "%s"):
        with pytest.raises(StoreError, match="no name of a collection"):
            opened(f"mem0:{service}/{name}")
