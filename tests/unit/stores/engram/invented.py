"""Invented Engram databases in the July 2026 and the v3 schema, and what tests need around them."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memtui.changes import Act, Change
from memtui.errors import RefError
from memtui.model import Memory
from memtui.stores.engram import FORMAT, exchange
from memtui.stores.engram.store import EngramStore

NOW = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
SCHEMAS = ("july", "v3")

_OBSERVATIONS = """
CREATE TABLE observations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, session_id TEXT NOT NULL,
  type TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL, tool_name TEXT, project TEXT,
  scope TEXT NOT NULL DEFAULT 'project', topic_key TEXT, normalized_hash TEXT,
  revision_count INTEGER NOT NULL DEFAULT 1, duplicate_count INTEGER NOT NULL DEFAULT 1,
  last_seen_at TEXT, pinned BOOLEAN NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  updated_at TEXT NOT NULL DEFAULT (datetime('now')),
  deleted_at TEXT, review_after TEXT, expires_at TEXT,
  embedding BLOB, embedding_model TEXT, embedding_created_at TEXT,
  FOREIGN KEY (session_id) REFERENCES sessions(id));
CREATE INDEX idx_obs_sync_id ON observations(sync_id);
"""
_RELATIONS = """
CREATE TABLE memory_relations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT NOT NULL UNIQUE, source_id TEXT,
  target_id TEXT, relation TEXT NOT NULL DEFAULT 'pending', reason TEXT, evidence TEXT,
  confidence REAL, judgment_status TEXT NOT NULL DEFAULT 'pending', marked_by_actor TEXT,
  marked_by_kind TEXT, marked_by_model TEXT, session_id TEXT, superseded_at TEXT,
  superseded_by_relation_id INTEGER REFERENCES memory_relations(id) ON DELETE SET NULL,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  updated_at TEXT NOT NULL DEFAULT (datetime('now')));
"""
_SYNC = """
CREATE TABLE sync_state (
  target_key TEXT PRIMARY KEY, lifecycle TEXT NOT NULL DEFAULT 'idle',
  last_enqueued_seq INTEGER NOT NULL DEFAULT 0, last_acked_seq INTEGER NOT NULL DEFAULT 0,
  last_pulled_seq INTEGER NOT NULL DEFAULT 0, consecutive_failures INTEGER NOT NULL DEFAULT 0,
  backoff_until TEXT, lease_owner TEXT, lease_until TEXT, last_error TEXT,
  updated_at TEXT NOT NULL DEFAULT (datetime('now')), reason_code TEXT, reason_message TEXT);
CREATE TABLE sync_mutations (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, target_key TEXT NOT NULL, entity TEXT NOT NULL,
  entity_key TEXT NOT NULL, op TEXT NOT NULL, payload TEXT NOT NULL,
  source TEXT NOT NULL DEFAULT 'local', occurred_at TEXT NOT NULL DEFAULT (datetime('now')),
  acked_at TEXT, project TEXT NOT NULL DEFAULT '',
  FOREIGN KEY (target_key) REFERENCES sync_state(target_key));
CREATE TABLE sync_enrolled_projects (project TEXT PRIMARY KEY, enrolled_at TEXT);
CREATE TABLE prompt_tombstones (
  sync_id TEXT PRIMARY KEY, session_id TEXT, project TEXT,
  deleted_at TEXT NOT NULL DEFAULT (datetime('now')));
"""
_TRIGGERS = """
CREATE TRIGGER obs_fts_insert AFTER INSERT ON observations BEGIN
  INSERT INTO observations_fts(rowid, title, content, tool_name, type, project, topic_key)
  VALUES (new.id, new.title, new.content, new.tool_name, new.type, new.project, new.topic_key);
END;
CREATE TRIGGER obs_fts_delete AFTER DELETE ON observations BEGIN
  INSERT INTO observations_fts(observations_fts, rowid, title, content, tool_name, type, project,
    topic_key)
  VALUES ('delete', old.id, old.title, old.content, old.tool_name, old.type, old.project,
    old.topic_key);
