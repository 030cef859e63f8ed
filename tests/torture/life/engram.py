"""The life of an Engram database: its rows are what files are to the other stores."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from memtui.changes import Edit, Kind
from memtui.library.planning import Planned
from memtui.stores.sqlite.connection import FAILPOINTS
from tests.torture.life.acts import ACTS
from tests.torture.life.machine import NUMBER, PAIR, WORD, Life
from tests.torture.life.model import Done, Expected, FileChange
from tests.torture.life.rows import (
    KEYS,
    Row,
    RowChange,
    Step,
    copied,
    defaults_of,
    dumped,
    loaded,
    name_of,
    rows_of,
    sessions_of,
    without_moving,
)
from tests.torture.processes import KILLED, in_child
from tests.unit.stores.engram.invented import build

SALTS = slice(16, 24)
"""Of a write-ahead log: they change when it is begun anew."""


class EngramLife(Life):
    """What is asked of the other stores, and crashes that leave a part of a log."""

    format = "engram"
    schema: str
    read_from: dict[str, bytes] | None = None
    """The bytes that `rows` were read from, and that were found sound."""
    rows: Mapping[str, bytes]

    def made(self, place: Path) -> Path:
        return build(place, self.schema)

    @property
    def log_file(self) -> Path:
        return self.place / "engram.db-wal"

    def on_disk(self) -> dict[str, bytes]:
        there = self.bytes_there()
        if there != self.read_from:
            self.rows, self.read_from = rows_of(self.place), there
            self.check_soundness()
        return dict(self.rows)

    def check_soundness(self) -> None:
        with copied(self.place) as connection:
            assert [row[0] for row in connection.execute("PRAGMA integrity_check")] == ["ok"]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
            for table in ("observations_fts", "prompts_fts"):
                connection.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")

    def from_root(self, place: Path) -> dict[str, bytes]:
        (found,) = place.rglob("engram.db")
        return rows_of(found.parent)

    # ---- what a change does --------------------------------------------------------------------

    def changes_of(self, planned: Planned) -> tuple[FileChange, ...]:
        steps: dict[str, list[Step]] = {}
        made: set[str] = set()
        for part in planned.parts:
            for edit in part.edits:
                assert edit.kind is Kind.ROW
                if edit.table in KEYS:
                    step = without_moving(edit.before), without_moving(edit.after)
                    steps.setdefault(self.row_name(edit), []).append(step)
                elif edit.table == "sessions":
                    made.add(edit.row["id"])
        changes = [self.change_of_row(name, tuple(found)) for name, found in steps.items()]
        return tuple(
            replace(change, sessions=lambda: made | sessions_of(self.place)) for change in changes
        )

    def change_of_row(self, name: str, steps: tuple[Step, ...]) -> RowChange:
        before = self.model.files.get(name)
        row = loaded(before)
        for was, becomes in steps:
            if was is not None and len(steps) == 1:
                assert row is not None, f"{name} is not there"
                assert was == {column: row[column] for column in was}, "not what is there"
            row = None if becomes is None else {**(row or self.defaults(name)), **becomes}
        return RowChange(name, before, dumped(row), steps, self.defaults(name))

    def defaults(self, name: str) -> Row:
        return defaults_of(self.place, name.partition("/")[0])

    def row_name(self, edit: Edit) -> str:
        column = KEYS[edit.table]
        known = {**(edit.before or {}), **(edit.after or {}), **edit.row}
        if column in known:
            return name_of(edit.table, known[column])
        with copied(self.place) as connection:
            asked = f"SELECT {column} FROM {edit.table} WHERE id = ?"
            return name_of(edit.table, connection.execute(asked, (edit.row["id"],)).fetchone()[0])

    # ---- another program -----------------------------------------------------------------------

    def of_others(self) -> list[str]:
        return sorted(name for name in self.model.files if name.startswith("observations/"))

    def done_by_others(self, doing: str, name: str, which: int, word: str) -> bytes | None:
        row = loaded(self.model.files[name]) or {}
        if doing == "removes":
            return None
        if doing == "edits":
            column = ("content", "title", "pinned", "deleted_at", "topic_key")[which % 5]
            row[column] = {"pinned": 1, "deleted_at": "2026-11-01 10:00:00"}.get(column, word)
        if doing == "adds":
            row["sync_id"] = f"obs-theirs-{self.ticks}"
        return dumped(row)

    def theirs(self, name: str, data: bytes | None, writer: str) -> None:
        """`by rename` stands for a program that is killed before it closes the database."""
        row = loaded(data)
        name = name if row is None else name_of("observations", row["sync_id"])
        if writer == "in place":
            self.write_row(name, row)
        else:
            in_child(lambda: self.write_row(name, row, killed=True))
        self.ticks += 1
        if data is None:
            self.model.files.pop(name, None)
        else:
            self.model.files[name] = data
        self.look_again()

    def delete_by_others(self, name: str) -> None:
        self.theirs(name, None, "in place")

    def write_row(self, name: str, row: Row | None, *, killed: bool = False) -> None:
        table, _, rest = name.partition("/")
        key = rest.removesuffix(".json")
        file = self.place / "engram.db"
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("PRAGMA foreign_keys = ON")
            found = connection.execute(f"SELECT id FROM {table} WHERE sync_id = ?", (key,))
            there = found.fetchone()
            if row is None:
                connection.execute(f"DELETE FROM {table} WHERE sync_id = ?", (key,))
            elif there:
                assigned = ", ".join(f"{column} = ?" for column in row)
                values = (*row.values(), there[0])
                connection.execute(f"UPDATE {table} SET {assigned} WHERE id = ?", values)
            else:
                marks = ", ".join("?" * len(row))
                columns = ", ".join(row)
                values = tuple(row.values())
                connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", values)
            if killed:
                os.kill(os.getpid(), signal.SIGKILL)

    # ---- crashes -------------------------------------------------------------------------------

    @rule(
        doing=st.sampled_from(["apply", "apply", "undo", "redo"]),
        act=st.sampled_from(ACTS),
        which=PAIR,
        word=WORD,
        point=st.sampled_from([*FAILPOINTS, "done", "done"]),
        cut=st.floats(0, 1),
    )
    def crash(
        self, doing: str, act: str, which: tuple[int, int], word: str, point: str, cut: float
    ) -> None:
        """Be killed at a point of the transaction, or while SQLite writes it into the log."""
        before = self.log_file.read_bytes() if self.log_file.exists() else b""

        def meanwhile() -> None:
            if point == "done" and self.log_file.exists():
                self.cut_log(before, cut)

        self.crashed(doing, act, which, word, f"{point}:1", meanwhile)

    @precondition(lambda self: self.of_others())
    @rule(size=st.sampled_from([0, 1, 31, 32, 33, 56, 4151]), shm=st.booleans(), number=NUMBER)
    def another_program_is_killed_as_it_begins(self, size: int, shm: bool, number: int) -> None:
        """Nothing of its transaction is whole."""
        names = self.of_others()
        name = names[number % len(names)]
        row = {**(loaded(self.model.files[name]) or {}), "content": "never whole"}
        with closing(sqlite3.connect(self.place / "engram.db")) as connection:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        assert not self.log_file.exists()
        status = in_child(lambda: self.write_row(name, row, killed=True))
        assert status == KILLED
        os.truncate(self.log_file, size)
        if not shm:
            os.unlink(self.place / "engram.db-shm")
        self.look_again()

    def cut_log(self, before: bytes, cut: float) -> None:
        """Leave as much of what was written last as there is when SQLite is killed meanwhile."""
        after = self.log_file.read_bytes()
        least = len(before) if before[SALTS] == after[SALTS] else 0
        os.truncate(self.log_file, least + round((len(after) - least) * cut))

    def find_out(
        self,
        doing: str,
        done: Done | None,
        changes: tuple[FileChange, ...],
        expected: dict[str, Expected],
        killed: bool,
    ) -> None:
        disk = self.on_disk()
        here = {name: not each.fault(disk.get(name)) for name, each in expected.items()}
        away = {name: disk.get(name) == self.model.files.get(name) for name in expected}
        assert all(here.values()) or all(away.values()), "half a transaction"
        super().find_out(doing, done, changes, expected, killed)

    # ---- what must hold after every step -------------------------------------------------------

    @invariant()
    def what_is_shown_is_what_is_there(self) -> None:
        """And looking leaves the database and what lies beside it as it is."""
        before = self.bytes_there()
        super().what_is_shown_is_what_is_there()
        assert self.bytes_there() == before, "looking wrote"

    def look_again(self) -> None:
        before = self.bytes_there()
        self.library.refresh()
        assert self.bytes_there() == before, "looking wrote"

    def bytes_there(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.place.glob("engram.db*")}
