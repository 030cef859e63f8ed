"""Apply row edits in one transaction, with the side effects that Engram's own writes have.

Every edit is compare-and-set: the columns in `before` must still hold what they held when the
person saw them, else `Conflict` with all three texts and nothing is written. Only the columns that
differ between `before` and `after` are set; what Engram derives (hash, revision, updated_at, sync
rows, former versions) is worked out here, never taken from the edit. The edits that are returned
hold the time and the revision before and after. Undo, the inverted edit, and redo restore them too,
unless another program has written the row since. Only what is queued for other machines goes on, as
after any write: they take the newer of two rows.

A new row takes the number that was planned, or the next free one where another program was
faster; what was made is returned, read inside the transaction.

Triggers of the database keep its full-text index; `schema` made sure that they are there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.changes import Edit, Kind
from memtui.errors import Conflict, Refused
from memtui.stores.base import WriteRecorder
from memtui.stores.engram.records import count_of, is_blank
from memtui.stores.engram.rows import DERIVED, TABLES, find_row, insert_row
from memtui.stores.engram.rules import content_hash, timestamp
from memtui.stores.engram.schema import KNOWN_TRIGGERS, Schema, inspect
from memtui.stores.engram.sync_log import SyncLog
from memtui.stores.sqlite.rows import from_json_value, refuse_damaged, row_conflict, row_name, text
from memtui.stores.sqlite.writing import write_rows

REVISED = frozenset({"type", "title", "content", "project", "scope", "topic_key"})
"""Columns whose change counts as a revision (UpdateObservation)."""
UNDATED = frozenset({"pinned"})
"""Columns whose change leaves updated_at alone (setObservationPinned)."""
COUNTED = ("updated_at", "revision_count")
"""Columns that a write moves on, and that undo and redo restore."""
LOCAL = frozenset({"pinned", "review_after"})
"""Columns that Engram does not synchronise."""

Row = Mapping[str, Any]


def apply(
    path: Path,
    root: Path,
    edits: Sequence[Edit],
    recorder: WriteRecorder,
    clock: Callable[[], datetime],
    beside: Sequence[Edit] = (),
) -> list[Edit]:
    """Make edits of this database's rows, all or none, see `write_rows`.

    Raises Conflict, Refused or SaveError.
    """

    def writer(connection: sqlite3.Connection) -> _Writer:
        schema = inspect(connection)
        if schema.refusal:
            raise Refused(f"nothing can be written: {schema.refusal}", where=str(path))
        return _Writer(connection, schema, SyncLog(connection, schema, timestamp(clock())))

    return write_rows(path, root, edits, tuple(beside), recorder, (TABLES, KNOWN_TRIGGERS), writer)


def _with_counted(edit: Edit, old: Row, new: Row) -> Edit:
    """The edit with the time and the revision of the row before and after it."""
    before, after = ({name: row[name] for name in COUNTED if name in row} for row in (old, new))
    return replace(edit, before={**edit.before, **before}, after={**edit.after, **after})


def number_of(edit: Edit) -> object:
    """The row number in an edit that inserts; None if there is none."""
    return (edit.after or {}).get("id") if edit.kind is Kind.ROW else None


class _Writer(Struct, frozen=True):
    connection: sqlite3.Connection
    schema: Schema
    sync_log: SyncLog
    made: set[str] = field(default_factory=set)
    """Sessions that this transaction made."""

    def write(self, edit: Edit, row: Row | None) -> Edit:
        """Make one edit; returns it with the number that a new observation got."""
        if edit.before is None:
            return self._insert(edit, row)
        if edit.after is None:
            self._delete(edit, row)
            return edit
        self._update(edit, row)
        if row is None or edit.table not in ("observations", "memory_relations"):
            return edit
        return _with_counted(edit, row, self.row(edit) or row)

    def row(self, edit: Edit) -> dict[str, Any] | None:
        return find_row(self.connection, self.schema, edit)

    # -- update ----------------------------------------------------------------------------

    def _update(self, edit: Edit, row: Row | None) -> None:
        before, after = edit.before or {}, edit.after or {}
        if edit.table == "sessions":
            self._complete_session(row, after)
            return
        compared = [name for name in before if name not in COUNTED]
        if row is None or any(row[name] != from_json_value(before[name]) for name in compared):
            raise self._conflict(edit, row)
        refuse_damaged(row)
        changed = {
            name: from_json_value(value)
            for name, value in after.items()
            if name not in COUNTED and (name not in before or from_json_value(value) != row[name])
        }
        counted = [name for name in COUNTED if name in before]
        is_last = all(row[name] == before[name] for name in counted)
        former = {name: after[name] for name in counted if is_last and name in after}
        if not changed:
            return
        if edit.table == "observations":
            self._update_observation(row, changed)
        else:
            if "updated_at" in self.schema.tables[edit.table]:
                changed.setdefault("updated_at", self.sync_log.now)
            self._set(edit.table, row["id"], changed)
            if edit.table == "memory_relations":
                self.sync_log.relation_saved(self._read_row("memory_relations", row["id"]))
        if former:
            self._set(edit.table, row["id"], former)

    def _update_observation(self, row: Row, changed: dict[str, Any]) -> None:
        names = frozenset(changed)
        if names & {"title", "content"}:
            self.sync_log.keep_version(row)
        if names & REVISED:
            changed["revision_count"] = count_of(row["revision_count"]) + 1
            changed["normalized_hash"] = content_hash(text(changed.get("content", row["content"])))
        if names - UNDATED:
            changed["updated_at"] = self.sync_log.now
        self._set("observations", row["id"], changed)
        if names <= LOCAL:
            return
        values = self._read_row("observations", row["id"])
        if names == {"deleted_at"} and values["deleted_at"] is not None:
            self.sync_log.observation_deleted(values, values["deleted_at"], hard=False)
        else:
            self.sync_log.observation_saved(values)

    # -- insert ----------------------------------------------------------------------------

    def _insert(self, edit: Edit, row: Row | None) -> Edit:
        columns = {name: from_json_value(value) for name, value in (edit.after or {}).items()}
        if edit.table == "sessions" and row is not None:
            self._describe_session(row, columns)
            return edit
        if edit.table == "memory_relations" and row is not None:
            self._reinstate_relation(edit, row, columns)
            return edit
        if row is not None:
            raise self._conflict(edit, row)
        self._require_session(edit, columns)
        if edit.table == "observations":
            number = self._insert_observation(edit, columns)
            planned = number_of(edit)
            if planned in (None, number):
                return edit
            return replace(edit, after={**(edit.after or {}), "id": number})
        number = insert_row(self.connection, self.schema, edit.table, columns)
        if edit.table == "sessions":
            self.made.add(str(columns["id"]))
            self.sync_log.session_saved(self.row(edit) or {})
        elif edit.table == "user_prompts":
            self.sync_log.prompt_saved(self._read_row("user_prompts", number))
        elif edit.table == "memory_relations":
            self.sync_log.relation_saved(self._read_row("memory_relations", number))
        return edit

    def _require_session(self, edit: Edit, columns: Row) -> None:
        """Raise Refused if the session is missing, as after undo and redo in another order."""
        session = columns.get("session_id")
        query = "SELECT 1 FROM sessions WHERE id = ?"
        if session is not None and not self.connection.execute(query, (session,)).fetchone():
            raise Refused(
                f"its session {session} is gone",
                where=row_name(edit),
                do="redo first what made the session, or add the memory again",
            )

    def _describe_session(self, row: Row, columns: Row) -> None:
        """Complete a session that this transaction created without details."""
        if row["id"] not in self.made or not columns.get("summary"):
            return
        known = {name: value for name, value in columns.items() if value and value != row[name]}
        known["ended_at"] = columns.get("ended_at")
        self._set("sessions", row["id"], known)
        self.sync_log.session_saved({**row, **known})

    def _complete_session(self, row: Row | None, after: Row) -> None:
        """Set only empty columns of a session; what a program has set meanwhile stays."""
        if row is None:
            return
        known = {name: value for name, value in after.items() if value and is_blank(row[name])}
        if known:
            self._set("sessions", row["id"], known)
            self.sync_log.session_saved({**row, **known})

    def _insert_observation(self, edit: Edit, columns: dict[str, Any]) -> int:
        """Insert under the planned number, or the next one if it is taken; a row that is restored
        must get its own number. Returns the number."""
        number = columns.get("id")
        queued: dict[str, Any] = {}
        if number is not None:
            if self._is_number_used(number):
                if "id" in edit.row:
                    raise self._conflict(edit, self._read_row("observations", number))
                del columns["id"]
            elif number <= self._highest():
                queued["updated_at"] = self.sync_log.now
        values = self._read_row(
            "observations", insert_row(self.connection, self.schema, "observations", columns)
        )
        self.sync_log.observation_saved(values | queued)
        if values["deleted_at"] is not None:
            self.sync_log.observation_deleted(values, values["deleted_at"], hard=False)
        return int(values["id"])

    def _reinstate_relation(self, edit: Edit, row: Row, columns: dict[str, Any]) -> None:
        """Judge again a relation that was orphaned (see `_delete_relation`)."""
        is_same = all(row[name] == columns.get(name) for name in ("source_id", "target_id"))
        if row["judgment_status"] != "orphaned" or not is_same:
            raise self._conflict(edit, row)
        columns.pop("id", None)
        self._set("memory_relations", row["id"], columns)
        values = self._read_row("memory_relations", row["id"])
        self.sync_log.relation_saved(values | {"updated_at": self.sync_log.now})

    # -- delete ----------------------------------------------------------------------------

    def _delete(self, edit: Edit, row: Row | None) -> None:
        before = edit.before or {}
        if edit.table == "sessions":
            self._delete_session(row)
            return
        ignored = DERIVED | ({"id"} - set(edit.row))
        if row is None or any(
            row[name] != from_json_value(value)
            for name, value in before.items()
            if name not in ignored
        ):
            raise self._conflict(edit, row)
        refuse_damaged(row)
        if edit.table == "memory_relations":
            self._delete_relation(row)
        else:
            self.connection.execute(f"DELETE FROM {edit.table} WHERE id = ?", (row["id"],))
            if edit.table == "observations":
                self.sync_log.observation_deleted(row, self.sync_log.now, hard=True)
            elif edit.table == "user_prompts":
                self.sync_log.prompt_deleted(row)

    def _delete_session(self, row: Row | None) -> None:
        """Undo the creation of a session, unless a row refers to it."""
        if row is None:
            return
        for table in ("observations", "user_prompts"):
            if self.schema.has(table, "session_id"):
                used = self.connection.execute(
                    f"SELECT 1 FROM {table} WHERE session_id = ? LIMIT 1", (row["id"],)
                ).fetchone()
                if used:
                    return
        self.connection.execute("DELETE FROM sessions WHERE id = ?", (row["id"],))
        self.sync_log.session_deleted(row)

    def _delete_relation(self, row: Row) -> None:
        """Delete a relation, or orphan it where peers may have it: Engram cannot announce a
        deletion."""
        if self.sync_log.enrolled(self.sync_log.relation_project(row)):
            columns = {"judgment_status": "orphaned", "updated_at": self.sync_log.now}
            self._set("memory_relations", row["id"], columns)
        else:
            self.connection.execute("DELETE FROM memory_relations WHERE id = ?", (row["id"],))

    # -- small steps -----------------------------------------------------------------------

    def _set(self, table: str, number: object, columns: Mapping[str, Any]) -> None:
        assigned = ", ".join(f'"{name}" = ?' for name in columns)
        self.connection.execute(
            f"UPDATE {table} SET {assigned} WHERE id = ?", (*columns.values(), number)
        )

    def _read_row(self, table: str, number: int) -> dict[str, Any]:
        found = self.connection.execute(f"SELECT * FROM {table} WHERE id = ?", (number,))
        return dict(found.fetchone())

    def _is_number_used(self, number: object, table: str = "observations") -> bool:
        found = self.connection.execute(f"SELECT 1 FROM {table} WHERE id = ?", (number,))
        return found.fetchone() is not None

    def _highest(self) -> int:
        """The highest row number that was ever assigned."""
        found = self.connection.execute(
            "SELECT max(seq) FROM sqlite_sequence WHERE name = 'observations'"
        ).fetchone()
        return int(found[0] or 0)

    def _conflict(self, edit: Edit, row: Row | None) -> Conflict:
        problem = ""
        if row is None and "id" in edit.row and self._is_number_used(edit.row["id"], edit.table):
            problem = "the row is gone, and its number is another one's now"
        return row_conflict(edit, row, problem)