END;
CREATE TRIGGER obs_fts_update AFTER UPDATE ON observations BEGIN
  INSERT INTO observations_fts(observations_fts, rowid, title, content, tool_name, type, project,
    topic_key)
  VALUES ('delete', old.id, old.title, old.content, old.tool_name, old.type, old.project,
    old.topic_key);
  INSERT INTO observations_fts(rowid, title, content, tool_name, type, project, topic_key)
  VALUES (new.id, new.title, new.content, new.tool_name, new.type, new.project, new.topic_key);
END;
CREATE TRIGGER prompt_fts_insert AFTER INSERT ON user_prompts BEGIN
  INSERT INTO prompts_fts(rowid, content, project) VALUES (new.id, new.content, new.project);
END;
CREATE TRIGGER prompt_fts_delete AFTER DELETE ON user_prompts BEGIN
  INSERT INTO prompts_fts(prompts_fts, rowid, content, project)
  VALUES ('delete', old.id, old.content, old.project);
END;
"""
_JULY_ONLY = """
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, project TEXT NOT NULL, directory TEXT NOT NULL,
  started_at TEXT NOT NULL DEFAULT (datetime('now')), ended_at TEXT, summary TEXT);
CREATE TABLE user_prompts (
  id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, session_id TEXT NOT NULL,
  content TEXT NOT NULL, project TEXT, created_at TEXT NOT NULL DEFAULT (datetime('now')),
  FOREIGN KEY (session_id) REFERENCES sessions(id));
CREATE VIRTUAL TABLE observations_fts USING fts5(title, content, tool_name, type, project,
  topic_key, content='observations', content_rowid='id');
CREATE VIRTUAL TABLE prompts_fts USING fts5(content, project, content='user_prompts',
  content_rowid='id');
"""
_V3_ONLY = """
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, project TEXT NOT NULL, ownership_mode TEXT, directory TEXT NOT NULL,
  started_at TEXT NOT NULL DEFAULT (datetime('now')), ended_at TEXT, summary TEXT,
  runtime_lease_expires_at TEXT, local_creation_project TEXT);
CREATE TABLE user_prompts (
  id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT, source_inbox_id TEXT,
  local_creation_session_id TEXT, local_creation_inbox_id TEXT, local_creation_project TEXT,
  session_id TEXT NOT NULL, content TEXT NOT NULL, project TEXT,
  created_at TEXT NOT NULL DEFAULT (datetime('now')),
  FOREIGN KEY (session_id) REFERENCES sessions(id));
CREATE TABLE observation_versions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  observation_id INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE, title TEXT,
  content TEXT NOT NULL, version INTEGER NOT NULL,
  created_at DATETIME DEFAULT CURRENT_TIMESTAMP, UNIQUE(observation_id, version));
CREATE TABLE sync_delete_tombstones (
  entity TEXT NOT NULL, entity_key TEXT NOT NULL, session_id TEXT,
  project TEXT NOT NULL DEFAULT '', deleted_at TEXT NOT NULL DEFAULT (datetime('now')),
  hard_delete BOOLEAN NOT NULL DEFAULT 1, active BOOLEAN NOT NULL DEFAULT 1,
  last_mutation_seq INTEGER NOT NULL DEFAULT 0, last_remote_mutation_seq INTEGER,
  PRIMARY KEY (entity, entity_key));
CREATE VIRTUAL TABLE observations_fts USING fts5(title, content, tool_name, type, project,
  topic_key, tokenize='trigram', content='observations', content_rowid='id');
CREATE VIRTUAL TABLE prompts_fts USING fts5(content, project, tokenize='trigram',
  content='user_prompts', content_rowid='id');
