"""Engram's own JSON, as its `engram export` writes it (byte for byte, checked on a July file).

Two versions: `0.1.0` (July 2026) holds sessions, observations and prompts, but no pins and no
relations; `0.2.0` (v3) adds both, and the tombstones of prompts, so nothing that Engram can carry
is lost. (The place of `pinned` and the keys of a relation are read from Engram's structs; no
file of version 0.2.0 was seen.) What neither can hold stays behind: former versions of a text,
embeddings, what has been synchronised.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.errors import StoreError
from memtui.stores.engram import rules
from memtui.stores.engram.connect import look
from memtui.stores.engram.rows import text
from memtui.stores.engram.schema import Schema, inspect

PLAIN, FULL = "0.1.0", "0.2.0"
VERSIONS = (PLAIN, FULL)

SESSION = ("id", "project", "directory", "started_at", "ended_at", "summary")
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
    "pinned",
    "created_at",
    "updated_at",
    "deleted_at",
)
PROMPT = ("id", "sync_id", "session_id", "content", "project", "created_at")
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
    "superseded_by",
    "created_at",
    "updated_at",
)
TOMBSTONE = ("sync_id", "session_id", "project", "deleted_at")
Row = Mapping[str, Any]


def export(
    file: Path, moment: datetime, version: str = FULL, only: Collection[int] | None = None
) -> str:
    """The database as Engram's JSON; `only` are the numbers of the observations wanted.

    With `only`, sessions and relations are those that these observations need, and prompts are
    left out. Raises StoreError.
    """

    def work(connection: sqlite3.Connection) -> dict[str, Any]:
        return _document(connection, inspect(connection), version, only)

    try:
        document = look(file, work)
    except sqlite3.Error as error:
        raise StoreError(f"SQLite: {error}", where=str(file)) from error
    head = {"version": version, "exported_at": rules.timestamp(moment)}
    return rules.go_json(head | document, indent=2)


def _document(
    connection: sqlite3.Connection, schema: Schema, version: str, only: Collection[int] | None
) -> dict[str, Any]:
    observations = [
        row
        for row in _rows(connection, schema, "observations", OBSERVATION, "id")
        if only is None or row["id"] in only
    ]
    for row in observations:
        if version == PLAIN:
            row.pop("pinned", None)
        elif "pinned" in row:
            row["pinned"] = bool(row["pinned"])
    needed = {row["session_id"] for row in observations}
    sessions = _rows(connection, schema, "sessions", SESSION, "started_at, rowid")
    prompts = _rows(connection, schema, "user_prompts", PROMPT, "id")
    document: dict[str, Any] = {
        "sessions": [row for row in sessions if only is None or row["id"] in needed],
        "observations": observations,
        "prompts": list(prompts) if only is None else [],
    }
    if version == FULL:
        ends = {row.get("sync_id") for row in observations}
        document["relations"] = [
            row
            for row in _relations(connection, schema)
            if only is None or ends >= {row["source_id"], row["target_id"]}
        ]
        tombstones = _rows(connection, schema, "prompt_tombstones", TOMBSTONE, "deleted_at")
        document["prompt_tombstones"] = list(tombstones) if only is None else []
    return document


def _relations(connection: sqlite3.Connection, schema: Schema) -> Iterable[dict[str, Any]]:
    if not schema.has("memory_relations"):
        return ()
    own = [name for name in RELATION if schema.has("memory_relations", name)]
    chosen = ", ".join(f"r.{name}" for name in own)
    cursor = connection.execute(
        f"SELECT {chosen}, s.sync_id AS superseded_by FROM memory_relations r"
        " LEFT JOIN memory_relations s ON s.id = r.superseded_by_relation_id ORDER BY r.id"
    )
    return [_present(dict(row), RELATION) for row in cursor]


def _rows(
    connection: sqlite3.Connection,
    schema: Schema,
    table: str,
    columns: Sequence[str],
    order: str,
) -> Iterable[dict[str, Any]]:
    held = [name for name in columns if schema.has(table, name)]
    if not held:
        return ()
    cursor = connection.execute(f"SELECT {', '.join(held)} FROM {table} ORDER BY {order}")
    return [_present(dict(row), columns) for row in cursor]


def _present(row: Row, order: Sequence[str]) -> dict[str, Any]:
    """As Go writes a struct: in the order of its fields, NULLs left out."""
    found = {}
    for name in order:
        value = row.get(name)
        if value is not None:
            found[name] = text(value) if isinstance(value, str) else value
    return found
