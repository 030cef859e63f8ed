"""Write what Engram records about every change: sync rows, former versions, tombstones.

Without these rows the cloud and git synchronisation never sees a change. The payloads have the
keys, the order and the escapes of Engram's own (checked against 654 payloads it wrote). Pins and
reviews are local in Engram and are not noted; relations only where their project is enrolled.

July 2026 queues every change. v3 queues only those of enrolled projects, because enrolling a
project queues what the database holds then, and skips what is queued already
(enqueueSyncMutationWithSourceTx, backfillProjectSyncMutationsTx in store.go). Neither version can
deliver a row that lacks a required value, and one such row stops its whole project, so none is
queued (normalizeMutationPayload in chunkcodec.go). Payloads: syncSessionPayload,
syncObservationPayload and their like in store.go; columns that a schema lacks are left out.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from memtui.stores.engram.records import is_blank
from memtui.stores.engram.rows import insert_row
from memtui.stores.engram.rules import go_json, project_name
from memtui.stores.engram.schema import Schema

_KEYS = {
    "session": "id project ownership_mode? directory? started_at? ended_at? summary?",
    "observation": """sync_id session_id type title content tool_name? project? scope topic_key?
        revision_count duplicate_count last_seen_at? created_at? updated_at?""",
    "prompt": "source_inbox_id? sync_id session_id content project? created_at?",
    "relation": """sync_id source_id target_id relation reason? evidence? confidence?
        judgment_status marked_by_actor? marked_by_kind? marked_by_model? session_id?""",
}
"""The columns of an upsert, in order; `?`: it is left out when it is NULL."""
_REQUIRED = {
    "session": "id directory",
    "observation": "sync_id session_id type title content scope",
    "prompt": "sync_id session_id content",
    "relation": "sync_id source_id target_id relation judgment_status",
}
"""Values without which Engram refuses to deliver an upsert."""


def upsert_payload(entity: str, row: Row) -> dict[str, Any]:
    """The upsert of a row; of a relation without its project and times."""
    found: dict[str, Any] = {}
    for key in _KEYS[entity].split():
        name = key.removesuffix("?")
        value = row.get(name)
        if value is not None or name == key:
            found[name] = "" if value is None else value
    return found


def is_complete(entity: str, payload: Mapping[str, Any]) -> bool:
    """Whether Engram would deliver this upsert."""
    return all(not is_blank(payload.get(name)) for name in _REQUIRED[entity].split())


DEFAULT_TARGET = "cloud"
"""Engram's DefaultSyncTargetKey; each project has `cloud:<project>` beside it."""

UPSERT, DELETE = "upsert", "delete"

Row = Mapping[str, Any]