PRAGMA user_version = 1;
"""
_V3_SYNC = """
ALTER TABLE sync_mutations ADD COLUMN disposition TEXT NOT NULL DEFAULT 'pending';
ALTER TABLE sync_mutations ADD COLUMN disposition_reason TEXT;
ALTER TABLE sync_mutations ADD COLUMN disposition_evidence TEXT;
ALTER TABLE sync_mutations ADD COLUMN disposition_at TEXT;
ALTER TABLE prompt_tombstones ADD COLUMN source_inbox_id TEXT;
CREATE TABLE sync_delete_tombstone_remote_floors (
  target_key TEXT NOT NULL, entity TEXT NOT NULL, entity_key TEXT NOT NULL,
  last_mutation_seq INTEGER NOT NULL, PRIMARY KEY (target_key, entity, entity_key));
"""
DDL = {
    "july": _JULY_ONLY + _OBSERVATIONS + _RELATIONS + _SYNC + _TRIGGERS,
    "v3": _V3_ONLY + _OBSERVATIONS + _RELATIONS + _SYNC + _V3_SYNC + _TRIGGERS,
}
FIRST_OBSERVATIONS = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT NOT NULL, directory TEXT NOT NULL,
  started_at TEXT NOT NULL);
CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
  type TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL, project TEXT,
  created_at TEXT NOT NULL);
"""
"""An early Engram, before scopes, sync and soft deletion."""


@dataclass(slots=True)
class Told:
    """What a recorder was told, in order."""

    intents: list[tuple[str, str, str]] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)

    def intend(self, path: str, pre: str, post: str) -> None:
        self.intents.append((path, pre, post))

    def done(self, path: str) -> None:
        self.finished.append(path)


@dataclass(frozen=True, slots=True)
class Seen:
    """A view over what a store holds at one moment."""

    held: dict[str, Memory]

    def get(self, ref: str) -> Memory:
        if ref not in self.held:
            raise RefError(f"no memory {ref}")
        return self.held[ref]

    def memories(self, store: str) -> Iterable[Memory]:
        return (memory for memory in self.held.values() if memory.store == store)


def connect(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "engram.db", isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def sql(folder: Path, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(connect(folder)) as connection:
        return [tuple(row) for row in connection.execute(statement, values)]


def enroll(folder: Path, project: str = "belfry") -> None:
    """Let Engram synchronise this project; v3 queues nothing of any other."""
    sql(folder, "INSERT INTO sync_enrolled_projects VALUES (?, '2026-10-01 08:00:00')", project)


def put(connection: sqlite3.Connection, table: str, **columns: Any) -> int:
    names = ", ".join(columns)
    cursor = connection.execute(
        f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})",
        tuple(columns.values()),
    )
    return cursor.lastrowid or 0


def observation(connection: sqlite3.Connection, number: int, **columns: Any) -> None:
    """A row with everything that must be there; `columns` override."""
    day = f"2026-10-{number % 28 + 1:02d} 09:00:00"
    row: dict[str, Any] = {
        "id": number,
        "sync_id": f"obs-{number:016x}",
        "session_id": "bells-2026-10-01",
        "type": "discovery",
        "title": f"Title {number}",
        "content": f"Body of number {number}",
        "project": "belfry",
        "last_seen_at": day,
        "created_at": day,
        "updated_at": day,
    }
    put(connection, "observations", **(row | columns))


def relation(connection: sqlite3.Connection, source: int, target: int, **columns: Any) -> None:
    row: dict[str, Any] = {
        "sync_id": f"rel-{source:08x}{target:08x}",
        "source_id": f"obs-{source:016x}",
        "target_id": f"obs-{target:016x}",
        "relation": "supersedes",
        "judgment_status": "judged",
        "marked_by_actor": "agent:warden",
        "marked_by_kind": "agent",
        "confidence": 0.75,
        "reason": "says the newer thing",
        "created_at": "2026-10-20 10:00:00",
        "updated_at": "2026-10-20 10:00:00",
    }
    put(connection, "memory_relations", **(row | columns))


