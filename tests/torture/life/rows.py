"""The rows of an Engram database as the files of the model, read and written with sqlite3 alone.

Each row is a JSON object under its name (`observations/obs-1.json`). What Engram counts and dates
by itself, and the number that SQLite gives a row, is left out: it moves on when a change is undone.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.torture.life.model import Clash, Expected, FileChange

KEYS = {"observations": "sync_id", "memory_relations": "sync_id", "user_prompts": "id"}
"""Tables of the model, and the column that names a row."""
MOVING = frozenset({"id", "updated_at", "revision_count", "normalized_hash"})
"""Columns that are no part of a row's value."""

Row = dict[str, Any]
Step = tuple[Row | None, Row | None]
"""Columns that must be there, and what they become; None for no row."""


def name_of(table: str, key: object) -> str:
    return f"{table}/{key}.json"


def dumped(row: Mapping[str, Any] | None) -> bytes | None:
    return None if row is None else json.dumps(dict(sorted(row.items()))).encode()


def loaded(data: bytes | None) -> Row | None:
    return None if data is None else dict(json.loads(data))


def without_moving(columns: Mapping[str, Any] | None) -> Row | None:
    if columns is None:
        return None
    return {name: value for name, value in columns.items() if name not in MOVING}


@contextmanager
def copied(folder: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a copy, so that what lies beside the database stays as it is."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as elsewhere:
        for path in folder.glob("engram.db*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, elsewhere)
        with closing(sqlite3.connect(Path(elsewhere, "engram.db"))) as connection:
            connection.row_factory = sqlite3.Row
            yield connection


def rows_of(folder: Path) -> dict[str, bytes]:
    """Every row of the tables of the model, by name."""
    found: dict[str, bytes] = {}
    with copied(folder) as connection:
        for table, key in KEYS.items():
            for row in map(dict, connection.execute(f"SELECT * FROM {table}")):
                name = name_of(table, row[key])
                assert name not in found, f"{name} occurs twice"
                found[name] = dumped(without_moving(row)) or b""
    return found


def sessions_of(folder: Path) -> set[str]:
    with copied(folder) as connection:
        return {row[0] for row in connection.execute("SELECT id FROM sessions")}


def defaults_of(folder: Path, table: str) -> Row:
    """A row of which nothing is said."""
    with copied(folder) as connection:
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        selected = ", ".join(f"{c['dflt_value'] or 'NULL'} AS {c['name']}" for c in columns)
        return without_moving(dict(connection.execute(f"SELECT {selected}").fetchone())) or {}


@dataclass(frozen=True)
class RowChange(FileChange):
    """What a change does to one row: one step after the other, each compare-and-set."""

    steps: tuple[Step, ...] = ()
    defaults: Mapping[str, Any] | None = None
    sessions: Callable[[], Collection[str]] = tuple
    """Those that a new row may name."""

    @property
    def turned(self) -> RowChange:
        back = tuple((after, before) for before, after in reversed(self.steps) if before != after)
        return RowChange(self.name, self.after, self.before, back, self.defaults, self.sessions)

    def expected(self, now: bytes | None) -> Expected:
        """What the steps make of the row as it is now. Raises Clash."""
        row = loaded(now)
        for before, after in self.steps:
            row = self._step(row, before, after)
        return Expected(self.name, dumped(row), exact=True)

    def _step(self, row: Row | None, before: Row | None, after: Row | None) -> Row | None:
        if before is None:
            if row is not None:
                raise Clash(f"{self.name} is there")
            session = (after or {}).get("session_id")
            if session is not None and session not in self.sessions():
                raise Clash(f"the session {session} is gone")
            return {**(self.defaults or {}), **(after or {})}
        if row is None:
            raise Clash(f"{self.name} is gone")
        other = [name for name in before if row[name] != before[name]]
        if other:
            raise Clash(f"{other[0]} of {self.name} is {row[other[0]]!r}")
        return None if after is None else {**row, **after}
