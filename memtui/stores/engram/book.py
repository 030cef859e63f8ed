"""What Engram itself notes down about every change: sync rows, former versions, tombstones.

Without these rows the cloud and git synchronisation never sees a change. The payloads have the
keys, the order and the escapes of Engram's own (checked against 654 payloads it wrote). Pins and
reviews are local in Engram and are not noted; relations only where their project is enrolled.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memtui.stores.engram.rules import go_json, project_name
from memtui.stores.engram.schema import Schema

TARGET = "cloud"
"""Engram's DefaultSyncTargetKey; each project has `cloud:<project>` beside it."""

_OBSERVATION_KEYS = (
    ("sync_id", False),
    ("session_id", False),
    ("type", False),
    ("title", False),
    ("content", False),
    ("tool_name", True),
    ("project", True),
    ("scope", False),
    ("topic_key", True),
    ("revision_count", False),
    ("duplicate_count", False),
    ("last_seen_at", True),
    ("created_at", True),
    ("updated_at", True),
)
"""Column and whether it is left out when it is NULL."""
_SESSION_KEYS = (
    ("id", False),
    ("project", False),
    ("directory", True),
    ("started_at", True),
    ("ended_at", True),
    ("summary", True),
)
_PROMPT_KEYS = (
    ("sync_id", False),
    ("session_id", False),
    ("content", False),
    ("project", True),
    ("created_at", True),
)
_RELATION_KEYS = (
    ("sync_id", False),
    ("source_id", False),
    ("target_id", False),
    ("relation", False),
    ("reason", True),
    ("evidence", True),
    ("confidence", True),
    ("judgment_status", False),
    ("marked_by_actor", True),
    ("marked_by_kind", True),
    ("marked_by_model", True),
    ("session_id", True),
)

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Book:
    """Book-keeping inside one transaction, all at one time. Raises sqlite3.Error."""

    connection: sqlite3.Connection
    schema: Schema
    now: str

    def observation_saved(self, row: Row) -> None:
        """`row` is the whole row as it is now."""
        payload = _payload(row, _OBSERVATION_KEYS)
        self._enqueue("observation", row, "upsert", payload)

    def observation_deleted(self, row: Row, deleted_at: str, *, hard: bool) -> None:
        """`row` as it was (hard) or is (soft)."""
        payload: dict[str, Any] = {
            "sync_id": row["sync_id"] or "",
            "session_id": row["session_id"],
            "type": "",
            "title": "",
            "content": "",
        }
        if row["project"] is not None:
            payload["project"] = row["project"]
        payload |= {"scope": "", "revision_count": 0, "duplicate_count": 0}
        payload |= {"deleted": True, "deleted_at": deleted_at}
        if hard:
            payload["hard_delete"] = True
        seq = self._enqueue("observation", row, "delete", payload)
        if hard:
            self._tombstone("observation", row, deleted_at, seq)

    def observation_returned(self, row: Row) -> None:
        """A row that was deleted for good is back: its tombstone no longer holds."""
        if self.schema.has("sync_delete_tombstones", "active"):
            self.connection.execute(
                "UPDATE sync_delete_tombstones SET active = 0"
                " WHERE entity = 'observation' AND entity_key = ?",
                (row["sync_id"],),
            )

    def session_saved(self, row: Row) -> None:
        self._enqueue("session", row, "upsert", _payload(row, _SESSION_KEYS), key=row["id"])

    def session_deleted(self, row: Row) -> None:
        payload = {"id": row["id"], "project": row["project"], "deleted": True}
        payload |= {"deleted_at": self.now, "hard_delete": True}
        self._enqueue("session", row, "delete", payload, key=row["id"])

    def prompt_saved(self, row: Row) -> None:
        if self.schema.has("prompt_tombstones", "sync_id"):
            self.connection.execute(
                "DELETE FROM prompt_tombstones WHERE sync_id = ?", (row["sync_id"],)
            )
        self._enqueue("prompt", row, "upsert", _payload(row, _PROMPT_KEYS))

    def prompt_deleted(self, row: Row) -> None:
        if self.schema.has("prompt_tombstones", "sync_id"):
            self.connection.execute(
                "INSERT OR REPLACE INTO prompt_tombstones"
                " (sync_id, session_id, project, deleted_at) VALUES (?, ?, ?, ?)",
                (row["sync_id"], row["session_id"], row["project"], self.now),
            )
        payload: dict[str, Any] = {
            "sync_id": row["sync_id"],
            "session_id": row["session_id"],
            "content": "",
        }
        if row["project"] is not None:
            payload["project"] = row["project"]
        payload |= {"deleted": True, "deleted_at": self.now, "hard_delete": True}
        self._enqueue("prompt", row, "delete", payload)

    def relation_saved(self, row: Row) -> None:
        """Noted like Engram's JudgeRelation does: a verdict, in an enrolled project."""
        project = self.relation_project(row)
        marked = row["marked_by_actor"] and row["marked_by_kind"]
        if row["judgment_status"] != "judged" or not marked or not self.enrolled(project):
            return
        payload = _payload(row, _RELATION_KEYS) | {
            "project": project,
            "created_at": row["created_at"],
            "updated_at": row["updated_at"],
        }
        self._enqueue("relation", {**row, "project": project}, "upsert", payload)

    def relation_project(self, row: Row) -> str:
        """Project of the source, or of its session."""
        found = self.connection.execute(
            "SELECT coalesce(nullif(o.project, ''), s.project, '') FROM observations o"
            " LEFT JOIN sessions s ON s.id = o.session_id WHERE o.sync_id = ?"
            " ORDER BY o.id DESC LIMIT 1",
            (row["source_id"],),
        ).fetchone()
        return str(found[0]) if found else ""

    def enrolled(self, project: str) -> bool:
        if not self.schema.has("sync_enrolled_projects"):
            return False
        found = self.connection.execute(
            "SELECT 1 FROM sync_enrolled_projects WHERE project = ?", (project,)
        ).fetchone()
        return found is not None

    def keep_version(self, row: Row) -> None:
        """v3: the title and the text before they are overwritten, 1 being the oldest."""
        if not self.schema.keeps_versions:
            return
        self.connection.execute(
            "INSERT INTO observation_versions (observation_id, title, content, version, created_at)"
            " SELECT ?, ?, ?, coalesce(max(version), 0) + 1, ? FROM observation_versions"
            " WHERE observation_id = ?",
            (row["id"], row["title"], row["content"], self.now, row["id"]),
        )

    def _enqueue(
        self, entity: str, row: Row, op: str, payload: Mapping[str, Any], *, key: str = ""
    ) -> int:
        project = self._project(row)
        self._wake(TARGET)
        columns = {
            "target_key": TARGET,
            "entity": entity,
            "entity_key": key or row["sync_id"] or "",
            "op": op,
            "payload": go_json(payload),
            "source": "local",
            "occurred_at": self.now,
            "project": project,
        }
        seq = insert(self.connection, self.schema, "sync_mutations", columns)
        self._pending(TARGET, seq)
        if project:
            self._wake(f"{TARGET}:{project}")
            self._pending(f"{TARGET}:{project}", seq)
        return seq

    def _project(self, row: Row) -> str:
        project = project_name(str(row.get("project") or ""))
        if project or not row.get("session_id"):
            return project
        found = self.connection.execute(
            "SELECT project FROM sessions WHERE id = ?", (row["session_id"],)
        ).fetchone()
        return project_name(str(found[0] or "")) if found else ""

    def _wake(self, target: str) -> None:
        self.connection.execute(
            "INSERT OR IGNORE INTO sync_state (target_key, lifecycle, updated_at)"
            " VALUES (?, 'idle', ?)",
            (target, self.now),
        )

    def _pending(self, target: str, seq: int) -> None:
        self.connection.execute(
            "UPDATE sync_state SET lifecycle = 'pending', last_enqueued_seq = ?, updated_at = ?"
            " WHERE target_key = ?",
            (seq, self.now, target),
        )

    def _tombstone(self, entity: str, row: Row, deleted_at: str, seq: int) -> None:
        """v3 keeps what was deleted for good from coming back by an old pull."""
        if not self.schema.has("sync_delete_tombstones", "last_mutation_seq"):
            return
        self.connection.execute(
            "INSERT INTO sync_delete_tombstones (entity, entity_key, session_id, project,"
            " deleted_at, hard_delete, active, last_mutation_seq) VALUES (?, ?, ?, ?, ?, 1, 1, ?)"
            " ON CONFLICT (entity, entity_key) DO UPDATE SET deleted_at = excluded.deleted_at,"
            " hard_delete = 1, active = 1, last_mutation_seq = excluded.last_mutation_seq",
            (entity, row["sync_id"], row["session_id"], self._project(row), deleted_at, seq),
        )


def insert(
    connection: sqlite3.Connection, schema: Schema, table: str, columns: Mapping[str, Any]
) -> int:
    """Insert the columns that the table has; its row number. Raises sqlite3.Error."""
    held = {name: value for name, value in columns.items() if schema.has(table, name)}
    names = ", ".join(f'"{name}"' for name in held)
    cursor = connection.execute(
        f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(held))})",
        tuple(held.values()),
    )
    return cursor.lastrowid or 0


def _payload(row: Row, keys: tuple[tuple[str, bool], ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, optional in keys:
        value = row.get(name)
        if value is None and optional:
            continue
        found[name] = "" if value is None else value
    return found
