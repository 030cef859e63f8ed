"""Databases of Engram since September 2026, whose full-text index has a pair of update triggers.

One takes the former text out, the other puts the new one in, and neither knows soft-deleted rows
(Engram pull request 924).
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memtui.changes import Act, invert_edits
from memtui.stores.sqlite.connection import read_compact

from .invented import Told, build, change, connect, everything, open_store

COLUMNS = "title, content, tool_name, type, project, topic_key"
PROMPT_COLUMNS = "content, project"


def _sided(side: str, columns: str) -> str:
    return ", ".join(f"{side}.{name}" for name in ("id", *columns.split(", ")))


def _triggers(table: str, index: str, prefix: str, columns: str, alive: str) -> str:
    """In Engram's order: SQLite runs the last one first, so an update deletes before it inserts."""
    insert = f"INSERT INTO {index}(rowid, {columns}) VALUES ({_sided('new', columns)});"
    delete = (
        f"INSERT INTO {index}({index}, rowid, {columns})"
        f" VALUES ('delete', {_sided('old', columns)});"
    )
    made = (
        ("insert", "INSERT", "new", insert),
        ("update_insert", "UPDATE", "new", insert),
        ("update", "UPDATE", "old", delete),
        ("delete", "DELETE", "old", delete),
    )
    return "".join(
        f"DROP TRIGGER IF EXISTS {prefix}_{name};"
        f"CREATE TRIGGER {prefix}_{name} AFTER {event} ON {table}"
        f" {alive.format(side)} BEGIN {what} END;"
        for name, event, side, what in made
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    built = build(tmp_path / ".engram", "v3")
    with closing(connect(built)) as connection:
        alive = "WHEN {}.deleted_at IS NULL"
        connection.executescript(
            _triggers("observations", "observations_fts", "obs_fts", COLUMNS, alive)
            + _triggers("user_prompts", "prompts_fts", "prompt_fts", PROMPT_COLUMNS, "")
            + "INSERT INTO observations_fts(observations_fts) VALUES ('delete-all');"
            f"INSERT INTO observations_fts(rowid, {COLUMNS})"
            f" SELECT id, {COLUMNS} FROM observations WHERE deleted_at IS NULL;"
        )
    assert _indexed(built / "engram.db") == _expected(built / "engram.db")
    return built


def _words(connection: sqlite3.Connection, index: str) -> list[tuple[object, ...]]:
    connection.execute(f"CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, {index}, instance)")
    return sorted(map(tuple, connection.execute("SELECT * FROM temp.words")))


def _indexed(file: Path) -> list[tuple[object, ...]]:
    """Every word of the index with its row, column and place."""
    with closing(sqlite3.connect(file)) as connection:
        return _words(connection, "observations_fts")


def _expected(file: Path) -> list[tuple[object, ...]]:
    """The same of an index that is made of the rows that are not deleted."""
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute(
            f"SELECT id, {COLUMNS} FROM observations WHERE deleted_at IS NULL"
        ).fetchall()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE VIRTUAL TABLE fresh USING fts5({COLUMNS}, tokenize='trigram')")
        connection.executemany(
            f"INSERT INTO fresh(rowid, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows
        )
        return _words(connection, "fresh")


@pytest.mark.slow
def test_every_change_keeps_the_index_like_the_rows(folder: Path) -> None:
    file = folder / "engram.db"
    store = open_store(folder)
    assert store.read_only == ""
    for wanted in (
        change(Act.EDIT, 1, content="The tenor clapper weighs 40 kg"),
        change(Act.RETIRE, 2),
        change(Act.RESTORE, 7),
        change(Act.EDIT, 7, content="Sold the small bell to the museum"),
        change(Act.DELETE, 4, force=True),
        change(Act.DELETE, "prompts/1"),
        change(Act.ADD, content="Ropes are hemp", entity="belfry"),
    ):
        before = _indexed(file)
        plan = store.plan(wanted, everything(store))
        store.apply(plan.edits, Told())
        assert _indexed(file) == _expected(file), wanted.act
        if wanted.act in (Act.EDIT, Act.RETIRE):
            store.apply(invert_edits(plan.edits), Told())
            assert _indexed(file) == _expected(file) == before, wanted.act


def test_a_copied_database_indexes_no_deleted_row(folder: Path, tmp_path: Path) -> None:
    to = tmp_path / "copied"
    to.mkdir()
    (to / "engram.db").write_bytes(read_compact(folder / "engram.db"))
    assert _indexed(to / "engram.db") == _expected(to / "engram.db")
    store = open_store(to)
    assert store.read_only == ""
    for wanted in (change(Act.RESTORE, 7), change(Act.EDIT, 1, content="The tenor clapper rang")):
        store.apply(store.plan(wanted, everything(store)).edits, Told())
        assert _indexed(to / "engram.db") == _expected(to / "engram.db"), wanted.act
