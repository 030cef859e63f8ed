"""Plan new observations as Engram's save would store them.

1. A live observation with the same topic key, project and scope is overwritten in place.
2. The same text, title, type, project and scope within 15 minutes counts as seen again.
3. Anything else becomes a new observation, due for review where its type asks for that, in the
   session `manual-save-<project>`, which is made when it is missing.

The number of a new observation is the one SQLite would give next. If another program takes it
before the plan is applied, the next free one is used, and the writer says which.

Every observation and prompt must belong to a session, and a session needs a real directory: Engram
refuses to deliver one without, and then delivers nothing of its project. `engram save` writes the
current directory (cmdSave in main.go).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from memtui.changes import Change, Outcome, Plan, RowEdit
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.engram import rules
from memtui.stores.engram.records import count_of, row_key, text
from memtui.stores.engram.rows import OpenDatabase
from memtui.stores.engram.schema import Schema
from memtui.stores.engram.sync_log import is_blank

_OVERWRITTEN = ("type", "title", "content", "tool_name", "last_seen_at")
"""What a save under an existing topic key replaces (store.go, AddObservation)."""


class SavePlanner(OpenDatabase):
    """Plans new observations. Methods raise Refused, sqlite3.Error."""

    def add(self, change: Change) -> Plan:
        fields = change.fields
        content = rules.content(_text_field(fields, "content"))
        title = rules.title(_text_field(fields, "title"), content)
        at = rules.address(_text_field(fields, "entity"), title)
        if fields.get("topic_key"):
            at = replace(at, topic_key=rules.topic_key(_text_field(fields, "topic_key")))
        if not at.project:
            raise Refused("Engram files by project: name one as the entity", do="PROJECT/SCOPE")
        columns = self._columns(fields, content, title, at)
        warnings = _warnings(fields)
        if at.topic_key:
            same_topic = self._same_topic(at)
            if same_topic is not None:
                return self._overwrite(change, same_topic, columns, warnings)
        twin = None if change.force else self._find_duplicate(columns)
        if twin is not None:
            return self._count(change, twin)
        return self._insert(change, columns, warnings)

    def successor(self, change: Change, memory: Memory) -> tuple[Plan, str]:
        """Plan a successor in the project and scope of `memory`; also returns its sync_id."""
        fields = change.fields
        content = rules.content(_text_field(fields, "content"))
        if content == memory.content:
            raise Refused("the successor says the same", where=memory.ref, do="change the text")
        title = rules.title(_text_field(fields, "title") or memory.title, content)
        at = rules.Address(
            text(memory.extra.get("project")), text(memory.extra.get("scope")) or "project", ""
        )
        columns = {"type": memory.type, **fields}
        plan = self._insert(change, self._columns(columns, content, title, at), _warnings(fields))
        return plan, str(plan.edits[-1].key["sync_id"])  # type: ignore[union-attr]

    def _columns(
        self, fields: Mapping[str, Any], content: str, title: str, at: rules.Address
    ) -> dict[str, Any]:
        kind = rules.kind(_text_field(fields, "type") or rules.DEFAULT_TYPE)
        return {
            "type": kind,
            "title": title,
            "content": content,
            "tool_name": _text_field(fields, "source") or rules.TOOL,
            "project": at.project or None,
            "scope": at.scope,
            "topic_key": at.topic_key or None,
            "normalized_hash": rules.content_hash(content),
            "pinned": int(bool(fields.get("pinned"))),
            "last_seen_at": self.now,
        }

    def _insert(self, change: Change, columns: dict[str, Any], warnings: tuple[str, ...]) -> Plan:
        project = columns["project"] or ""
        session = rules.manual_session(project)
        sync_id = rules.new_sync_id("obs")
        row = {
            "id": self.number,
            "sync_id": sync_id,
            "session_id": session,
            **columns,
            "revision_count": 1,
            "duplicate_count": 1,
            "created_at": self.now,
            "updated_at": self.now,
            "review_after": rules.review_after(columns["type"], self.moment),
        }
        columns = {name: value for name, value in row.items() if value is not None}
        columns = self.schema.known("observations", columns)
        edit = RowEdit(self.path, "observations", {"sync_id": sync_id}, None, columns)
        before = session_edits(self.path, self.connection, self.schema, session, project, self.now)
        return Plan(
            (change,),
            (*before, edit),
            Outcome.ADDED,
            refs=(f"{self.label}:{self.number}",),
            warnings=warnings,
        )

    def _overwrite(
        self,
        change: Change,
        row: Mapping[str, Any],
        columns: Mapping[str, Any],
        warnings: tuple[str, ...],
    ) -> Plan:
        names = [name for name in _OVERWRITTEN if self.schema.has("observations", name)]
        edit = RowEdit(
            self.path,
            "observations",
            row_key(row),
            {name: row[name] for name in names},
            {name: columns[name] for name in names},
        )
        ref = f"{self.label}:{row['id']}"
        return Plan(
            (change,),
            (edit,),
            Outcome.SUPERSEDED,
            reason=f"topic key {text(row['topic_key'])} exists: {ref} is overwritten in place",
            refs=(ref,),
            supersedes=(ref,),
            warnings=warnings,
        )

    def _count(self, change: Change, twin: Mapping[str, Any]) -> Plan:
        before = {name: twin[name] for name in ("duplicate_count", "last_seen_at")}
        after = {"duplicate_count": count_of(twin["duplicate_count"]) + 1, "last_seen_at": self.now}
        edit = RowEdit(self.path, "observations", row_key(twin), before, after)
        ref = f"{self.label}:{twin['id']}"
        reason = f"{ref} says the same and is less than {rules.DUPLICATE_MINUTES} minutes old"
        return Plan((change,), (edit,), Outcome.DEDUPE, reason=reason, refs=(ref,))

    def _same_topic(self, at: rules.Address) -> Mapping[str, Any] | None:
        return self.fetch(
            "SELECT * FROM observations WHERE topic_key = ? AND ifnull(project, '') = ?"
            " AND scope = ? AND deleted_at IS NULL"
            " ORDER BY datetime(updated_at) DESC, datetime(created_at) DESC LIMIT 1",
            (at.topic_key, at.project, at.scope),
        )

    def _find_duplicate(self, columns: Mapping[str, Any]) -> Mapping[str, Any] | None:
        since = rules.timestamp(self.moment - timedelta(minutes=rules.DUPLICATE_MINUTES))
        return self.fetch(
            "SELECT * FROM observations WHERE normalized_hash = ? AND ifnull(project, '') = ?"
            " AND scope = ? AND type = ? AND title = ? AND deleted_at IS NULL"
            " AND datetime(created_at) >= ? ORDER BY created_at DESC LIMIT 1",
            (
                columns["normalized_hash"],
                columns["project"] or "",
                columns["scope"],
                columns["type"],
                columns["title"],
                since,
            ),
        )


def _warnings(fields: Mapping[str, Any]) -> tuple[str, ...]:
    if any(rules.has_private(_text_field(fields, name)) for name in ("content", "title")):
        return ("what stands between <private> tags is not stored",)
    return ()


def _text_field(fields: Mapping[str, Any], name: str) -> str:
    """The text as the person wrote it; lone surrogates are refused later, never replaced."""
    value = fields.get(name)
    return "" if value is None else str(value)


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
    path: str,
    connection: sqlite3.Connection,
    schema: Schema,
    session: str,
    project: str,
    started_at: str,
) -> tuple[RowEdit, ...]:
    """The edits that create or complete this session. `started_at`: a timestamp for a new one."""
    found = connection.execute("SELECT * FROM sessions WHERE id = ?", (session,)).fetchone()
    if found is None:
        row = bare_session_row(connection, schema, session, project, started_at)
        return (RowEdit(path, "sessions", {"id": session}, None, row),)
    row = dict(found)
    if not is_manual(session) or not is_blank(row["directory"]):
        return ()
    # As CreateSession does: a later save gives a session without a directory the one it knows.
    before = {"directory": row["directory"]}
    after = {"directory": directory_for(connection, project)}
    return (RowEdit(path, "sessions", {"id": session}, before, after),)


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
    return session == rules.MANUAL_SESSION or session.startswith(f"{rules.MANUAL_SESSION}-")
