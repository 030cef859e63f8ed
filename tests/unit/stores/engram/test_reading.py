"""Reading an Engram database: every row once, what changed found cheaply, nothing touched."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from memtui.changes import Act
from memtui.stores.base import Shard
from memtui.stores.engram import FORMAT
from memtui.testing.reading_tests import opened_during

from .invented import (
    FIRST_OBSERVATIONS,
    SCHEMAS,
    build,
    connect,
    everything,
    folder_state,
    observation,
    open_store,
    sql,
)


@pytest.fixture(params=SCHEMAS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return build(tmp_path / ".engram", request.param)


def test_every_row_is_a_memory_once(folder: Path) -> None:
    seen = everything(open_store(folder))
    kinds = [memory.kind for memory in seen.held.values()]
    assert kinds.count("observation") == sql(folder, "SELECT count(*) FROM observations")[0][0]
    assert kinds.count("note") == sql(folder, "SELECT count(*) FROM user_prompts")[0][0]
    assert kinds.count("episode") == 1
    assert len(seen.held) == len(kinds)


def test_columns_become_fields_and_the_rest_stays_in_extra(folder: Path) -> None:
    memory = everything(open_store(folder)).get("bells:2")
    assert (memory.type, memory.title, memory.content) == (
        "decision",
        "Stays",
        "Stays are oak from now on",
    )
    assert memory.entity == "belfry/decision"
    assert memory.importance == "high"
    assert memory.updated is not None
    assert memory.updated.isoformat() == "2026-10-03T09:00:00+00:00"
    assert memory.extra["revision_count"] == 2
    assert memory.extra["topic_key"] == "decision/stays"
    assert memory.extra["review_after"] == "2026-10-30 00:00:00"


def test_status_pins_and_scopes(folder: Path) -> None:
    seen = everything(open_store(folder))
    assert seen.get("bells:7").status == "deleted"
    assert seen.get("bells:4").status == "superseded"
    assert seen.get("bells:4").superseded_by == ("5",)
    assert seen.get("bells:5").supersedes == ("4",)
    assert seen.get("bells:5").status == "active"
    assert seen.get("bells:3").pinned
    assert seen.get("bells:3").importance == "high"
    assert seen.get("bells:3").entity == "belfry/personal"
    assert seen.get("bells:8").importance == "low"


def test_relations_are_links_with_their_verdicts(folder: Path) -> None:
    seen = everything(open_store(folder))
    links = seen.get("bells:5").links
    assert [(link.relation, link.target) for link in links] == [
        ("supersedes", "4"),
        ("conflicts_with", "3"),
    ]
    assert "judged" in links[0].note
    assert "0.75" in links[0].note
    assert "says the newer thing" in links[0].note
    pending = seen.get("bells:6")
    assert [(link.relation, link.target) for link in pending.links] == [("pending", "3")]
    assert "pending" not in pending.links[0].note, "the relation says it"
    statuses = [relation["judgment_status"] for relation in pending.extra["relations"]]
    assert statuses == ["pending", "orphaned"]


def test_a_deleted_successor_supersedes_nothing(folder: Path) -> None:
    store = open_store(folder)
    before = everything(store)
    sql(folder, "UPDATE observations SET deleted_at = '2026-11-01 00:00:00' WHERE id = 5")
    after = everything(store)
    assert before.get("bells:4").status == "superseded"
    assert after.get("bells:4").status == "active"
    assert after.get("bells:4").superseded_by == ("5",)


def test_prompts_and_sessions(folder: Path) -> None:
    seen = everything(open_store(folder))
    prompt = seen.get("bells:prompts/1")
    assert (prompt.type, prompt.entity, prompt.kind) == ("prompt", "belfry/prompts", "note")
    session = seen.get("bells:sessions/bells-2026-10-01")
    assert (session.type, session.content) == ("session", "Re-hung the tenor")
    assert session.extra["directory"] == "/home/ringer/belfry"


def test_former_texts_are_listed_where_v3_keeps_them(tmp_path: Path) -> None:
    versions = everything(open_store(build(tmp_path / "v3", "v3"))).get("bells:2").extra["versions"]
    assert [version["content"] for version in versions] == ["Stays of ash"]


def test_relations_to_rows_that_are_gone_dangle(folder: Path) -> None:
    sql(folder, "UPDATE memory_relations SET target_id = 'obs-gone' WHERE target_id LIKE '%4'")
    assert "obs-gone" in everything(open_store(folder)).get("bells:5").supersedes


def test_half_a_character_is_shown_and_never_written_back(folder: Path) -> None:
    sql(
        folder,
        "UPDATE observations SET content = CAST(? AS TEXT) WHERE id = 6",
        "鐘".encode()[:2],
    )
    store = open_store(folder)
    memory = everything(store).get("bells:6")
    assert memory.content == "\ufffd"
    assert memory.extra["invalid_utf8"] == ["content"]
    assert "UTF-8" in store.refusal(Act.EDIT, memory)
    assert store.refusal(Act.EDIT, everything(store).get("bells:1")) == ""


def test_an_early_database_without_later_columns_is_read(tmp_path: Path) -> None:
    with closing(connect(tmp_path)) as connection:
        connection.executescript(FIRST_OBSERVATIONS)
        connection.execute("INSERT INTO sessions VALUES ('s', 'belfry', '/b', '2026-01-01')")
        connection.execute(
            "INSERT INTO observations (session_id, type, title, content, project, created_at)"
            " VALUES ('s', 'learning', 'Ropes', 'Ropes stretch', 'belfry', '2026-01-02 03:04:05')"
        )
    store = open_store(tmp_path)
    memory = everything(store).get("bells:1")
    assert (memory.content, memory.entity, memory.status) == (
        "Ropes stretch",
        "belfry/project",
        "active",
    )
    assert "older Engram" in store.read_only


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("PRAGMA user_version = 2", "newer Engram"),
        ("ALTER TABLE observations ADD COLUMN salience REAL", "salience"),
        ("DROP TRIGGER obs_fts_update", "obs_fts_update"),
        (
            "CREATE TRIGGER tally AFTER UPDATE ON observations BEGIN SELECT 1; END",
            "trigger memtui does not know",
        ),
    ],
)
def test_what_memtui_does_not_know_is_read_only(folder: Path, statement: str, reason: str) -> None:
    sql(folder, statement)
    store = open_store(folder)
    seen = everything(store)
    assert len(seen.held) == 10
    assert reason in store.read_only
    assert reason in store.refusal(Act.PIN, seen.get("bells:1"))


# -- what changed ----------------------------------------------------------------------------


def _changed(before: tuple[Shard, ...], after: tuple[Shard, ...]) -> set[str]:
    stamps = {shard.key: shard.stamp for shard in before}
    return {shard.key for shard in after if stamps.get(shard.key) != shard.stamp}


def test_one_changed_row_is_one_shard_to_read(folder: Path) -> None:
    with closing(connect(folder)) as connection:
        connection.execute("BEGIN")
        for number in range(9, 2000):
            observation(connection, number)
        connection.execute("COMMIT")
    store = open_store(folder)
    before = store.scan().shards
    assert len(before) > 7
    sql(folder, "UPDATE observations SET content = 'Body of nobody 1000' WHERE id = 1000")
    changed = _changed(before, store.scan().shards)
    assert len(changed) == 1
    shard = next(shard for shard in store.scan().shards if shard.key in changed)
    assert "bells:1000" in {memory.ref for memory in store.read(shard).memories}
    assert len(store.read(shard).memories) < 300


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE observations SET pinned = 1 - pinned WHERE id IN (1, 3)",
        "UPDATE observations SET deleted_at = '2026-11-01' WHERE id = 1",
        "UPDATE observations SET last_seen_at = '2026-11-02', duplicate_count = 2 WHERE id = 1",
        "UPDATE memory_relations SET relation = 'related', updated_at = '2026-11-01' WHERE id = 1",
        "DELETE FROM user_prompts",
        "UPDATE sessions SET summary = 'Re-hung the treble, too' WHERE id = 'open'",
        "DELETE FROM observations WHERE id = 8",
    ],
)
def test_every_kind_of_change_is_noticed(folder: Path, statement: str) -> None:
    store = open_store(folder)
    before, seen = store.scan().shards, everything(store)
    sql(folder, statement)
    assert {shard.stamp for shard in before} != {shard.stamp for shard in store.scan().shards}
    assert everything(store).held != seen.held


def test_an_unchanged_database_is_not_asked_again(folder: Path) -> None:
    os.utime(folder / "engram.db", (1_700_000_000, 1_700_000_000))
    store = open_store(folder)
    assert store.rows.scan() is store.rows.scan()
    assert open_store(folder).scan() == store.scan()


# -- looking changes nothing -----------------------------------------------------------------

_WRITER = """
import sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA wal_autocheckpoint = 0")
c.execute("UPDATE observations SET content = 'written just now' WHERE id = 1")
print("written", flush=True)
sys.stdin.readline()
"""


@contextmanager
def _running_engram(folder: Path) -> Iterator[None]:
    """Another process with the database open and a row that is only in the -wal."""
    command = [sys.executable, "-c", _WRITER, str(folder / "engram.db")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        yield
        process.communicate("\n")


def test_looking_at_a_resting_database_changes_nothing(folder: Path) -> None:
    before = folder_state(folder)
    everything(open_store(folder))
    assert folder_state(folder) == before


def test_looking_beside_a_running_engram_sees_its_rows_and_changes_nothing(folder: Path) -> None:
    with _running_engram(folder):
        before = folder_state(folder)
        assert any(name.endswith("-wal") for name in before)
        assert everything(open_store(folder)).get("bells:1").content == "written just now"
        assert folder_state(folder) == before


def test_looking_at_a_copy_with_a_wal_alone_changes_nothing(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    with _running_engram(folder):
        for name in ("engram.db", "engram.db-wal"):
            shutil.copy(folder / name, copy / name)
    before = folder_state(copy)
    assert everything(open_store(copy)).get("bells:1").content == "written just now"
    assert folder_state(copy) == before


def test_a_store_that_was_at_rest_sees_what_starts_later(folder: Path) -> None:
    store = open_store(folder)
    assert "38 kg" in everything(store).get("bells:1").content
    with _running_engram(folder):
        assert everything(store).get("bells:1").content == "written just now"


def test_the_database_and_its_shm_are_never_opened_by_python(folder: Path) -> None:
    """Closing them would drop SQLite's locks; it holds none on the -wal."""

    def look() -> None:
        with _running_engram(folder):
            everything(open_store(folder))
        everything(open_store(folder))

    opened = opened_during(look, folder / "engram.db")
    assert {each for each in opened if not each.startswith("file:")} == {f"{folder}/engram.db-wal"}


