"""Name, find, compare and insert single rows; rows of sessions; edits that others have reverted."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import Edit, Kind, row_edit
from memtui.errors import MemtuiError
from memtui.files.revert_detection import CHANGED, HELD, EditSequence, EditState, EditStatus
from memtui.stores.engram.records import is_blank
from memtui.stores.engram.rules import MANUAL_SESSION, timestamp
from memtui.stores.engram.schema import Schema, inspect
from memtui.stores.sqlite import rows
from memtui.stores.sqlite.connection import run_read
from memtui.stores.sqlite.rows import from_json_value, text, to_json_value

TABLES = ("observations", "memory_relations", "sessions", "user_prompts", "observation_versions")
"""The tables whose rows an edit may name."""

Row = Mapping[str, Any]


class OpenDatabase(Struct, frozen=True):
    """A database that is read to plan changes. Methods raise sqlite3.Error."""

    path: str
    label: str
    connection: sqlite3.Connection
    schema: Schema
    moment: datetime
    ahead: int = 0
    """New observations that are planned before this change and not made yet."""

    @property
    def now(self) -> str:
        return timestamp(self.moment)

    @property
    def number(self) -> int:
        """The number that SQLite will give a new observation if nobody is faster."""
        found = self.connection.execute(
            "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'observations'), 0),"
            " coalesce((SELECT max(id) FROM observations), 0))"
        ).fetchone()
        return int(found[0]) + 1 + self.ahead

    def fetch(self, sql: str, values: tuple[object, ...]) -> dict[str, Any] | None:
        """The first row of a query."""
        row = self.connection.execute(sql, values).fetchone()
        return None if row is None else dict(row)


def find_row(connection: sqlite3.Connection, schema: Schema, edit: Edit) -> dict[str, Any] | None:
    """Find the row of an edit, see `sqlite.rows.find_row`."""
    return rows.find_row(connection, schema.tables.get(edit.table, frozenset()), edit)


def insert_row(
    connection: sqlite3.Connection, schema: Schema, table: str, columns: Mapping[str, Any]
) -> int:
    """Insert the columns that the table has; returns the row number. Raises sqlite3.Error."""
    return rows.insert_row(connection, table, schema.known(table, columns))


# ---- edits that other programs have reverted -----------------------------------------------------

MEMORY_TABLES = frozenset({"observations", "user_prompts", "memory_relations"})
"""Tables whose rows a person knows of; sessions and former versions only go with them."""
DERIVED = frozenset({"updated_at", "revision_count", "normalized_hash"})
"""Columns that move on by themselves: never compared when a whole row is taken away."""
ENGRAM_COLUMNS = DERIVED | {"duplicate_count", "last_seen_at", "id"}
"""Columns that Engram moves by itself."""

RowStatuses = list[tuple[EditSequence, EditStatus]]


def find_row_statuses(sequences: Sequence[EditSequence]) -> RowStatuses:
    """The status of each sequence of row edits, without those whose database cannot be read."""
    by_path: dict[str, list[tuple[EditSequence, list[Edit]]]] = {}
    for sequence in sequences:
        edits = [edit for edit in sequence if edit.kind is Kind.ROW]
        if edits and edits[0].table in MEMORY_TABLES:
            by_path.setdefault(edits[0].path, []).append((sequence, edits))
    found: RowStatuses = []
    for path, sequences_of_file in by_path.items():
        try:
            found += run_read(Path(path), partial(_statuses, sequences_of_file))
        except sqlite3.Error:
            continue
    return found


def _statuses(
    sequences: Sequence[tuple[EditSequence, list[Edit]]], connection: sqlite3.Connection
) -> RowStatuses:
    schema = inspect(connection)
    rows = [_row(connection, schema, edits[0]) for _, edits in sequences]
    updated = {
        (edits[0].table, row["id"])
        for row, (_, edits) in zip(rows, sequences, strict=True)
        if row and edits[0].before is not None
    }
    found: RowStatuses = []
    for row, (sequence, edits) in zip(rows, sequences, strict=True):
        status = _edit_status(edits, row, updated)
        if status is not None:
            found.append((sequence, status))
    return found


def _row(connection: sqlite3.Connection, schema: Schema, edit: Edit) -> Row | None:
    try:
        return find_row(connection, schema, edit)
    except MemtuiError:
        return None


def _edit_status(
    sequence: Sequence[Edit], row: Row | None, updated: set[tuple[str, Any]]
) -> EditStatus | None:
    newest = sequence[0]
    if newest.after is None:
        if row is None or row.get("judgment_status") == "orphaned":
            return HELD
        before = newest.before or {}
        if not all(
            _is_same(row[name], before[name]) for name in before if name not in ENGRAM_COLUMNS
        ):
            return CHANGED
        now = {name: to_json_value(row[name]) for name in before}
        return EditStatus(EditState.REVERTED, replace(newest, before=now, after=None))
    if newest.before is None:
        # A later edit of the same row, by its number, has the last word.
        known = row is not None and (newest.table, row["id"]) in updated
        return HELD if known else _insertion_status(newest, row)
    return CHANGED if row is None else _update_status(sequence, row)


def _insertion_status(edit: Edit, row: Row | None) -> EditStatus:
    if row is None:
        return EditStatus(EditState.REVERTED, edit)
    deleted_at = row.get("deleted_at")
    if deleted_at is None or (edit.after or {}).get("deleted_at") is not None:
        return HELD
    before, after = {"deleted_at": deleted_at}, {"deleted_at": None}
    return EditStatus(EditState.REVERTED, replace(edit, before=before, after=after))


def _update_status(sequence: Sequence[Edit], row: Row) -> EditStatus | None:
    written: dict[str, Any] = {}
    former: dict[str, list[Any]] = {}
    for edit in sequence:
        before, after = edit.before or {}, edit.after or {}
        for name in after.keys() - ENGRAM_COLUMNS:
            if not _is_same(after[name], before.get(name)):
                written.setdefault(name, after[name])
                former.setdefault(name, []).append(before.get(name))
    reverted_columns = [name for name in written if not _is_same(row[name], written[name])]
    back = [
        name for name in reverted_columns if any(_is_same(row[name], old) for old in former[name])
    ]
    if back:
        now = {name: to_json_value(row[name]) for name in back}
        reapplied = {name: written[name] for name in back}
        edit = sequence[0]
        return EditStatus(EditState.REVERTED, replace(edit, before=now, after=reapplied))
    if reverted_columns:
        return CHANGED
    return HELD if written else None


def _is_same(first: object, second: object) -> bool:
    return _read(from_json_value(first)) == _read(from_json_value(second))


def _read(value: object) -> object:
    return text(value) if value is None or isinstance(value, str | bytes) else value


# ---- sessions -----------------------------------------------------------------------------------

# Every observation and prompt must belong to a session, and a session needs a real directory:
# Engram refuses to deliver one without, and then delivers nothing of its project. `engram save`
# writes the current directory (cmdSave in main.go).

SHARED, OWNED = "shared", "project_owned"
"""v3's ownership modes: a session that may take writes for any project, or for its own only."""
OWNERSHIP_MODES = frozenset({"", SHARED, OWNED})
"""What a file may say; empty: nothing."""


