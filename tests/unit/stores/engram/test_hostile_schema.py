"""A database of a stranger may compute anything: it is refused in one line, and nothing is run."""

from __future__ import annotations

import resource
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memtui.changes import Act
from memtui.errors import MemtuiError
from memtui.stores.engram import FORMAT
from memtui.stores.engram.store import EngramStore
from memtui.stores.sqlite import connection
from tests.torture.processes import in_child

from .invented import Seen, Told, build, change, connect, everything, open_store, sql

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
LARGE = "hex(zeroblob(25000000))"
"""Fifty megabytes."""
SLOW = "instr(hex(zeroblob(4000000)), hex(zeroblob(2000000)) || 'x')"
"""One instruction of SQLite that takes an hour."""
ROOM = 1 << 30
"""Bytes that a test may use beside what the process has already."""


def altered(tmp_path: Path, *statements: str) -> Path:
    folder = build(tmp_path / ".engram", "v3")
    with closing(connect(folder)) as database:
        for statement in statements:
            database.execute(statement)
    return folder


def tampered(tmp_path: Path, name: str, old: str, new: str) -> Path:
    """Replace a part of the SQL from which SQLite makes its schema."""
    return altered(
        tmp_path,
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_master SET sql = replace(sql, '{old}', '{new}') WHERE name = '{name}'",
    )


def reasons(store: EngramStore) -> list[str]:
    """What is said of the scan and of each shard."""
    scan = store.scan()
    found = [each.reason for each in scan.unreadable]
    for shard in scan.shards:
        found += [each.reason for each in store.read(shard).unreadable]
    return found


def edit(folder: Path, view: Seen) -> None:
    store = open_store(folder)
    wanted = change(Act.EDIT, 2, content="Stays are ash", title="Stays, listed")
    store.apply(store.plan(wanted, view).edits, Told())


def refuses_an_edit(folder: Path, expected: str) -> None:
    """An edit ends with this reason and changes nothing."""
    before = sql(folder, "SELECT id, content FROM observations")
    with pytest.raises(MemtuiError, match=expected):
        edit(folder, everything(open_store(folder)))
    assert sql(folder, "SELECT id, content FROM observations") == before


def in_little_memory(work: Callable[[], None]) -> None:
    """Run it where a gigabyte more than now is all there is."""

    def limited() -> None:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
        work()

    assert in_child(limited) == 0


@pytest.mark.parametrize("computed", [LARGE, SLOW], ids=["large", "slow"])
@pytest.mark.parametrize(
    "table",
    ["observations", "sessions", "user_prompts", "memory_relations", "observation_versions"],
)
def test_a_generated_column_is_not_computed(tmp_path: Path, table: str, computed: str) -> None:
    folder = altered(tmp_path, f"ALTER TABLE {table} ADD COLUMN more AS ({computed})")

    def work() -> None:
        assert FORMAT.detect(folder) == folder
        store = open_store(folder)
        (reason,) = reasons(store)
        assert f"{table}.more is a generated column" in reason
        assert "generated column" in store.read_only

    in_little_memory(work)


@pytest.mark.slow
def test_a_value_of_ten_megabytes_is_not_read(tmp_path: Path) -> None:
    large = "hex(zeroblob(5000000))"
    folder = altered(tmp_path, f"UPDATE observations SET content = {large} WHERE id = 3")

    def work() -> None:
        store = open_store(folder)
        (reason,) = reasons(store)
        assert "more than 8 MiB" in reason
        assert store.rows.scan() is store.rows.scan(), "it is not read again while it is the same"

    in_little_memory(work)


@pytest.mark.parametrize("body", [f"SELECT * FROM ({ENDLESS})", f"SELECT {SLOW}"])
def test_a_known_trigger_with_another_body_does_not_run(tmp_path: Path, body: str) -> None:
    folder = altered(
        tmp_path,
        "DROP TRIGGER obs_fts_update",
        f"CREATE TRIGGER obs_fts_update AFTER UPDATE ON observations BEGIN {body}; END",
    )
    refuses_an_edit(folder, "computes something|not authorized")


def test_a_trigger_writes_into_no_table_but_the_index(tmp_path: Path) -> None:
    folder = altered(
        tmp_path,
        "DROP TRIGGER obs_fts_update",
        "CREATE TRIGGER obs_fts_update AFTER UPDATE ON observations"
        " BEGIN DELETE FROM observations; END",
    )
    refuses_an_edit(folder, "computes something|not authorized")


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE VIEW {{}} AS {ENDLESS}",
        f"CREATE VIEW {{}} AS SELECT {SLOW} AS id, 1 AS content, 2 AS created_at",
    ],
    ids=["endless", "slow"],
)
@pytest.mark.parametrize("table", ["user_prompts", "memory_relations", "observation_versions"])
def test_a_view_in_place_of_a_table_is_not_asked(
    tmp_path: Path, table: str, statement: str
) -> None:
    folder = altered(tmp_path, f"DROP TABLE {table}", statement.format(table))
    store = open_store(folder)
    assert reasons(store) == []
    assert {memory.kind for memory in everything(store).held.values()} >= {"observation"}


@pytest.mark.parametrize(
    ("name", "old", "new", "reason"),
    [
        ("observations", "title TEXT NOT NULL", f"title TEXT NOT NULL CHECK ({SLOW})", "computes"),
        ("idx_obs_sync_id", "(sync_id)", f"(({SLOW}))", "computes"),
        ("idx_obs_sync_id", "(sync_id)", "((their_own(title)))", "unknown function"),
        ("observations", "CREATE TABLE", "CREATE NONSENSE", "malformed"),
        ("observations", "title TEXT", "title TEXT, title TEXT", "malformed"),
    ],
    ids=["check", "index", "function", "nonsense", "twice"],
)
def test_a_tampered_schema_is_not_written_to(
    tmp_path: Path, name: str, old: str, new: str, reason: str
) -> None:
    folder = tampered(tmp_path, name, old, new.replace("'", "''"))
    store = open_store(folder)
    told = " ".join([store.read_only, *reasons(store)])
    assert told.strip() or name == "idx_obs_sync_id"
    view = everything(open_store(build(tmp_path / "whole", "v3")))
    with pytest.raises(MemtuiError, match=reason):
        edit(folder, view)


def test_pages_of_another_table_are_malformed(tmp_path: Path) -> None:
    folder = altered(
        tmp_path,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET rootpage = 1 WHERE name = 'observations'",
    )
    assert reasons(open_store(folder))


def test_a_read_that_takes_too_long_is_stopped_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = build(tmp_path / ".engram", "july")
    store = open_store(folder)
    monkeypatch.setattr(connection, "READ_LIMIT_SECONDS", -1.0)
    monkeypatch.setattr(connection, "_STEPS", 10)
    assert any("takes longer than" in reason for reason in reasons(store))
