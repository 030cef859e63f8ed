"""Reading while other programs and other threads write: never an error, never half a change."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memtui.changes import Act
from memtui.errors import Refused
from memtui.stores.engram.rules import redacted
from memtui.stores.engram.store import EngramStore
from memtui.stores.sqlite.connection import run_read
from tests.long_run import count

from .invented import SCHEMAS, Told, build, change, everything, open_store, sql

pytestmark = pytest.mark.slow

_PAIRS = """
import sqlite3, sys
for n in range(int(sys.argv[2])):
    c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=20)
    for m in range(3):
        c.execute("BEGIN IMMEDIATE")
        c.execute("UPDATE observations SET content = ? WHERE id IN (1, 2)", (f"{n} {m} " * 500,))
        c.execute("COMMIT")
    c.close()
"""
"""An Engram that starts, writes two rows together, and leaves, over and over."""


@pytest.mark.parametrize("schema", SCHEMAS)
def test_two_rows_written_together_are_read_together(tmp_path: Path, schema: str) -> None:
    folder = build(tmp_path / ".engram", schema)
    sql(folder, "UPDATE observations SET content = 'same' WHERE id IN (1, 2)")
    store = open_store(folder)
    command = [sys.executable, "-c", _PAIRS, str(folder / "engram.db"), "150"]
    reads = 0
    with subprocess.Popen(command) as writer:
        while not reads or writer.poll() is None:
            seen = everything(store)
            assert seen.get("bells:1").content == seen.get("bells:2").content
            reads += 1
    assert writer.returncode == 0
    assert everything(store).get("bells:1").content.startswith("149 2")


def test_threads_may_read_while_one_writes(tmp_path: Path) -> None:
    folder = build(tmp_path / ".engram", "july")
    writer = open_store(folder)
    failures: list[BaseException] = []
    finished = threading.Event()

    def keep_reading(store: EngramStore) -> None:
        try:
            while not finished.is_set():
                everything(store)
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=keep_reading, args=(open_store(folder),)) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(20):
        wanted = change(Act.EDIT, 1, content=f"edit {number}")
        writer.apply(writer.plan(wanted, everything(writer)).edits, Told())
    finished.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert everything(writer).get("bells:1").content == "edit 19"


@settings(
    max_examples=count(12, 60),
)
@given(text=st.text(st.characters(exclude_categories=()), max_size=40))
@pytest.mark.parametrize("schema", SCHEMAS)
def test_any_text_is_kept_as_it_is_or_refused(tmp_path: Path, schema: str, text: str) -> None:
    """One text after the other in the same database."""
    folder = tmp_path / schema
    store = open_store(folder if folder.exists() else build(folder, schema))
    try:
        plan = store.plan(change(Act.EDIT, 2, content=text), everything(store))
    except Refused:
        return
    store.apply(plan.edits, Told())
    assert everything(store).get("bells:2").content == redacted(text)
    sql(folder, "INSERT INTO observations_fts(observations_fts) VALUES ('integrity-check')")


def test_another_shape_of_versions_is_read_and_not_written(tmp_path: Path) -> None:
    folder = build(tmp_path / ".engram", "v3")
    sql(folder, "ALTER TABLE observation_versions ADD COLUMN is_baseline BOOLEAN")
    store = open_store(folder)
    assert everything(store).get("bells:2").extra["versions"][0]["content"] == "Stays of ash"
    assert "shape" in store.read_only


def test_a_fault_in_a_file_that_is_being_written_is_looked_at_again(tmp_path: Path) -> None:
    path = build(tmp_path / "fresh", "v3") / "engram.db"
    calls: list[int] = []

    def torn_at_first(connection: sqlite3.Connection) -> int:
        calls.append(1)
        if len(calls) == 1:
            os.utime(path)
            raise sqlite3.DatabaseError("database disk image is malformed")
        return int(connection.execute("SELECT count(*) FROM observations").fetchone()[0])

    assert run_read(path, torn_at_first) == 8

    def torn(connection: sqlite3.Connection) -> int:
        raise sqlite3.DatabaseError("database disk image is malformed")

    with pytest.raises(sqlite3.DatabaseError, match="malformed"):
        run_read(path, torn)
