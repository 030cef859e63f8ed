"""Import Engram's own JSON, as the rows of a new database or into one that exists.

Engram's July import inserts every row again. Here a row whose sync_id is known is left as it is:
`same` where it says the same, else `different`. An import never overwrites and never deletes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from memtui.changes import Edit, Outcome, Plan, row_edit
from memtui.dataclass import dataclass, field
from memtui.errors import BundleError, Refused
from memtui.model import Memory
from memtui.stores.base import Store
from memtui.stores.engram import NAME, database_file, rules
from memtui.stores.engram.connection import read_or_raise
from memtui.stores.engram.export_document import (
    OBSERVATION,
    PROMPT,
    RELATION,
    SESSION,
    TOMBSTONE,
    VERSIONS,
    database_lines,
)
from memtui.stores.engram.records import (
    DatabasePlace,
    Relation,
    is_valid_text,
    observation,
    prompt,
    relation_of,
    session,
    text,
)
from memtui.stores.engram.rows import OWNERSHIP_MODES, SHARED, imported_session_row, session_edits
from memtui.stores.engram.schema import Schema, inspect
from memtui.stores.format import IncomingStore

_LISTS = (
    ("sessions", SESSION),
    ("observations", OBSERVATION),
    ("prompts", PROMPT),
    ("relations", (*RELATION, "superseded_by")),  # the latter in files of memtui 0.1
    ("prompt_tombstones", TOMBSTONE),
)
_REQUIRED = {
    "sessions": ("id", "project"),
    "observations": ("session_id", "type", "title", "content", "created_at"),
    "prompts": ("session_id", "content", "created_at"),
    "relations": ("sync_id", "source_id", "target_id", "relation"),
    "prompt_tombstones": ("sync_id",),
}
_NUMBERS: Mapping[str, type | tuple[type, ...]] = {
    "id": int,
    "revision_count": int,
    "duplicate_count": int,
    "pinned": int,
    "confidence": (int, float),
}
"""Everything else is text."""
_LARGEST = 2**63
_PREFIX = {"observations": "obs", "user_prompts": "prompt", "memory_relations": "rel"}

Row = Mapping[str, Any]
Rows = dict[str, list[dict[str, Any]]]


def parse_export(document: str) -> Rows:
    """The rows of an export by list name. Raises BundleError when it is none that is known."""
    try:
        return checked_rows(json.loads(document))
    except (ValueError, RecursionError) as error:
        raise BundleError(f"this is not JSON ({error})") from error


def checked_rows(data: Any) -> Rows:
    """The rows of a parsed export by list name. Raises BundleError for any unknown form."""
    if not isinstance(data, dict) or data.get("version") not in VERSIONS:
        raise BundleError("not an Engram export of a known version", do="0.1.0 or 0.2.0")
    found: Rows = {}
    for name, columns in _LISTS:
        rows = [] if data.get(name) is None else data[name]
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise BundleError(f"{name} is not a list of objects")
        found[name] = [_checked(row, name, columns) for row in rows]
    return found


def _checked(row: Row, name: str, columns: Sequence[str]) -> dict[str, Any]:
    found = {key: row[key] for key in columns if row.get(key) is not None}
    for key, value in found.items():
        if not isinstance(
            value, str if (name, key) == ("sessions", "id") else _NUMBERS.get(key, str)
        ):
            raise BundleError(f"{name}: {key} is of the wrong kind")
        if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            raise BundleError(f"{name}: {key} is too large a number")
        if isinstance(value, str) and not is_valid_text(value):
            raise BundleError(f"{name}: {key} holds half a character, which UTF-8 cannot hold")
    if found.get("ownership_mode", SHARED) not in OWNERSHIP_MODES:
        raise BundleError(f"{name}: Engram knows no ownership_mode {found['ownership_mode']!r}")
    missing = next((key for key in _REQUIRED[name] if key not in found), None)
    if missing:
        raise BundleError(f"{name}: a row without {missing}")
    return found


def read(document: Mapping[str, Any]) -> IncomingStore:
    """The store that a parsed export holds. Raises BundleError."""
    rows = checked_rows(document)
    home = DatabasePlace(NAME, "")
    observations = _numbered(rows["observations"])
    touching = _relations(rows["relations"], observations)
    memories: list[Memory] = []
    for row in observations:
        memories.append(observation(home, row, touching.get(text(row.get("sync_id")), ()), ()))
    memories += [prompt(home, row) for row in _numbered(rows["prompts"])]
    memories += [session(home, row) for row in rows["sessions"] if text(row.get("summary"))]
    return IncomingStore(NAME, NAME, memories, whole=True, rows=partial(_database, rows))


def _database(rows: Mapping[str, Sequence[Row]]) -> list[str]:
    try:
        return database_lines(rows)
    except sqlite3.Error as error:
        raise BundleError(f"its rows make no database ({error})") from error


def _numbered(rows: Sequence[Row]) -> list[Row]:
    """Rows of early exports have no numbers."""
    return [row if "id" in row else {**row, "id": number} for number, row in enumerate(rows, 1)]


def _relations(rows: Sequence[Row], observations: Sequence[Row]) -> dict[str, list[Relation]]:
    """The relations by the sync_id of each of their ends."""
    by_name = {text(row.get("sync_id")): row for row in observations}
    found: dict[str, list[Relation]] = {}
    for row in rows:
        source, target = text(row.get("source_id")), text(row.get("target_id"))
        start, end = by_name.get(source, {}), by_name.get(target, {})
        is_alive = bool(start) and start.get("deleted_at") is None
        relation = relation_of(row, (start.get("id"), end.get("id")), source_alive=is_alive)
        for name in {source, target}:
            found.setdefault(name, []).append(relation)
    return found


def plan_import(store: Store, document: str) -> Plan:
    """What importing an export into this store would add. Raises BundleError, Refused or
    StoreError."""
    file = database_file(store.root)
    rows = parse_export(document)

    def work(connection: sqlite3.Connection) -> Plan:
        schema = inspect(connection)
        if schema.refusal:
            raise Refused(schema.refusal, where=str(file))
        return _Import(str(file), connection, schema).plan(rows)

    return read_or_raise(file, work)


@dataclass(slots=True)
class _Import:
    path: str
    connection: sqlite3.Connection
    schema: Schema
    edits: list[Edit] = field(default_factory=list)
    new: int = 0
    same: int = 0
    different: int = 0
    warnings: list[str] = field(default_factory=list)
    _keys: set[tuple[str, str]] = field(default_factory=set)

    def plan(self, rows: Mapping[str, Sequence[Row]]) -> Plan:
        for row in rows["sessions"]:
            self._session(row)
        for row in rows["observations"]:
            self._session_of(row)
            self._add_row("observations", self._observation(row))
        for row in rows["prompts"]:
            self._session_of(row)
            self._add_row("user_prompts", {name: row[name] for name in row if name != "id"})
        if rows["relations"] and not self.schema.has("memory_relations"):
            self.warnings.append("this older database keeps no relations")
        else:
            for row in rows["relations"]:
                self._add_row("memory_relations", self._relation(row))
        return Plan(
            (),
            tuple(self.edits),
            Outcome.ADDED if self.edits else Outcome.NOTHING,
            reason=f"{self.new} new, {self.same} already there, {self.different} differ and stay",
            warnings=tuple(dict.fromkeys(self.warnings)),
        )

    def _session(self, row: Row) -> None:
        """Add a session that is not there; as in Engram, an existing one stays."""
        if self._is_new_session(row["id"]):
            columns = imported_session_row(self.schema, row)
            self.edits.append(row_edit(self.path, "sessions", {"id": row["id"]}, None, columns))

    def _session_of(self, row: Row) -> None:
        """Add the session of this row, without a summary, if nothing describes it."""
        session, project = text(row["session_id"]), text(row.get("project"))
        if self._is_new_session(session):
            self.edits += session_edits(
                self.path, self.connection, self.schema, session, project, row["created_at"]
            )

    def _is_new_session(self, key: str) -> bool:
        """Whether neither the database nor the document before this row holds it."""
        known = ("sessions", key) in self._keys
        self._keys.add(("sessions", key))
        found = self.connection.execute("SELECT 1 FROM sessions WHERE id = ?", (key,))
        return not known and found.fetchone() is None

    def _observation(self, row: Row) -> dict[str, Any]:
        columns = {name: value for name, value in row.items() if name != "id"}
        columns["normalized_hash"] = rules.content_hash(text(row["content"]))
        if "pinned" in columns:
            columns["pinned"] = int(columns["pinned"])
        return columns

    def _relation(self, row: Row) -> dict[str, Any]:
        columns = dict(row)
        by = columns.pop("superseded_by", None)
        by = columns.pop("superseded_by_relation_sync_id", by)
        if by is not None:
            found = self.connection.execute(
                "SELECT id FROM memory_relations WHERE sync_id = ?", (by,)
            ).fetchone()
            if found is None:
                self.warnings.append("which relation replaced another one is not carried over")
            else:
                columns["superseded_by_relation_id"] = found[0]
        return columns

    def _add_row(self, table: str, columns: Mapping[str, Any]) -> None:
        known = self.schema.known(table, columns)
        if not known.get("sync_id"):
            known["sync_id"] = self._matching_sync_id(table, known)
        mark = (table, str(known["sync_id"]))
        existing = self.connection.execute(
            f"SELECT * FROM {table} WHERE sync_id = ? ORDER BY id DESC LIMIT 1", (known["sync_id"],)
        ).fetchone()
        if existing is not None:
            alike = all(
                existing[name] == value
                for name, value in known.items()
                if name != "normalized_hash"
            )
            self.same += alike
            self.different += not alike
        elif mark in self._keys:
            self.same += 1
        else:
            self._keys.add(mark)
            self.new += 1
            key = {"sync_id": known["sync_id"]}
            self.edits.append(row_edit(self.path, table, key, None, known))

    def _matching_sync_id(self, table: str, row: Row) -> str:
        """The sync_id of a row with the same text and time, as early exports have none; else a new
        one."""
        found = self.connection.execute(
            f"SELECT sync_id FROM {table}"
            " WHERE session_id = ? AND created_at = ? AND content = ? AND sync_id IS NOT NULL",
            (row["session_id"], row["created_at"], row["content"]),
        ).fetchone()
        return str(found[0]) if found else rules.new_sync_id(_PREFIX[table])
