"""Rows of sessions: every observation and prompt must belong to one.

A session needs a real directory, because Engram refuses to deliver one without, and then delivers
nothing of its project. `engram save` writes the current directory (cmdSave in main.go).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memtui.changes import RowEdit
from memtui.stores.engram import rules
from memtui.stores.engram.schema import Schema
from memtui.stores.engram.sync_payloads import is_blank

SHARED, OWNED = "shared", "project_owned"
"""v3's ownership modes: a session that may take writes for any project, or for its own only."""
OWNERSHIP_MODES = frozenset({"", SHARED, OWNED})
"""What a file may say; empty: nothing."""

Row = Mapping[str, Any]


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
    path: str, connection: sqlite3.Connection, schema: Schema, session: str, project: str, when: str
) -> tuple[RowEdit, ...]:
    """The edits that create or complete this session. `when`: a timestamp for a new one."""
    found = connection.execute("SELECT * FROM sessions WHERE id = ?", (session,)).fetchone()
    if found is None:
        row = bare_session_row(connection, schema, session, project, when)
        return (RowEdit(path, "sessions", {"id": session}, None, row),)
    row = dict(found)
    if not is_manual(session) or not is_blank(row["directory"]):
        return ()
    # As CreateSession does: a later save gives a session without a directory the one it knows.
    before = {"directory": row["directory"]}
    after = {"directory": directory_for(connection, project)}
    return (RowEdit(path, "sessions", {"id": session}, before, after),)


def bare_session_row(
    connection: sqlite3.Connection, schema: Schema, session: str, project: str, when: str
) -> dict[str, Any]:
    """The row of a session without a description.

    One for saves by hand is as `engram save` makes it. Any other stands for a session of another
    machine: it has ended, so that no agent takes it for the one that it works in.
    """
    row = {
        "id": session,
        "project": project,
        "directory": directory_for(connection, project),
        "started_at": when,
    }
    if is_manual(session):
        row |= {"ownership_mode": OWNED, "local_creation_project": project}
    else:
        row |= {"ownership_mode": SHARED, "ended_at": when}
    return known_columns(schema, row)


def imported_session_row(schema: Schema, row: Row) -> dict[str, Any]:
    """The row of an imported session; without an ownership mode it is shared, as in v3."""
    found = {"project": "", "directory": "", **row}
    if is_blank(found.get("ownership_mode")):
        found["ownership_mode"] = SHARED
    return known_columns(schema, found)


def known_columns(schema: Schema, row: Row) -> dict[str, Any]:
    """The columns that the table has."""
    return {name: value for name, value in row.items() if schema.has("sessions", name)}


def is_manual(session: str) -> bool:
    """Whether this is a session of saves that belong to no agent session."""
    return session == rules.MANUAL_SESSION or session.startswith(f"{rules.MANUAL_SESSION}-")
