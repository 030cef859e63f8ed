"""Name, find, compare and insert single rows."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memtui.changes import RowEdit
from memtui.errors import Conflict, MemtuiError, Refused
from memtui.stores.engram.connection import run_read
from memtui.stores.engram.rebuild import dump
from memtui.stores.engram.records import (
    from_json_value,
    is_valid_text,
    text,
    to_json_value,
)
from memtui.stores.engram.schema import Schema, inspect
from memtui.stores.format import WHOLE, rows_digest

TABLES = ("observations", "memory_relations", "sessions", "user_prompts", "observation_versions")
"""The tables whose rows an edit may name."""

Row = Mapping[str, Any]


def row_name(edit: RowEdit) -> str:
    """The name of a row for the recorder: `/x/engram.db#observations{"id": 7}`."""
    return f"{edit.path}#{edit.table}{json.dumps(dict(edit.key), sort_keys=True)}"


def row_digest(row: Row | None) -> str:
    """SHA-256 of a row's columns; '' for no row."""
    if row is None:
        return ""
    held = {name: to_json_value(value) for name, value in row.items()}
    return hashlib.sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()


def current_digest(name: str) -> str | None:
    """The digest of the row with this name as it is now; None if it names no Engram row."""
    if name.endswith(WHOLE):
        return _database_digest(Path(name.removesuffix(WHOLE)))
    table = next((each for each in TABLES if f"#{each}{{" in name), "")
    path, found, key = name.partition(f"#{table}{{")
    if not table or not found:
        return None
    try:
        edit = RowEdit(path, table, json.loads("{" + key), None, None)
        return run_read(Path(path), lambda c: row_digest(find_row(c, inspect(c), edit)))
    except (ValueError, sqlite3.Error, MemtuiError):
        return None


def _database_digest(file: Path) -> str | None:
    if not file.exists():
        return ""
    try:
        return rows_digest(dump(file))
    except MemtuiError:
        return None


def find_row(
    connection: sqlite3.Connection, schema: Schema, edit: RowEdit
) -> dict[str, Any] | None:
    """Find the row of an edit. Raises Conflict if its key matches several, Refused, sqlite3.Error.

    Column names go into SQL as they are, so only those of the table itself may pass.
    """
    known = schema.tables.get(edit.table, frozenset())
    strange = (set(edit.key) | set(edit.before or ()) | set(edit.after or ())) - known
    if strange or not edit.key:
        what = f"no column {min(strange)!r}" if strange else "no row without a key"
        raise Refused(f"{edit.table} has {what}", where=edit.path)
    where = " AND ".join(f'"{name}" IS ?' for name in edit.key)
    found = connection.execute(
        f"SELECT * FROM {edit.table} WHERE {where}", tuple(map(from_json_value, edit.key.values()))
    ).fetchall()
    if len(found) > 1:
        raise Conflict("several rows have this key", where=row_name(edit))
    return dict(found[0]) if found else None


def insert_row(
    connection: sqlite3.Connection, schema: Schema, table: str, columns: Mapping[str, Any]
) -> int:
    """Insert the columns that the table has; returns the row number. Raises sqlite3.Error."""
    held = {name: value for name, value in columns.items() if schema.has(table, name)}
    names = ", ".join(f'"{name}"' for name in held)
    cursor = connection.execute(
        f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(held))})",
        tuple(held.values()),
    )
    return cursor.lastrowid or 0


def refuse_damaged(row: Row) -> None:
    if any(isinstance(value, str) and not is_valid_text(value) for value in row.values()):
        raise Refused(
            "the row holds text that is not UTF-8 (Engram cut it in mid-character);"
            " writing it back would change it"
        )


def describe_columns(columns: Row | None, edit: RowEdit, row: Row | None) -> str | None:
    """The changed columns for display: the content alone, or `name: value` lines."""
    if columns is None:
        return None
    before, after = edit.before or {}, edit.after or {}
    names = [
        name
        for name in {**before, **after}
        if before.get(name) != after.get(name)
        or (row is not None and name in before and row[name] != from_json_value(before[name]))
    ]
    if names == ["content"]:
        return text(columns.get("content"))
    ordered = sorted(names, key=lambda name: (name == "content", name))
    return "\n".join(f"{name}: {text(columns.get(name))}" for name in ordered)
