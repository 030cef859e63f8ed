"""Build a new Engram database from the rows of an export, with the tables of July 2026.

Engram itself makes no difference between this and a database of that time: every later version
adds what it needs when it opens it. Nothing is queued for synchronisation, as in Engram's own
import; enrolling a project queues all of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from memtui.stores.engram import adding, rules
from memtui.stores.engram.rebuild import lines_of
from memtui.stores.engram.records import text
from memtui.stores.engram.schema import Schema, inspect

_TIME = "TEXT NOT NULL DEFAULT (datetime('now'))"
_OBSERVED = "title, content, tool_name, type, project, topic_key"
_TABLES = f"""
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, project TEXT NOT NULL, directory TEXT NOT NULL,
  started_at {_TIME}, ended_at TEXT, summary TEXT);
CREATE TABLE observations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, session_id TEXT NOT NULL,
  type TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL, tool_name TEXT, project TEXT,
  scope TEXT NOT NULL DEFAULT 'project', topic_key TEXT, normalized_hash TEXT,
  revision_count INTEGER NOT NULL DEFAULT 1, duplicate_count INTEGER NOT NULL DEFAULT 1,
  last_seen_at TEXT, pinned BOOLEAN NOT NULL DEFAULT 0, created_at {_TIME}, updated_at {_TIME},
  deleted_at TEXT, review_after TEXT, expires_at TEXT,
  embedding BLOB, embedding_model TEXT, embedding_created_at TEXT,
  FOREIGN KEY (session_id) REFERENCES sessions(id));
CREATE INDEX idx_obs_sync_id ON observations(sync_id);
CREATE TABLE user_prompts (
  id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, session_id TEXT NOT NULL,
  content TEXT NOT NULL, project TEXT, created_at {_TIME},
  FOREIGN KEY (session_id) REFERENCES sessions(id));
CREATE TABLE prompt_tombstones (
  sync_id TEXT PRIMARY KEY, session_id TEXT, project TEXT, deleted_at {_TIME});
CREATE TABLE memory_relations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT NOT NULL UNIQUE,
  source_id TEXT, target_id TEXT, relation TEXT NOT NULL DEFAULT 'pending', reason TEXT,
  evidence TEXT, confidence REAL, judgment_status TEXT NOT NULL DEFAULT 'pending',
  marked_by_actor TEXT, marked_by_kind TEXT, marked_by_model TEXT, session_id TEXT,
  superseded_at TEXT,
  superseded_by_relation_id INTEGER REFERENCES memory_relations(id) ON DELETE SET NULL,
  created_at {_TIME}, updated_at {_TIME});
CREATE TABLE sync_state (
  target_key TEXT PRIMARY KEY, lifecycle TEXT NOT NULL DEFAULT 'idle',
  last_enqueued_seq INTEGER NOT NULL DEFAULT 0, last_acked_seq INTEGER NOT NULL DEFAULT 0,
  last_pulled_seq INTEGER NOT NULL DEFAULT 0, consecutive_failures INTEGER NOT NULL DEFAULT 0,
  backoff_until TEXT, lease_owner TEXT, lease_until TEXT, last_error TEXT, updated_at {_TIME},
  reason_code TEXT, reason_message TEXT);
CREATE TABLE sync_mutations (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, target_key TEXT NOT NULL, entity TEXT NOT NULL,
  entity_key TEXT NOT NULL, op TEXT NOT NULL, payload TEXT NOT NULL,
  source TEXT NOT NULL DEFAULT 'local', occurred_at {_TIME}, acked_at TEXT,
  project TEXT NOT NULL DEFAULT '',
  FOREIGN KEY (target_key) REFERENCES sync_state(target_key));
CREATE TABLE sync_enrolled_projects (project TEXT PRIMARY KEY, enrolled_at {_TIME});
CREATE VIRTUAL TABLE observations_fts USING fts5(
  {_OBSERVED}, content='observations', content_rowid='id');
CREATE VIRTUAL TABLE prompts_fts USING fts5(
  content, project, content='user_prompts', content_rowid='id');
"""


def _index_triggers(table: str, index: str, prefix: str, columns: str) -> str:
    """The triggers that update a full-text index with its table, under Engram's names."""
    old, new = (
        ", ".join(f"{side}.{name}" for name in columns.split(", ")) for side in ("old", "new")
    )
    insert = f"INSERT INTO {index}(rowid, {columns}) VALUES (new.id, {new});"
    delete = f"INSERT INTO {index}({index}, rowid, {columns}) VALUES ('delete', old.id, {old});"
    acts = (("insert", insert), ("delete", delete), ("update", delete + insert))
    return "".join(
        f"CREATE TRIGGER {prefix}_{act} AFTER {act.upper()} ON {table} BEGIN {statement} END;\n"
        for act, statement in acts
    )


