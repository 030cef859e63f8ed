"""Rows and their values, as text and JSON (bytes that are not UTF-8 as lone surrogates)."""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memtui.changes import Edit, invert_edits
from memtui.errors import Conflict, MemtuiError, Refused, SaveError
from memtui.files.save_hooks import WriteRecorder

Row = Mapping[str, Any]

DAMAGED = "invalid_utf8"
"""Key in `extra` that names the columns whose bytes are not UTF-8."""


def text(value: object) -> str:
    """A text column for display: invalid UTF-8 replaced, NULL empty."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return str(value)
    if is_valid_text(value):
        return value
    try:
        return encode(value).decode("utf-8", "replace")
    except UnicodeEncodeError:  # half a character that stands for no byte: it is not from a column
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def is_valid_text(value: str) -> bool:
    """Whether the column's bytes were UTF-8 (invalid ones are read as lone surrogates)."""
    if value.isascii():
        return True
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def encode(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


def to_json_value(value: object) -> object:
    """Convert a column value to JSON; bytes become {"base64": ...}."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, str):
        return text(value)
    return value


def from_json_value(value: object) -> object:
    """The inverse of `to_json_value`."""
    if isinstance(value, Mapping) and set(value) == {"base64"}:
        return base64.b64decode(value["base64"])
    return value


def remaining_columns(row: Row, used: Collection[str]) -> dict[str, Any]:
    """Every column without a field of its own, except NULLs."""
    extra = {
        name: to_json_value(row[name]) for name in row if name not in used and row[name] is not None
    }
    damaged = [
        name for name, value in row.items() if isinstance(value, str) and not is_valid_text(value)
    ]
    if damaged:
        extra[DAMAGED] = damaged
    return extra


def row_name(edit: Edit) -> str:
    """The name of a row for the recorder: `/x/engram.db#observations{"id": 7}`."""
    return f"{edit.path}#{edit.table}{json.dumps(edit.row, sort_keys=True)}"


def row_digest(row: Row | None) -> str:
    """SHA-256 of a row's columns; '' for no row."""
    if row is None:
        return ""
    values = {name: to_json_value(value) for name, value in row.items()}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def find_row(
    connection: sqlite3.Connection, known: Collection[str], edit: Edit
) -> dict[str, Any] | None:
    """Find the row of an edit. Raises Conflict if its key matches several, Refused, sqlite3.Error.

    Column names go into SQL as they are, so only those of the table itself (`known`) may pass.
    """
    strange = (set(edit.row) | set(edit.before or ()) | set(edit.after or ())) - set(known)
    if strange or not edit.row:
        problem = f"no column {min(strange)!r}" if strange else "no row without a key"
        raise Refused(f"{edit.table} has {problem}", where=edit.path)
    where = " AND ".join(f'"{name}" IS ?' for name in edit.row)
    found = connection.execute(
        f"SELECT * FROM {edit.table} WHERE {where}", tuple(map(from_json_value, edit.row.values()))
    ).fetchall()
    if len(found) > 1:
        raise Conflict("several rows have this key", where=row_name(edit))
    return dict(found[0]) if found else None


def insert_row(connection: sqlite3.Connection, table: str, columns: Mapping[str, Any]) -> int:
    """Insert a row; returns its number. Raises sqlite3.Error."""
    names = ", ".join(f'"{name}"' for name in columns)
    cursor = connection.execute(
        f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})",
        tuple(columns.values()),
    )
    return cursor.lastrowid or 0


def refuse_damaged(row: Row) -> None:
    if any(isinstance(value, str) and not is_valid_text(value) for value in row.values()):
        raise Refused(
            "the row holds text that is not UTF-8 (its program cut it in mid-character);"
            " writing it back would change it"
        )


def row_conflict(edit: Edit, row: Row | None, problem: str = "") -> Conflict:
    """The conflict of an edit with its row as it is now; `problem`: what the row does not say."""
    return Conflict(
        problem or ("the row is gone" if row is None else "the row changed since it was read"),
        where=row_name(edit),
        base=describe_columns(edit.before, edit, row),
        theirs=describe_columns(row, edit, row),
        yours=describe_columns(edit.after, edit, row),
    )


def describe_columns(columns: Row | None, edit: Edit, row: Row | None) -> str | None:
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


@contextmanager
def saved_beside(edits: tuple[Edit, ...], recorder: WriteRecorder, root: Path) -> Iterator[None]:
    """Save these edits of files, and take them back if the block raises an exception."""
    if not edits:
        yield
        return
    from memtui.files import save_transaction

    try:
        save_transaction.commit(edits, recorder, root=root)
        yield
    except BaseException as error:
        try:
            save_transaction.commit(invert_edits(edits), recorder, root=root)
        except Conflict:
            raise error from None  # they are not in the file: `commit` had taken them back
        except MemtuiError as failure:
            raise SaveError(
                f"only a part was saved: {error}", where=failure.where, do="undo reverts it"
            ) from error
        raise