def build(folder: Path, schema: str) -> Path:
    """A small belfry of memories, in WAL mode, closed; the folder that holds engram.db."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "engram.db").write_bytes(_built(schema))
    return folder


@cache
def _built(schema: str) -> bytes:
    with TemporaryDirectory() as folder:
        return (_build(Path(folder), schema) / "engram.db").read_bytes()


def _build(folder: Path, schema: str) -> Path:
    with closing(connect(folder)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(DDL[schema])
        put(
            connection,
            "sessions",
            id="bells-2026-10-01",
            project="belfry",
            directory="/home/ringer/belfry",
            started_at="2026-10-01 08:00:00",
            ended_at="2026-10-01 17:00:00",
            summary="Re-hung the tenor",
        )
        put(connection, "sessions", id="open", project="belfry", directory="", summary=None)
        _observations(connection)
        relation(connection, 5, 4)
        relation(connection, 5, 3, relation="conflicts_with", confidence=0.5)
        relation(
            connection,
            6,
            3,
            relation="pending",
            judgment_status="pending",
            marked_by_actor=None,
            marked_by_kind=None,
            confidence=None,
            reason=None,
        )
        relation(connection, 6, 1, relation="related", judgment_status="orphaned")
        put(
            connection,
            "user_prompts",
            sync_id="prompt-1",
            session_id="bells-2026-10-01",
            content="why does the treble stick?",
            project="belfry",
            created_at="2026-10-01 08:05:00",
        )
        if schema == "v3":
            put(
                connection,
                "observation_versions",
                observation_id=2,
                title="Old title",
                content="Stays of ash",
                version=1,
                created_at="2026-10-02 08:00:00",
            )
    return folder


def _observations(connection: sqlite3.Connection) -> None:
    observation(connection, 1, title="Clapper weight", content="The tenor clapper weighs 38 kg")
    observation(
        connection,
        2,
        type="decision",
        title="Stays",
        content="Stays are oak from now on",
        topic_key="decision/stays",
        revision_count=2,
        review_after="2026-10-30 00:00:00",
    )
    observation(connection, 3, pinned=1, scope="personal", content="Ring before <nine> & after")
    observation(connection, 4, type="config", content="Muffles live in the ringing chamber")
    observation(connection, 5, type="config", content="Muffles live in the sacristy")
    observation(connection, 6, content="鐘を鳴らす 🔔 réunion", tool_name="mem_save")
    observation(connection, 7, deleted_at="2026-10-25 12:00:00", content="Sold the small bell")
    observation(connection, 8, project="orchard", type="passive", content="Pears in October")


def open_store(folder: Path) -> EngramStore:
    root = FORMAT.detect(folder)
    assert root is not None
    store = FORMAT.open(root, "bells")
    assert isinstance(store, EngramStore)
    store.now = lambda: NOW
    return store


def everything(store: EngramStore) -> Seen:
    return Seen({memory.ref: memory for memory in _read(store)})


def _read(store: EngramStore) -> Iterator[Memory]:
    scan = store.scan()
    assert scan.unreadable == ()
    for shard in scan.shards:
        reading = store.read(shard)
        assert reading.unreadable == ()
        yield from reading.memories


def change(act: Act, number: int | str = "", *, force: bool = False, **fields: Any) -> Change:
    ref = f"bells:{number}" if number != "" else ""
    return Change(act, "bells", ref, fields, force)


def folder_state(folder: Path) -> dict[str, tuple[int, ...]]:
    """Everything `stat` says about a folder and its files, reading times apart."""
    return {str(path): _facts(path) for path in [folder, *folder.iterdir()]}


def _facts(path: Path) -> tuple[int, ...]:
    """Without ctime for -wal and -shm: as root, SQLite sets their owner when it opens them."""
    info = path.stat()
    changed = 0 if path.name.endswith(("-wal", "-shm")) else info.st_ctime_ns
    return (info.st_mode, info.st_ino, info.st_size, info.st_mtime_ns, changed)


def export_of(
    store: EngramStore, version: str = exchange.FULL, only: Collection[str] | None = None
) -> str:
    """Engram's own JSON of the memories with these ids, or of all."""
    return exchange.export(store.file, store.now(), version, only)