_TRIGGERS = _index_triggers(
    "observations", "observations_fts", "obs_fts", _OBSERVED
) + _index_triggers("user_prompts", "prompts_fts", "prompt_fts", "content, project")
_V3_COLUMNS = (
    ("sessions", "ownership_mode"),
    ("user_prompts", "source_inbox_id"),
    ("prompt_tombstones", "source_inbox_id"),
)
"""Columns of v3: made where the export has a value for one. v3 itself adds what is missing."""

Row = Mapping[str, Any]
Rows = Mapping[str, Sequence[Row]]


def database_lines(rows: Rows) -> list[str]:
    """The database of these rows as lines (see `rebuild`).

    Raises sqlite3.Error for rows that go into no table.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        connection.executescript(_TABLES + _TRIGGERS)
        _TableWriter(connection, rows).fill()
        connection.row_factory = None
        return list(lines_of(connection))


class _TableWriter:
    """Writes the rows of an export into empty tables, numbers included."""

    def __init__(self, connection: sqlite3.Connection, rows: Rows) -> None:
        self._connection = connection
        self._rows = rows
        self._numbers: set[tuple[str, int]] = set()
        self._add_later_columns()
        self._schema: Schema = inspect(connection)

    def fill(self) -> None:
        for row in self._rows["sessions"]:
            self._insert_row("sessions", adding.imported_session_row(self._schema, row))
        for name, table in (("observations", "observations"), ("prompts", "user_prompts")):
            for number, row in enumerate(self._rows[name], 1):
                self._needs_session(row)
                self._insert_row(table, self._memory(table, number, row))
        for row in self._rows["relations"]:
            self._insert_row("memory_relations", self._relation(row))
        for row in self._rows["relations"]:
            self._supersede(row)
        for row in self._rows["prompt_tombstones"]:
            self._insert_row("prompt_tombstones", row)

    def _add_later_columns(self) -> None:
        lists = {"user_prompts": "prompts"}
        for table, column in _V3_COLUMNS:
            if any(row.get(column) for row in self._rows[lists.get(table, table)]):
                self._connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} TEXT")

    def _needs_session(self, row: Row) -> None:
        needed = adding.session_edits(
            "",
            self._connection,
            self._schema,
            text(row["session_id"]),
            text(row.get("project")),
            row["created_at"],
        )
        for edit in needed:
            if edit.before is None:
                self._insert_row("sessions", edit.after or {})

    def _memory(self, table: str, number: int, row: Row) -> dict[str, Any]:
        """Give rows of early exports the number and sync_id they lack, the same ones every time."""
        columns = {"id": number, **row}
        if (table, columns["id"]) in self._numbers:
            del columns["id"]
        else:
            self._numbers.add((table, columns["id"]))
        if table == "observations":
            columns["normalized_hash"] = rules.content_hash(text(row["content"]))
            columns["pinned"] = int(row.get("pinned") or 0)
            columns.setdefault("updated_at", row["created_at"])
        if not columns.get("sync_id"):
            prefix = "obs" if table == "observations" else "prompt"
            named = f"{row['session_id']} {row['created_at']} {row['content']}"
            columns["sync_id"] = rules.sync_id_of(prefix, named)
        return columns

    def _relation(self, row: Row) -> dict[str, Any]:
        return {name: value for name, value in row.items() if not name.startswith("superseded_by")}

    def _supersede(self, row: Row) -> None:
        by = row.get("superseded_by_relation_sync_id") or row.get("superseded_by")
        if by:
            self._connection.execute(
                "UPDATE memory_relations SET superseded_by_relation_id ="
                " (SELECT id FROM memory_relations WHERE sync_id = ?) WHERE sync_id = ?",
                (by, row["sync_id"]),
            )

    def _insert_row(self, table: str, row: Row) -> None:
        """Insert a row unless its key exists, as Engram's own import does."""
        columns = {name: value for name, value in row.items() if self._schema.has(table, name)}
        names = ", ".join(f'"{name}"' for name in columns)
        self._connection.execute(
            f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})",
            tuple(columns.values()),
        )