class SyncLog(Struct, frozen=True):
    """Writes the records of one transaction, all with one time. Raises sqlite3.Error."""

    connection: sqlite3.Connection
    schema: Schema
    now: str

    def observation_saved(self, row: Row) -> None:
        """`row` is the whole row as it is now."""
        self._enqueue("observation", row, UPSERT, upsert_payload("observation", row))

    def observation_deleted(self, row: Row, deleted_at: str, *, hard: bool) -> None:
        """`row` as it was (hard) or is (soft)."""
        if hard:
            self._tombstone("observation", row, deleted_at)
        payload: dict[str, Any] = {
            "sync_id": row["sync_id"] or "",
            "session_id": row["session_id"],
            "type": "",
            "title": "",
            "content": "",
            **self._deletion_project(row),
        }
        payload |= {"scope": "", "revision_count": 0, "duplicate_count": 0}
        payload |= {"deleted": True, "deleted_at": deleted_at}
        if hard:
            payload["hard_delete"] = True
        self._enqueue("observation", row, DELETE, payload)

    def session_saved(self, row: Row) -> None:
        self._enqueue("session", row, UPSERT, upsert_payload("session", row))

    def session_deleted(self, row: Row) -> None:
        self._tombstone("session", row, self.now)
        payload = {"id": row["id"], "project": row["project"], "deleted": True}
        payload |= {"deleted_at": self.now, "hard_delete": True}
        self._enqueue("session", row, DELETE, payload)

    def prompt_saved(self, row: Row) -> None:
        if self.schema.has("prompt_tombstones", "sync_id"):
            self.connection.execute(
                "DELETE FROM prompt_tombstones WHERE sync_id = ?", (row["sync_id"],)
            )
        self._enqueue("prompt", row, UPSERT, upsert_payload("prompt", row))

    def prompt_deleted(self, row: Row) -> None:
        inbox = {"source_inbox_id": row.get("source_inbox_id")} if self.schema.v3 else {}
        if self.schema.has("prompt_tombstones", "sync_id"):
            self.connection.execute(
                "DELETE FROM prompt_tombstones WHERE sync_id = ?", (row["sync_id"],)
            )
            columns = {name: row[name] for name in ("sync_id", "session_id", "project")}
            columns |= inbox | {"deleted_at": self.now}
            insert_row(self.connection, self.schema, "prompt_tombstones", columns)
        payload: dict[str, Any] = {name: value for name, value in inbox.items() if value}
        payload |= {name: row[name] for name in ("sync_id", "session_id")}
        payload |= {"content": "", **self._deletion_project(row)}
        payload |= {"deleted": True, "deleted_at": self.now, "hard_delete": True}
        self._enqueue("prompt", row, DELETE, payload)

    def relation_saved(self, row: Row) -> None:
        """Queue a judged relation of an enrolled project, as Engram's JudgeRelation does."""
        project = self.relation_project(row)
        marked = row["marked_by_actor"] and row["marked_by_kind"]
        if row["judgment_status"] != "judged" or not marked or not self.enrolled(project):
            return
        payload = upsert_payload("relation", row) | {
            "project": project,
            "created_at": row["created_at"],
            "updated_at": row["updated_at"],
        }
        self._enqueue("relation", {**row, "project": project}, UPSERT, payload)

    def relation_project(self, row: Row) -> str:
        """Project of the source, or of its session."""
        found = self.connection.execute(
            "SELECT coalesce(nullif(o.project, ''), s.project, '') FROM observations o"
            " LEFT JOIN sessions s ON s.id = o.session_id WHERE o.sync_id = ?"
            " ORDER BY o.id DESC LIMIT 1",
            (row["source_id"],),
        ).fetchone()
        return str(found[0]) if found else ""

    def enrolled(self, project: str) -> bool:
        if not self.schema.has("sync_enrolled_projects"):
            return False
        found = self.connection.execute(
            "SELECT 1 FROM sync_enrolled_projects WHERE project = ?", (project,)
        ).fetchone()
        return found is not None

    def keep_version(self, row: Row) -> None:
        """v3: keep the title and the text that an edit overwrites; version 1 is the oldest."""
        if not self.schema.keeps_versions:
            return
        self.connection.execute(
            "INSERT INTO observation_versions (observation_id, title, content, version, created_at)"
            " SELECT ?, ?, ?, coalesce(max(version), 0) + 1, ? FROM observation_versions"
            " WHERE observation_id = ?",
            (row["id"], row["title"], row["content"], self.now, row["id"]),
        )

    def _enqueue(self, entity: str, row: Row, op: str, payload: Mapping[str, Any]) -> None:
        key = str(payload.get("sync_id" if entity != "session" else "id") or "")
        deliverable = op == DELETE or is_complete(entity, payload)
        if entity == "session" and not deliverable:
            return
        if op == UPSERT and self.schema.has("sync_delete_tombstones", "active"):
            # The entity exists again.
            self.connection.execute(
                "UPDATE sync_delete_tombstones SET active = 0 WHERE entity = ? AND entity_key = ?",
                (entity, key),
            )
        project = self._project(row)
        # v3 queues what belongs to enrolled projects, and upserts without a project.
        is_queued = not self.schema.v3 or (op == UPSERT and not project) or self.enrolled(project)
        if not deliverable or not is_queued:
            if op == DELETE:
                self._mark_superseded(entity, key, project)
            return
        if self.schema.v3 and entity == "session" and op == UPSERT:
            # As v3: undelivered upserts of a session go before a new one.
            self.connection.execute(
                f"DELETE FROM sync_mutations WHERE {self._undelivered()}",
                (DEFAULT_TARGET, "session", key, project),
            )
        self._ensure_state(DEFAULT_TARGET)
        columns = {
            "target_key": DEFAULT_TARGET,
            "entity": entity,
            "entity_key": key,
            "op": op,
            "payload": go_json(payload),
            "source": "local",
            "occurred_at": self.now,
            "project": project,
        }
        seq = insert_row(self.connection, self.schema, "sync_mutations", columns)
        self._mark_pending(DEFAULT_TARGET, seq)
        if project:
            self._ensure_state(f"{DEFAULT_TARGET}:{project}")
            self._mark_pending(f"{DEFAULT_TARGET}:{project}", seq)

    def _mark_superseded(self, entity: str, key: str, project: str) -> None:
        """v3: mark undelivered upserts of a deleted entity, in a project that is not enrolled
        (supersedeDeletedEntityMutationTx)."""
        if not self.schema.has("sync_mutations", "disposition_at"):
            return
        evidence = {
            "entity": entity,
            "entity_key": key,
            "project": project,
            "trigger": "local_delete",
        }
        changed = self.connection.execute(
            "UPDATE sync_mutations SET disposition = 'superseded',"
            " disposition_reason = 'local_entity_deleted', disposition_evidence = ?,"
            f" disposition_at = ? WHERE {self._undelivered()}",
            (go_json(evidence), self.now, DEFAULT_TARGET, entity, key, project),
        )
        if changed.rowcount > 0:
            self._update_lifecycle(DEFAULT_TARGET, "target_key = ?", DEFAULT_TARGET)
            if project:
                self._update_lifecycle(f"{DEFAULT_TARGET}:{project}", "project = ?", project)

    def _undelivered(self) -> str:
        """Condition for upserts of one entity that no cloud has acknowledged."""
        waiting = " AND disposition = 'pending'" * self.schema.has("sync_mutations", "disposition")
        return (
            "target_key = ? AND entity = ? AND entity_key = ? AND project = ?"
            f" AND op = 'upsert' AND source = 'local' AND acked_at IS NULL{waiting}"
        )

    def _update_lifecycle(self, target: str, where: str, value: str) -> None:
        """Set pending while something waits, else healthy; faults that Engram recorded stay."""
        waiting = self.connection.execute(
            "SELECT count(*) FROM sync_mutations"
            f" WHERE {where} AND acked_at IS NULL AND disposition = 'pending'",
            (value,),
        ).fetchone()[0]
        lifecycle = "pending" if waiting else "healthy"
        self._ensure_state(target)
        self.connection.execute(
            "UPDATE sync_state SET lifecycle = ?, updated_at = ? WHERE target_key = ?"
            " AND lifecycle NOT IN ('degraded', 'inbox', ?)",
            (lifecycle, self.now, target, lifecycle),
        )

    def _deletion_project(self, row: Row) -> dict[str, Any]:
        """The project of a deletion; v3 also takes that of the session."""
        if self.schema.v3:
            project = self._project(row)
            return {"project": project} if project else {}
        return {} if row["project"] is None else {"project": row["project"]}

    def _project(self, row: Row) -> str:
        project = project_name(str(row.get("project") or ""))
        if project or not row.get("session_id"):
            return project
        found = self.connection.execute(
            "SELECT project FROM sessions WHERE id = ?", (row["session_id"],)
        ).fetchone()
        return project_name(str(found[0] or "")) if found else ""

    def _ensure_state(self, target: str) -> None:
        self.connection.execute(
            "INSERT OR IGNORE INTO sync_state (target_key, lifecycle, updated_at)"
            " VALUES (?, 'idle', ?)",
            (target, self.now),
        )

    def _mark_pending(self, target: str, seq: int) -> None:
        self.connection.execute(
            "UPDATE sync_state SET lifecycle = 'pending', last_enqueued_seq = ?, updated_at = ?"
            " WHERE target_key = ?",
            (seq, self.now, target),
        )

    def _tombstone(self, entity: str, row: Row, deleted_at: str) -> None:
        """v3: record a deletion so that an old pull cannot restore it
        (recordSyncDeleteTombstoneTx)."""
        if not self.schema.has("sync_delete_tombstones", "last_mutation_seq"):
            return
        key = row["id"] if entity == "session" else row["sync_id"]
        session = None if entity == "session" else row["session_id"]
        last = self.connection.execute(
            "SELECT coalesce(max(seq), 0) FROM sync_mutations"
            " WHERE entity = ? AND entity_key = ? AND op = 'delete'",
            (entity, key),
        ).fetchone()[0]
        remote = self.schema.has("sync_delete_tombstones", "last_remote_mutation_seq")
        self.connection.execute(
            "INSERT INTO sync_delete_tombstones (entity, entity_key, session_id, project,"
            " deleted_at, hard_delete, active, last_mutation_seq) VALUES (?, ?, ?, ?, ?, 1, 1, ?)"
            " ON CONFLICT (entity, entity_key) DO UPDATE SET session_id = excluded.session_id,"
            " project = excluded.project, deleted_at = excluded.deleted_at, hard_delete = 1,"
            " active = 1, last_mutation_seq = max(last_mutation_seq, excluded.last_mutation_seq)"
            + (", last_remote_mutation_seq = NULL" if remote else ""),
            (entity, key, session, self._project(row), deleted_at, last),
        )
        if self.schema.has("sync_delete_tombstone_remote_floors"):
            self.connection.execute(
                "DELETE FROM sync_delete_tombstone_remote_floors"
                " WHERE entity = ? AND entity_key = ?",
                (entity, key),
            )
