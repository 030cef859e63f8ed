"""Engram's own JSON: written from a database as `engram export` does, and read again.

Two versions: `0.1.0` (July 2026) holds sessions, observations and prompts, but no pins and no
relations; `0.2.0` (v3) adds both, the owner of a session, where a prompt came from and the
tombstones of prompts, so nothing that Engram can carry is lost. (0.1.0 was checked byte for byte on
a July file. Keys and order of 0.2.0 are those of Session, backupObservation, Prompt, BackupRelation
and PromptTombstone in v3's store.go; no file of that version was seen.) What neither can hold stays
behind: former versions of a text, embeddings, what has been synchronised.

A new database has the tables of July 2026. Engram itself makes no difference between this and a
database of that time: every later version adds what it needs when it opens it. Nothing is queued
for synchronisation, as in Engram's own import; enrolling a project queues all of it.

Importing into a database that exists: Engram's July import inserts every row again. Here a row
whose sync_id is known is left as it is: `same` where it says the same, else `different`. An import
never overwrites and never deletes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field

from memtui.changes import Edit, Outcome, Plan, row_edit
from memtui.errors import BundleError, Refused
from memtui.model import Memory
from memtui.stores.base import Store
from memtui.stores.engram import DATABASE, NAME, database_file, rules
from memtui.stores.engram.records import PROMPT as PROMPT_PREFIX
from memtui.stores.engram.records import SESSION as SESSION_PREFIX
from memtui.stores.engram.records import (
    DatabasePlace,
    Relation,
    observation,
    prompt,
    relation_of,
    session,
)
from memtui.stores.engram.rows import (
    OWNERSHIP_MODES,
    SHARED,
    imported_session_row,
    insert_row,
    session_edits,
)
from memtui.stores.engram.schema import Schema, column_names, inspect
from memtui.stores.format import ExportedDocument, ExportRequest, IncomingStore
from memtui.stores.sqlite.connection import read_or_raise
from memtui.stores.sqlite.rows import is_valid_text, text
from memtui.text import number

T = TypeVar("T")

PLAIN, FULL = "0.1.0", "0.2.0"
VERSIONS = (PLAIN, FULL)

SESSION = column_names("id project ownership_mode directory started_at ended_at summary")
OBSERVATION = column_names(
    """id sync_id session_id type title content tool_name project scope topic_key revision_count
    duplicate_count last_seen_at review_after created_at updated_at deleted_at pinned"""
)
PROMPT = column_names("source_inbox_id id sync_id session_id content project created_at")
RELATION = column_names(
    """sync_id source_id target_id relation reason evidence confidence judgment_status
    marked_by_actor marked_by_kind marked_by_model session_id superseded_at
    superseded_by_relation_sync_id created_at updated_at"""
)
TOMBSTONE = column_names("sync_id session_id project source_inbox_id deleted_at")
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
        raise Refused("this form is for one Engram store", do="filter by that store first")
    complete = stores[0].label in request.complete
    ids = None if complete else {memory.id for memory in request.memories}
    file = database_file(stores[0].root)
    document = export(file, request.now, FULL, ids)
    return ExportedDocument(document + "\n", tuple(left_out(file, ids)))


def export(
    file: Path, moment: datetime, version: str = FULL, only: Collection[str] | None = None
) -> str:
    """The database as Engram's JSON; `only` are the ids of the memories wanted.

    With `only`, sessions and relations are those that these memories need, and no tombstone comes
    along. Raises StoreError.
    """
    document = read_or_raise(file, lambda connection: _Document(connection, version, only).whole())
    head = {"version": version, "exported_at": rules.timestamp(moment)}
    return rules.go_json(head | document, indent=2)


def left_out(file: Path, only: Collection[str] | None = None) -> list[str]:
    """What such an export cannot hold of these memories, and why. Raises StoreError."""
    return read_or_raise(file, lambda connection: _Document(connection, FULL, only).missing())


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
        needed = {row["session_id"] for row in (*self.observations, *self.prompts)}
        found: dict[str, Any] = {
            "sessions": [
                row
                for row in self._rows("sessions", SESSION, "started_at, rowid")
                if self._only is None
                or row["id"] in needed
                or f"{SESSION_PREFIX}{row['id']}" in self._only
            ],
            "observations": self.observations,
            "prompts": self.prompts,
        }
        if self._version == FULL:
            tombstones = []
            if self._only is None:
                tombstones = self._rows("prompt_tombstones", TOMBSTONE, "sync_id")
            extra = {"relations": self._relations(), "prompt_tombstones": tombstones}
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

    def _relations(self) -> list[dict[str, Any]]:
        ends = {row.get("sync_id") for row in self.observations}
        return [
            row
            for row in _relations(self._connection, self._schema)
            if self._only is None or ends >= {row.get("source_id"), row.get("target_id")}
        ]

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


# ---- a new database -----------------------------------------------------------------------------


_TIME = "TEXT NOT NULL DEFAULT (datetime('now'))"
_OBSERVED = "title, content, tool_name, type, project, topic_key"
_TABLES = f"""
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, project TEXT NOT NULL, directory TEXT NOT NULL,
  started_at {_TIME}, ended_at TEXT, summary TEXT);
