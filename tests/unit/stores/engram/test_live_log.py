"""A log that another program uses is never removed, however memtui's reads fall between its steps.

The other programs are processes of their own: SQLite's locks are those of a process. What they were
told is written must be in the database at the end.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memtui.changes import Act
from memtui.stores.sqlite.connection import run_read
from tests.long_run import count

from .invented import Told, build, change, everything, open_store, sql

_PROGRAM = """
import sqlite3, sys
connection = None
for line in sys.stdin:
    step, _, number = line.strip().partition(" ")
    if step == "open":
        connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=20)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    elif step == "write":
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO observations (session_id, type, title, content)"
            " VALUES ('bells-2026-10-01', 'discovery', ?, ?)", (number, "acknowledged " * 100))
        connection.execute("COMMIT")
    elif step == "half-close":
        connection.execute("PRAGMA wal_checkpoint")
        with open(sys.argv[1] + "-wal", "rb") as file:
            log = file.read()
        connection.close()
        connection = None
        with open(sys.argv[1] + "-wal", "wb") as file:
            file.write(log)
    elif step == "close" and connection is not None:
        connection.close()
        connection = None
    print("done", flush=True)
"""


class OtherProgram:
    """Another program with the database, which does one step at a time and acknowledges it."""

    def __init__(self, file: Path) -> None:
        self._command = [sys.executable, "-c", _PROGRAM, str(file)]
        self._start()

    def _start(self) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, text=True)
        self.is_open = False

    def step(self, step: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(step + "\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n", f"{step} failed"
        if step in ("open", "close", "half-close"):
            self.is_open = step == "open"

    def write(self, number: int) -> None:
        if not self.is_open:
            self.step("open")
        self.step(f"write {number}")

    def kill(self) -> None:
        """End it as a crash does: the log and its index stay."""
        self._process.kill()
        self._process.communicate()
        self._start()

    def end(self) -> None:
        if self.is_open:
            self.step("close")
        self._process.communicate()


@contextmanager
def programs(file: Path, count: int) -> Iterator[list[OtherProgram]]:
    found = [OtherProgram(file) for _ in range(count)]
    try:
        yield found
    finally:
        for each in found:
            each.end()


class Closing:
    """The moment in which SQLite closes a last connection: the log is in the database, its index is
    removed, the log itself is not yet.

    It ends when the file is first touched, or when `end` is called.
    """

    current: Closing | None = None

    def __init__(self, program: OtherProgram, file: Path) -> None:
        program.step("half-close")
        self.file = file
        assert Path(f"{file}-wal").stat().st_size
        assert not Path(f"{file}-shm").exists()
        Closing.current = self

    def end(self) -> None:
        if Closing.current is self:
            Closing.current = None
            os.unlink(f"{self.file}-wal")

    @classmethod
    def ends_before(cls, touch: Callable[..., Any]) -> Callable[..., Any]:
        """The function that touches a file; the moment has ended before it does."""

        def call(file: object, *arguments: Any, **named: Any) -> Any:
            if cls.current is not None and str(cls.current.file) in str(file):
                cls.current.end()
            return touch(file, *arguments, **named)

        return call


@pytest.fixture(autouse=True, scope="module")
def noticed() -> Iterator[None]:
    with (
        patch.object(sqlite3, "connect", Closing.ends_before(sqlite3.connect)),
        patch.object(shutil, "copyfile", Closing.ends_before(shutil.copyfile)),
    ):
        yield


def titles(folder: Path) -> set[str]:
    return {row[0] for row in sql(folder, "SELECT title FROM observations")}


def assert_sound(folder: Path) -> None:
    assert sql(folder, "PRAGMA integrity_check") == [("ok",)]
    sql(folder, "INSERT INTO observations_fts(observations_fts) VALUES ('integrity-check')")


@pytest.mark.parametrize("is_ended", ["when memtui opens it", "after memtui has read"])
def test_a_program_that_starts_while_memtui_reads_keeps_its_log(
    tmp_path: Path, is_ended: str
) -> None:
    """The last user closes, memtui looks, another program starts and writes, memtui closes."""
    folder = build(tmp_path / ".engram", "july")
    file = folder / "engram.db"
    inodes: list[int] = []
    with programs(file, 2) as (first, second):
        first.write(1)
        closing = Closing(first, file)
        if is_ended == "after memtui has read":
            Closing.current = None

        def look(connection: sqlite3.Connection) -> int:
            count = int(connection.execute("SELECT count(*) FROM observations").fetchone()[0])
            if not inodes:
                Closing.current = closing if is_ended == "after memtui has read" else None
                closing.end()
                second.write(2)
                inodes.append(Path(f"{file}-wal").stat().st_ino)
            return count

        seen = run_read(file, look)
        assert Path(f"{file}-wal").exists(), "its log was removed"
        assert Path(f"{file}-wal").stat().st_ino == inodes[0]
        second.write(3)
    assert {"1", "2", "3"} <= titles(folder)
    assert seen == 10
    assert_sound(folder)


STEPS = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from(["open", "write", "write", "close", "kill"])),
    max_size=4,
)


@pytest.mark.slow
@settings(max_examples=count(8, 40))
@given(rounds=st.lists(st.tuples(STEPS, st.booleans(), STEPS, st.booleans()), max_size=5))
def test_no_order_of_steps_loses_what_was_acknowledged(
    tmp_path_factory: pytest.TempPathFactory,
    rounds: Sequence[tuple[list[tuple[int, str]], bool, list[tuple[int, str]], bool]],
) -> None:
    """Two programs open, write, close and crash; memtui reads, and edits, in between and around."""
    folder = build(tmp_path_factory.mktemp("race") / ".engram", "july")
    file = folder / "engram.db"
    acknowledged: list[str] = []
    with programs(file, 2) as both:

        def do(steps: list[tuple[int, str]]) -> None:
            for which, step in steps:
                if step == "write":
                    both[which].write(len(acknowledged))
                    acknowledged.append(str(len(acknowledged)))
                elif step == "kill":
                    both[which].kill()
                elif (step == "open" and not both[which].is_open) or step == "close":
                    both[which].step(step)

        for before, is_closing, during, is_edited in rounds:
            do(before)
            closing = None
            if is_closing and sum(each.is_open for each in both) == 1:
                (last,) = (each for each in both if each.is_open)
                last.write(len(acknowledged))
                acknowledged.append(str(len(acknowledged)))
                closing = Closing(last, file)
            at_least, first = len(acknowledged), True

            def look(connection: sqlite3.Connection) -> int:
                nonlocal first
                count = int(connection.execute("SELECT count(*) FROM observations").fetchone()[0])
                if first:
                    first = False
                    if closing:  # noqa: B023
                        closing.end()  # noqa: B023
                    do(during)  # noqa: B023
                return count

            assert 8 + at_least <= run_read(file, look) <= 8 + len(acknowledged)
            if is_edited:
                store = open_store(folder)
                wanted = change(Act.EDIT, 2, content=f"edit {len(acknowledged)} {at_least}")
                store.apply(store.plan(wanted, everything(store)).edits, Told())
    assert set(acknowledged) <= titles(folder)
    assert_sound(folder)
