"""Engram's own JSON: written as Engram writes it, read without doubling a row."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memtui.bundle.bundle_reader import ImportDocument, read_document
from memtui.changes import Act, Outcome, invert_edits
from memtui.errors import BundleError
from memtui.stores.engram.exchange import left_out, plan_import
from memtui.stores.engram.store import EngramStore
from tests.unit.stores.engram.invented import export_of

from .invented import DDL, SCHEMAS, Told, build, change, connect, everything, open_store, sql


@pytest.fixture(params=SCHEMAS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return build(tmp_path / "from", request.param)


def empty(folder: Path, schema: str) -> EngramStore:
    folder.mkdir()
    with closing(connect(folder)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(DDL[schema])
    return open_store(folder)


def bare(document: str) -> dict[str, Any]:
    """An export without the numbers, which are the database's own business, and without whose a
    session is, which July does not say."""
    data: dict[str, Any] = json.loads(document)
    for row in data["sessions"]:
        row.pop("ownership_mode", None)
    for name in ("observations", "prompts"):
        for row in data[name]:
            del row["id"]
    return data


def test_july_form_keys_order_and_escapes(folder: Path) -> None:
    document = export_of(open_store(folder), "0.1.0")
    assert document.startswith(
        '{\n  "version": "0.1.0",\n  "exported_at": "2026-11-20 18:30:00",\n  "sessions": [\n'
    )
    assert "Ring before \\u003cnine\\u003e \\u0026 after" in document
    assert "鐘を鳴らす" in document
    assert not document.endswith("\n")
    data = json.loads(document)
    assert list(data) == ["version", "exported_at", "sessions", "observations", "prompts"]
    assert list(data["observations"][1]) == [
        "id",
        "sync_id",
        "session_id",
        "type",
        "title",
        "content",
        "project",
        "scope",
        "topic_key",
        "revision_count",
        "duplicate_count",
        "last_seen_at",
        "review_after",
        "created_at",
        "updated_at",
    ]
    assert len(data["observations"]) == 8


@pytest.mark.parametrize("into", SCHEMAS)
def test_everything_arrives_in_an_empty_database(folder: Path, tmp_path: Path, into: str) -> None:
    """A relation, an edited row, a pin, a soft-deleted row, a passive one, a dangling link."""
    sql(folder, "UPDATE memory_relations SET target_id = 'obs-nowhere' WHERE id = 2")
    document = export_of(open_store(folder))
    store = empty(tmp_path / "to", into)
    plan = plan_import(store, document)
    assert plan.reason == "13 new, 0 already there, 0 differ and stay"
    store.apply(plan.edits, Told())
    assert bare(export_of(store)) == bare(document)
    assert sql(tmp_path / "to", "PRAGMA integrity_check") == [("ok",)]
    assert sql(tmp_path / "to", "SELECT normalized_hash IS NULL FROM observations LIMIT 1") == [
        (0,)
    ]


def test_importing_ones_own_export_doubles_nothing(folder: Path) -> None:
    store = open_store(folder)
    for version in ("0.1.0", "0.2.0"):
        plan = plan_import(store, export_of(store, version))
        assert plan.outcome is Outcome.NOTHING
        assert plan.edits == ()


def test_what_is_there_is_never_overwritten(folder: Path) -> None:
    store = open_store(folder)
    document = export_of(store)
    sql(folder, "UPDATE observations SET content = 'changed since' WHERE id = 1")
    sql(folder, "DELETE FROM observations WHERE id = 8")
    plan = plan_import(store, document)
    assert plan.reason == "1 new, 11 already there, 1 differ and stay"
    store.apply(plan.edits, Told())
    assert sql(folder, "SELECT content FROM observations WHERE id = 1") == [("changed since",)]
    assert sql(folder, "SELECT count(*) FROM observations") == [(8,)]


def test_an_import_is_one_undo(folder: Path, tmp_path: Path) -> None:
    store = empty(tmp_path / "to", "july")
    plan = plan_import(store, export_of(open_store(folder)))
    store.apply(plan.edits, Told())
    store.apply(invert_edits(plan.edits), Told())
    for table in ("observations", "user_prompts", "memory_relations", "sessions"):
        assert sql(tmp_path / "to", f"SELECT count(*) FROM {table}") == [(0,)]


def test_a_chosen_part_takes_what_it_needs_along(folder: Path) -> None:
    data = json.loads(export_of(open_store(folder), only={"4", "5"}))
    assert [row["id"] for row in data["observations"]] == [4, 5]
    assert [row["id"] for row in data["sessions"]] == ["bells-2026-10-01"]
    assert [row["relation"] for row in data["relations"]] == ["supersedes"]
    assert data["prompts"] == []


def test_an_early_export_without_sync_ids_is_not_doubled(folder: Path) -> None:
    data = json.loads(export_of(open_store(folder), "0.1.0"))
    for row in data["observations"]:
        del row["sync_id"]
    assert plan_import(open_store(folder), json.dumps(data)).edits == ()


def test_an_observation_of_an_unknown_session_brings_a_bare_one(tmp_path: Path) -> None:
    store = empty(tmp_path / "to", "july")
    row = {
        "session_id": "lost",
        "type": "learning",
        "title": "Ropes",
        "content": "Ropes stretch",
        "project": "belfry",
        "created_at": "2026-01-02 03:04:05",
    }
    document = json.dumps({"version": "0.1.0", "observations": [row, row | {"sync_id": "obs-1"}]})
    store.apply(plan_import(store, document).edits, Told())
    assert sql(tmp_path / "to", "SELECT id, project FROM sessions") == [("lost", "belfry")]


_ROW = {"session_id": "s", "type": "t", "title": "t", "content": "c", "created_at": "2026-01-01"}
_SESSION = {"id": "s", "project": "p", "directory": "/p", "started_at": "2026-01-01"}


@pytest.mark.parametrize(
    "document",
    [
        "",
        "[]",
        '{"version": "9"}',
        "[" * 100_000,
        json.dumps({"version": "0.1.0", "observations": {}}),
        json.dumps({"version": "0.1.0", "observations": [_ROW | {"title": None}]}),
        json.dumps({"version": "0.1.0", "observations": [_ROW | {"content": ["x"]}]}),
        json.dumps({"version": "0.1.0", "observations": [_ROW | {"content": "\ud83d"}]}),
        json.dumps({"version": "0.1.0", "observations": [_ROW | {"revision_count": 10**30}]}),
        json.dumps({"version": "0.1.0", "observations": [_ROW | {"revision_count": "many"}]}),
        json.dumps({"version": "0.1.0", "sessions": [_SESSION | {"ownership_mode": "rented"}]}),
    ],
)
def test_a_document_of_another_kind_is_refused_whole(folder: Path, document: str) -> None:
    with pytest.raises(BundleError):
        plan_import(open_store(folder), document)


def test_an_export_makes_a_new_database(folder: Path, tmp_path: Path) -> None:
    """Equal to where it came from in all that the export holds, and as good as Engram's own."""
    sql(folder, "UPDATE memory_relations SET superseded_by_relation_id = 2 WHERE id = 1")
    sql(
        folder,
        "INSERT INTO prompt_tombstones (sync_id, session_id, deleted_at)"
        " VALUES ('gone', 'open', '2026-01-01')",
    )
    document = export_of(open_store(folder))
    (incoming,) = _read(tmp_path, document).stores
    assert incoming.whole
    to = tmp_path / "new"
    to.mkdir()
    (to / "engram.db").write_bytes(incoming.files["engram.db"]())
    store = open_store(to)
    assert store.read_only == ""
    assert _named(export_of(store)) == _named(document)
    assert sql(to, "SELECT count(*) FROM sync_mutations") == [(0,)]
    assert sql(to, "PRAGMA foreign_key_check") == []
    found = "SELECT rowid FROM observations_fts WHERE observations_fts MATCH 'sacristy'"
    assert sql(to, found) == [(5,)]
    planned = store.plan(change(Act.EDIT, 5, content="Muffles hang"), everything(store))
    store.apply(planned.edits, Told())
    assert sql(to, found) == []