def directory_for(connection: sqlite3.Connection, project: str) -> str:
    """The directory of the newest session of the project that has one, else the current one."""
    found = connection.execute(
        "SELECT directory FROM sessions WHERE project = ? AND trim(directory) <> ''"
        " ORDER BY started_at DESC, rowid DESC LIMIT 1",
        (project,),
    ).fetchone()
    if project and found is not None:
        return str(found[0])
    try:
        return str(Path.cwd())
    except OSError:  # somebody removed it
        return os.path.expanduser("~")


def session_edits(
    path: str,
    connection: sqlite3.Connection,
    schema: Schema,
    session: str,
    project: str,
    started_at: str,
) -> tuple[Edit, ...]:
    """The edits that create or complete this session. `started_at`: a timestamp for a new one."""
    found = connection.execute("SELECT * FROM sessions WHERE id = ?", (session,)).fetchone()
    if found is None:
        row = bare_session_row(connection, schema, session, project, started_at)
        return (row_edit(path, "sessions", {"id": session}, None, row),)
    row = dict(found)
    if not is_manual(session) or not is_blank(row["directory"]):
        return ()
    # As CreateSession does: a later save gives a session without a directory the one it knows.
    before = {"directory": row["directory"]}
    after = {"directory": directory_for(connection, project)}
    return (row_edit(path, "sessions", {"id": session}, before, after),)


def bare_session_row(
    connection: sqlite3.Connection, schema: Schema, session: str, project: str, started_at: str
) -> dict[str, Any]:
    """The row of a session without a description.

    One for saves by hand is as `engram save` makes it. Any other stands for a session of another
    machine: it has ended, so that no agent takes it for the one that it works in.
    """
    row = {
        "id": session,
        "project": project,
        "directory": directory_for(connection, project),
        "started_at": started_at,
    }
    if is_manual(session):
        row |= {"ownership_mode": OWNED, "local_creation_project": project}
    else:
        row |= {"ownership_mode": SHARED, "ended_at": started_at}
    return schema.known("sessions", row)


def imported_session_row(schema: Schema, row: Row) -> dict[str, Any]:
    """The row of an imported session; without an ownership mode it is shared, as in v3."""
    found = {"project": "", "directory": "", **row}
    if is_blank(found.get("ownership_mode")):
        found["ownership_mode"] = SHARED
    return schema.known("sessions", found)


def is_manual(session: str) -> bool:
    """Whether this is a session of saves that belong to no agent session."""
    return session == MANUAL_SESSION or session.startswith(f"{MANUAL_SESSION}-")