# -- finding it ------------------------------------------------------------------------------


def test_detect_a_folder_a_file_and_another_name(folder: Path, tmp_path: Path) -> None:
    assert FORMAT.detect(folder) == folder
    assert FORMAT.detect(folder / "engram.db") == folder
    other = tmp_path / "before-the-move.db"
    shutil.copy(folder / "engram.db", other)
    assert FORMAT.detect(other) == other
    assert len(everything(open_store(other)).held) == 10


def test_detect_leaves_other_things_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "cookies.db")) as connection:
        connection.execute("CREATE TABLE observations (id, note)")
    (tmp_path / "notes.md").write_text("engram.db")
    (tmp_path / "engram").mkdir()
    (tmp_path / "engram" / "engram.db").write_bytes(b"")
    for name in ("cookies.db", "notes.md", "engram", "missing", "\0"):
        assert FORMAT.detect(tmp_path / name) is None
    assert FORMAT.detect(tmp_path) is None


def test_a_damaged_database_says_so_and_blocks_writing(folder: Path) -> None:
    (folder / "engram.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    store = open_store(folder)
    scan = store.scan()
    assert scan.shards == ()
    assert [each.file for each in scan.unreadable] == [str(folder / "engram.db")]
    assert "cannot be read" in store.read_only


def test_a_database_that_vanishes_keeps_its_shards_and_says_so(folder: Path) -> None:
    store = open_store(folder)
    before = store.scan().shards
    (folder / "engram.db").unlink()
    scan = store.scan()
    assert scan.shards == before
    assert scan.unreadable
    assert store.read(before[0]).unreadable


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("project", "orchard"),
        ("scope", "global"),
        ("topic_key", "decision/ropes"),
        ("topic_key", None),
        ("review_after", "2020-01-01 00:00:00"),
        ("deleted_at", "2020-01-01 00:00:00"),
        ("deleted_at", ""),
        ("sync_id", "obs-1"),
        ("session_id", "open"),
    ],
)
def test_a_short_column_changed_alone_is_noticed(
    tmp_path: Path, column: str, value: str | None
) -> None:
    """Within the second of the last `updated_at`, and in a row that is not the latest."""
    folder = build(tmp_path / ".engram", "july")
    store = open_store(folder)
    before = store.scan().shards[0].stamp
    sql(folder, f"UPDATE observations SET {column} = ? WHERE id = 2", value)
    assert store.scan().shards[0].stamp != before