CREATE TABLE observations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, session_id TEXT NOT NULL,
  type TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL, tool_name TEXT, project TEXT,
  scope TEXT NOT NULL DEFAULT 'project', topic_key TEXT, normalized_hash TEXT,
  revision_count INTEGER NOT NULL DEFAULT 1, duplicate_count INTEGER NOT NULL DEFAULT 1,
  last_seen_at TEXT, pinned BOOLEAN NOT NULL DEFAULT 0, created_at {_TIME}, updated_at {_TIME},
  deleted_at TEXT, review_after TEXT, expires_at TEXT,
  embedding BLOB, embedding_model TEXT, embedding_created_at TEXT,
  FOREIGN KEY (session_id) REFERENCES sessions(id));
CREATE INDEX idx_obs_sync_id ON observations(sync_id);
CREATE TABLE user_prompts (
  id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, session_id TEXT NOT NULL,
  content TEXT NOT NULL, project TEXT, created_at {_TIME},
  FOREIGN KEY (session_id) REFERENCES sessions(id));
CREATE TABLE prompt_tombstones (
  sync_id TEXT PRIMARY KEY, session_id TEXT, project TEXT, deleted_at {_TIME});
CREATE TABLE memory_relations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT NOT NULL UNIQUE,
  source_id TEXT, target_id TEXT, relation TEXT NOT NULL DEFAULT 'pending', reason TEXT,
  evidence TEXT, confidence REAL, judgment_status TEXT NOT NULL DEFAULT 'pending',
  marked_by_actor TEXT, marked_by_kind TEXT, marked_by_model TEXT, session_id TEXT,
  superseded_at TEXT,
  superseded_by_relation_id INTEGER REFERENCES memory_relations(id) ON DELETE SET NULL,
  created_at {_TIME}, updated_at {_TIME});
CREATE TABLE sync_state (
  target_key TEXT PRIMARY KEY, lifecycle TEXT NOT NULL DEFAULT 'idle',
  last_enqueued_seq INTEGER NOT NULL DEFAULT 0, last_acked_seq INTEGER NOT NULL DEFAULT 0,
  last_pulled_seq INTEGER NOT NULL DEFAULT 0, consecutive_failures INTEGER NOT NULL DEFAULT 0,
  backoff_until TEXT, lease_owner TEXT, lease_until TEXT, last_error TEXT, updated_at {_TIME},
  reason_code TEXT, reason_message TEXT);
CREATE TABLE sync_mutations (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, target_key TEXT NOT NULL, entity TEXT NOT NULL,
  entity_key TEXT NOT NULL, op TEXT NOT NULL, payload TEXT NOT NULL,
  source TEXT NOT NULL DEFAULT 'local', occurred_at {_TIME}, acked_at TEXT,
  project TEXT NOT NULL DEFAULT '',
  FOREIGN KEY (target_key) REFERENCES sync_state(target_key));