def test_an_early_export_makes_a_database_too(tmp_path: Path) -> None:
    document = json.dumps(
        {"version": "0.1.0", "observations": [_ROW, _ROW | {"content": "d"}], "sessions": None}
    )
    (incoming,) = _read(tmp_path, document).stores
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "engram.db").write_bytes(incoming.files["engram.db"]())
    rows = sql(
        tmp_path / "new", "SELECT id, content, substr(sync_id, 1, 4), updated_at FROM observations"
    )
    assert rows == [(1, "c", "obs-", "2026-01-01"), (2, "d", "obs-", "2026-01-01")]
    assert sql(tmp_path / "new", "SELECT id, ended_at FROM sessions") == [("s", "2026-01-01")]


def test_what_only_v3_has_arrives_in_a_database_that_an_export_makes(tmp_path: Path) -> None:
    session = _SESSION | {"ownership_mode": "project_owned"}
    document = json.dumps({"version": "0.1.0", "observations": [_ROW], "sessions": [session]})
    (incoming,) = _read(tmp_path, document).stores
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "engram.db").write_bytes(incoming.files["engram.db"]())
    assert sql(tmp_path / "new", "SELECT id, ownership_mode FROM sessions") == [
        ("s", "project_owned")
    ]


def test_a_chosen_part_says_what_it_leaves_out(folder: Path) -> None:
    assert left_out(open_store(folder).file, only={"4", "5"}) == [
        "3 relations (one of their ends is not among these memories)"
    ]
    if folder_is_v3(folder):
        assert left_out(open_store(folder).file) == [
            "1 former versions (Engram's export has no place for them)"
        ]
    else:
        assert left_out(open_store(folder).file) == []


def test_chosen_prompts_come_along(folder: Path) -> None:
    data = json.loads(export_of(open_store(folder), only={"prompts/1"}))
    assert [row["content"] for row in data["prompts"]] == ["why does the treble stick?"]
    assert [row["id"] for row in data["sessions"]] == ["bells-2026-10-01"]
    assert data["observations"] == []


def test_the_keys_are_those_of_engrams_own_full_form(tmp_path: Path) -> None:
    folder = build(tmp_path / "from", "v3")
    sql(folder, "UPDATE sessions SET ownership_mode = 'shared'")
    sql(folder, "UPDATE user_prompts SET source_inbox_id = 'inbox-1'")
    sql(folder, "UPDATE memory_relations SET superseded_by_relation_id = 2 WHERE id = 1")
    data = json.loads(export_of(open_store(folder)))
    assert list(data["sessions"][0])[:4] == ["id", "project", "ownership_mode", "directory"]
    assert list(data["observations"][0])[-1] == "pinned"
    assert next(iter(data["prompts"][0])) == "source_inbox_id"
    named = {row.get("superseded_by_relation_sync_id") for row in data["relations"]}
    assert named == {None, "rel-0000000500000003"}
    assert "prompt_tombstones" not in data


def folder_is_v3(folder: Path) -> bool:
    return sql(folder, "PRAGMA user_version") == [(1,)]


def _read(tmp_path: Path, document: str) -> ImportDocument:
    file = tmp_path / "export.json"
    file.write_text(document)
    return read_document(file)


def _named(document: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(document)
    del data["exported_at"]
    for row in data["sessions"]:
        row.pop("ownership_mode", None)
    return data
