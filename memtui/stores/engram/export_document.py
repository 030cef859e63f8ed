"""Engram's own JSON, as its `engram export` writes it (byte for byte, checked on a July file).

Two versions: `0.1.0` (July 2026) holds sessions, observations and prompts, but no pins and no
relations; `0.2.0` (v3) adds both, the owner of a session, where a prompt came from and the
tombstones of prompts, so nothing that Engram can carry is lost. (Keys and order of 0.2.0 are those
of Session, backupObservation, Prompt, BackupRelation and PromptTombstone in v3's store.go; no file
of that version was seen.) What neither can hold stays behind: former versions of a text,
embeddings, what has been synchronised.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from memtui.errors import Refused, StoreError
from memtui.stores.engram import NAME, database_file, rules
from memtui.stores.engram.connection import run_read
from memtui.stores.engram.records import PROMPT as PROMPT_PREFIX
from memtui.stores.engram.records import SESSION as SESSION_PREFIX
from memtui.stores.engram.records import text
from memtui.stores.engram.schema import Schema, inspect
from memtui.stores.format import ExportedDocument, ExportRequest
from memtui.text import number

T = TypeVar("T")

PLAIN, FULL = "0.1.0", "0.2.0"
VERSIONS = (PLAIN, FULL)

SESSION = ("id", "project", "ownership_mode", "directory", "started_at", "ended_at", "summary")
OBSERVATION = (
    "id",
    "sync_id",
    "session_id",
    "type",
    "title",
    "content",
    "tool_name",
    "project",
    "scope",
    "topic_key",
    "revision_count",
    "duplicate_count",
    "last_seen_at",
    "review_after",
    "created_at",
    "updated_at",
    "deleted_at",
    "pinned",
)
PROMPT = (
    "source_inbox_id",
    "id",
    "sync_id",
    "session_id",
    "content",
    "project",
    "created_at",
)
RELATION = (
    "sync_id",
    "source_id",
    "target_id",
    "relation",
    "reason",
    "evidence",
    "confidence",
    "judgment_status",
    "marked_by_actor",
    "marked_by_kind",
    "marked_by_model",
    "session_id",
    "superseded_at",
    "superseded_by_relation_sync_id",
    "created_at",
    "updated_at",
)
TOMBSTONE = ("sync_id", "session_id", "project", "source_inbox_id", "deleted_at")
_FULL_ONLY = frozenset({"ownership_mode", "pinned", "source_inbox_id"})
"""Columns that version 0.1.0 does not know."""

Row = Mapping[str, Any]


def export_memories(request: ExportRequest) -> ExportedDocument:
    """The export of the one store that the memories lie in (`Format.document`).

    Raises Refused when they lie in several, or in one of another format; StoreError.
    """
    labels = {memory.store for memory in request.memories}
    stores = [store for store in request.stores if store.label in labels or not labels]
    if len(stores) != 1 or stores[0].format != NAME:
        raise Refused("this form is for one Engram store", do="choose one with --store")
    complete = stores[0].label in request.complete
    ids = None if complete else {memory.id for memory in request.memories}
    file = database_file(stores[0].root)
    document = export(file, request.now, FULL, ids)
    return ExportedDocument(document + "\n", tuple(left_out(file, FULL, ids)))


def export(
    file: Path, moment: datetime, version: str = FULL, only: Collection[str] | None = None
) -> str:
    """The database as Engram's JSON; `only` are the ids of the memories wanted.

    With `only`, sessions and relations are those that these memories need, and no tombstone comes
    along. Raises StoreError.
    """
    document = _read_database(file, lambda connection: _Document(connection, version, only).whole())
    head = {"version": version, "exported_at": rules.timestamp(moment)}
    return rules.go_json(head | document, indent=2)


def left_out(file: Path, version: str = FULL, only: Collection[str] | None = None) -> list[str]:
    """What such an export cannot hold of these memories, and why. Raises StoreError."""
    return _read_database(file, lambda connection: _Document(connection, version, only).missing())


def _read_database(file: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    try:
        return run_read(file, work)
    except sqlite3.Error as error:
        raise StoreError(f"SQLite: {error}", where=str(file)) from error


class _Document:
    """Collects the rows of one export. Raises sqlite3.Error."""

    def __init__(
        self, connection: sqlite3.Connection, version: str, only: Collection[str] | None
    ) -> None:
        self._connection = connection
        self._schema = inspect(connection)
        self._version = version
        self._only = only
        self.observations = self._chosen("observations", OBSERVATION, "id", "")
        self.prompts = self._chosen("user_prompts", PROMPT, "id", PROMPT_PREFIX)
        for row in self.observations:
            if "pinned" in row:
                row["pinned"] = bool(row["pinned"])

    def whole(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "sessions": self._sessions(),
            "observations": self.observations,
            "prompts": self.prompts,
        }
        if self._version == FULL:
            extra = {"relations": self._relations(), "prompt_tombstones": self._tombstones()}
            found |= {name: rows for name, rows in extra.items() if rows}
        return found

    def missing(self) -> list[str]:
        """What the document does not hold, one line for each kind."""
        found = []
        if self._schema.has("observation_versions", "observation_id"):
            numbers = {row["id"] for row in self.observations}
            versions = self._connection.execute("SELECT observation_id FROM observation_versions")
            count = sum(number in numbers for (number,) in versions)
            found.append((count, "former versions", "Engram's export has no place for them"))
        if self._schema.has("observations", "embedding"):
            count = self._count("observations WHERE embedding IS NOT NULL")
            found.append((count, "embeddings", "Engram's export has no place for them"))
        if self._only is not None:
            ends = len(list(_relations(self._connection, self._schema))) - len(self._relations())
            found.append((ends, "relations", "one of their ends is not among these memories"))
            if self._schema.has("prompt_tombstones"):
                count = self._count("prompt_tombstones")
                found.append((count, "notes of deleted prompts", "only a whole store has them"))
        return [f"{number(count)} {label} ({why})" for count, label, why in found if count]

    def _count(self, where: str) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM {where}").fetchone()[0])

    def _chosen(
        self, table: str, columns: Sequence[str], order: str, prefix: str
    ) -> list[dict[str, Any]]:
        return [
            row
            for row in self._rows(table, columns, order)
            if self._only is None or f"{prefix}{row['id']}" in self._only
        ]

    def _sessions(self) -> list[dict[str, Any]]:
        needed = {row["session_id"] for row in (*self.observations, *self.prompts)}
        return [
            row
            for row in self._rows("sessions", SESSION, "started_at, rowid")
            if self._only is None
            or row["id"] in needed
            or f"{SESSION_PREFIX}{row['id']}" in self._only
        ]

    def _relations(self) -> list[dict[str, Any]]:
        ends = {row.get("sync_id") for row in self.observations}
        return [
            row
            for row in _relations(self._connection, self._schema)
            if self._only is None or ends >= {row.get("source_id"), row.get("target_id")}
        ]

    def _tombstones(self) -> list[dict[str, Any]]:
        return (
            [] if self._only is not None else self._rows("prompt_tombstones", TOMBSTONE, "sync_id")
        )

    def _rows(self, table: str, columns: Sequence[str], order: str) -> list[dict[str, Any]]:
        rows = [
            name
            for name in columns
            if self._schema.has(table, name) and (self._version == FULL or name not in _FULL_ONLY)
        ]
        if not rows:
            return []
        cursor = self._connection.execute(f"SELECT {', '.join(rows)} FROM {table} ORDER BY {order}")
        return [_without_nulls(dict(row), columns) for row in cursor]


def _relations(connection: sqlite3.Connection, schema: Schema) -> Iterable[dict[str, Any]]:
    if not schema.has("memory_relations"):
        return ()
    own = [name for name in RELATION if schema.has("memory_relations", name)]
    chosen = ", ".join(f"r.{name}" for name in own)
    cursor = connection.execute(
        f"SELECT {chosen}, s.sync_id AS superseded_by_relation_sync_id FROM memory_relations r"
        " LEFT JOIN memory_relations s ON s.id = r.superseded_by_relation_id "
        " ORDER BY r.created_at, r.sync_id"
    )
    return [_without_nulls(dict(row), RELATION) for row in cursor]


def _without_nulls(row: Row, order: Sequence[str]) -> dict[str, Any]:
    """A row as Go writes a struct: in the order of its fields, without NULLs."""
    found = {}
    for name in order:
        value = row.get(name)
        if value is not None:
            found[name] = text(value) if isinstance(value, str) else value
    return found