CREATE TABLE sync_enrolled_projects (project TEXT PRIMARY KEY, enrolled_at {_TIME});
CREATE VIRTUAL TABLE observations_fts USING fts5(
  {_OBSERVED}, content='observations', content_rowid='id');
CREATE VIRTUAL TABLE prompts_fts USING fts5(
  content, project, content='user_prompts', content_rowid='id');
"""


def _index_triggers(table: str, index: str, prefix: str, columns: str) -> str:
    """The triggers that update a full-text index with its table, under Engram's names."""
    old, new = (
        ", ".join(f"{side}.{name}" for name in columns.split(", ")) for side in ("old", "new")
    )
    insert = f"INSERT INTO {index}(rowid, {columns}) VALUES (new.id, {new});"
    delete = f"INSERT INTO {index}({index}, rowid, {columns}) VALUES ('delete', old.id, {old});"
    acts = (("insert", insert), ("delete", delete), ("update", delete + insert))
    return "".join(
        f"CREATE TRIGGER {prefix}_{act} AFTER {act.upper()} ON {table} BEGIN {statement} END;\n"
        for act, statement in acts
    )


_TRIGGERS = _index_triggers(
    "observations", "observations_fts", "obs_fts", _OBSERVED
) + _index_triggers("user_prompts", "prompts_fts", "prompt_fts", "content, project")
_V3_COLUMNS = (
    ("sessions", "ownership_mode"),
    ("user_prompts", "source_inbox_id"),
    ("prompt_tombstones", "source_inbox_id"),
)
"""Columns of v3: made where the export has a value for one. v3 itself adds what is missing."""


def encode_database(rows: Mapping[str, Sequence[Row]]) -> bytes:
    """The database of these rows as the bytes of its file.

    Raises sqlite3.Error for rows that go into no table.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        connection.executescript(_TABLES + _TRIGGERS)
        for table, column in _V3_COLUMNS:
            if any(row.get(column) for row in rows[{"user_prompts": "prompts"}.get(table, table)]):
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} TEXT")
        schema = inspect(connection)
        _Import("", connection, schema, makes=True).plan(rows)
        for row in rows["relations"]:
            connection.execute(
                "UPDATE memory_relations SET superseded_by_relation_id ="
                " (SELECT id FROM memory_relations WHERE sync_id = ?) WHERE sync_id = ?",
                (_replacing(row), row["sync_id"]),
            )
        for row in {row["sync_id"]: row for row in reversed(rows["prompt_tombstones"])}.values():
            insert_row(connection, schema, "prompt_tombstones", row)
        return connection.serialize()


def _replacing(relation: Row) -> Any:
    """The sync_id of the relation that replaced this one; None if none did."""
    return relation.get("superseded_by_relation_sync_id") or relation.get("superseded_by")


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
_PREFIX = {"observations": "obs", "user_prompts": "prompt"}

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
    touching = _relations_by_end(rows["relations"], observations)
    memories: list[Memory] = []
    for row in observations:
        memories.append(observation(home, row, touching.get(text(row.get("sync_id")), ()), ()))
    memories += [prompt(home, row) for row in _numbered(rows["prompts"])]
    memories += [session(home, row) for row in rows["sessions"] if text(row.get("summary"))]
    return IncomingStore(
        NAME, NAME, memories, whole=True, files={DATABASE: partial(_database, rows)}
    )


def _database(rows: Mapping[str, Sequence[Row]]) -> bytes:
    try:
        return encode_database(rows)
    except sqlite3.Error as error:
        raise BundleError(f"its rows make no database ({error})") from error


def _numbered(rows: Sequence[Row]) -> list[Row]:
    """Rows of early exports have no numbers."""
    return [row if "id" in row else {**row, "id": number} for number, row in enumerate(rows, 1)]


def _relations_by_end(
    rows: Sequence[Row], observations: Sequence[Row]
) -> dict[str, list[Relation]]:
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


class _Import(Struct):
    path: str
    connection: sqlite3.Connection
    schema: Schema
    makes: bool = False
    """Whether the rows, with their numbers, are inserted at once, into a database that is made."""
    edits: list[Edit] = field(default_factory=list)
    new: int = 0
    same: int = 0
    different: int = 0
    warnings: list[str] = field(default_factory=list)
    _keys: set[tuple[str, str]] = field(default_factory=set)

    def plan(self, rows: Mapping[str, Sequence[Row]]) -> Plan:
        for row in rows["sessions"]:
            if self._is_new_session(row["id"]):
                columns = imported_session_row(self.schema, row)
                self._keep([row_edit(self.path, "sessions", {"id": row["id"]}, None, columns)])
        for name, table in (("observations", "observations"), ("prompts", "user_prompts")):
            for place, row in enumerate(rows[name], 1):
                self._session_of(row)
                self._add_row(table, self._memory(table, place, row))
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

    def _keep(self, edits: Iterable[Edit]) -> None:
        for edit in edits:
            self.edits.append(edit)
            if self.makes and edit.before is None:
                insert_row(self.connection, self.schema, edit.table, edit.after or {})

    def _session_of(self, row: Row) -> None:
        """Add the session of this row, without a summary, if nothing describes it."""
        session, project = text(row["session_id"]), text(row.get("project"))
        if self._is_new_session(session):
            place = (self.path, self.connection, self.schema)
            self._keep(session_edits(*place, session, project, row["created_at"]))

    def _is_new_session(self, key: str) -> bool:
        """Whether neither the database, where it stays, nor the document before this row has it."""
        known = ("sessions", key) in self._keys
        self._keys.add(("sessions", key))
        return not known and self._first("SELECT 1 FROM sessions WHERE id = ?", key) is None

    def _first(self, statement: str, *values: object) -> Any:
        return self.connection.execute(statement, values).fetchone()

    def _memory(self, table: str, place: int, row: Row) -> dict[str, Any]:
        """Rows of early exports have neither number nor sync_id."""
        columns = {"id": place, **row}
        used = f"SELECT 1 FROM {table} WHERE id = ?"
        if not self.makes or self._first(used, columns["id"]) is not None:
            del columns["id"]
        if table == "observations":
            columns["normalized_hash"] = rules.content_hash(text(row["content"]))
            if "pinned" in columns:
                columns["pinned"] = int(columns["pinned"])
        return columns

    def _relation(self, row: Row) -> dict[str, Any]:
        columns = {key: row[key] for key in row if not key.startswith("superseded_by")}
        if (by := _replacing(row)) is not None:
            found = self._first("SELECT id FROM memory_relations WHERE sync_id = ?", by)
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
        by_name = f"SELECT * FROM {table} WHERE sync_id = ? ORDER BY id DESC LIMIT 1"
        existing = self._first(by_name, known["sync_id"])
        is_copied = self.makes and table != "memory_relations"  # old exports can double a sync_id
        if existing is not None and not is_copied:
            ignored = {"normalized_hash"}
            alike = all(existing[name] == known[name] for name in known.keys() - ignored)
            self.same += alike
            self.different += not alike
        elif mark in self._keys and not is_copied:
            self.same += 1
        else:
            self._keys.add(mark)
            self.new += 1
            if table == "observations":
                known.setdefault("updated_at", known["created_at"])
            key = {"sync_id": known["sync_id"]}
            self._keep([row_edit(self.path, table, key, None, known)])

    def _matching_sync_id(self, table: str, row: Row) -> str:
        """The sync_id of a row with the same text and time, as early exports have none; else one
        made of them."""
        named = (row["session_id"], row["created_at"], row["content"])
        found = self._first(
            f"SELECT sync_id FROM {table}"
            " WHERE session_id = ? AND created_at = ? AND content = ? AND sync_id IS NOT NULL",
            *named,
        )
        return str(found[0]) if found else rules.sync_id_of(_PREFIX[table], " ".join(named))
