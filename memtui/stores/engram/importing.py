"""Import observations, prompts and sessions that have an id already; convert other formats.

They keep their sync_id, times, counts, scope, topic key and soft deletion, and none of Engram's
rules of saving is asked: nothing that is there is overwritten or counted as seen again. What is
known by its sync_id already stays as it is. The number is the next free one, because numbers
belong to one database. Relations come along by the sync_ids of both ends, so they hold again as
soon as both are there. Former versions stay behind: they go by row numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan, row_edit
from memtui.errors import Refused
from memtui.model import CURRENT, Memory
from memtui.stores.engram import rules
from memtui.stores.engram.records import PROMPT, SESSION, count_of, importance
from memtui.stores.engram.rows import OpenDatabase, imported_session_row, session_edits
from memtui.stores.engram.schema import OBSERVATION_COLUMNS
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    converted,
    encodable,
    entity_parts,
    extra_in,
    kind_change,
    short_hash,
)
from memtui.stores.plans import plan_duplicate
from memtui.stores.sqlite.rows import from_json_value, is_valid_text, text
from memtui.stores.values import created_of, from_iso

_FROM_EXTRA = OBSERVATION_COLUMNS - {"id", "type", "title", "content", "pinned", "normalized_hash"}
_PROMPT_COLUMNS = ("sync_id", "session_id", "project", "created_at")
_SESSION_COLUMNS = ("project", "ownership_mode", "directory", "started_at", "ended_at")
_RELATION_LOCAL = frozenset({"id", "superseded_by_relation_id"})

Row = Mapping[str, Any]


class ImportPlanner(OpenDatabase, frozen=True):
    """Plans imports into one database. Methods raise Refused, sqlite3.Error."""

    def plan_import(self, change: Change) -> Plan:
        for name in ("content", "title", "type"):
            if not is_valid_text(_text_field(change, name)):
                raise Refused(f"the {name} holds half a character, which UTF-8 cannot hold")
        id = text(change.fields["id"])
        extra = extra_in(change)
        if id.startswith(SESSION) and "started_at" in extra:
            return self._imported_session(change, id.removeprefix(SESSION), extra)
        if id.startswith(PROMPT) and "session_id" in extra:
            return self._imported_prompt(change, id, extra)
        return self._imported_observation(change, id, extra)

    def _imported_observation(self, change: Change, id: str, extra: Row) -> Plan:
        sync_id = text(extra.get("sync_id")) or rules.sync_id_of("obs", id)
        existing = self._number("observations", sync_id)
        if existing is not None:
            return plan_duplicate(change, "this observation", f"{self.label}:{existing}")
        row = {"id": self.number, "sync_id": sync_id, **self._imported_columns(change, extra)}
        row = {name: value for name, value in row.items() if value is not None}
        row = self.schema.known("observations", row)
        edits = (
            *self._bare_session(row),
            row_edit(self.path, "observations", {"sync_id": sync_id}, None, row),
            *self._imported_relations(extra),
        )
        warnings = ("former versions are not carried along",) if extra.get("versions") else ()
        refs = (f"{self.label}:{self.number}",)
        return Plan((change,), edits, Outcome.ADDED, refs=refs, warnings=warnings)

    def _imported_columns(self, change: Change, extra: Row) -> dict[str, Any]:
        columns = {
            name: from_json_value(extra[name])
            for name in _FROM_EXTRA
            if extra.get(name) is not None
        }
        content = _text_field(change, "content")
        title = _text_field(change, "title") or rules.title("", content)
        at = rules.address(_text_field(change, "entity"), title)
        project = rules.project_name(text(columns.get("project")) or at.project)
        created = rules.timestamp(created_of(change, self.moment))
        updated = text(columns.get("updated_at")) or _updated(change) or created
        session = text(columns.get("session_id")) or rules.manual_session(project)
        deleted = updated if change.fields.get("status") == "deleted" else None
        return columns | {
            "session_id": session,
            "type": _text_field(change, "type") or rules.DEFAULT_TYPE,
            "title": title,
            "content": content,
            "project": project or None,
            "scope": text(columns.get("scope")) or at.scope,
            "topic_key": text(columns.get("topic_key"))
            or ("" if columns else at.topic_key)
            or None,
            "normalized_hash": rules.content_hash(content),
            "pinned": int(bool(change.fields.get("pinned"))),
            "revision_count": max(1, count_of(columns.get("revision_count"))),
            "duplicate_count": max(1, count_of(columns.get("duplicate_count"))),
            "created_at": text(columns.get("created_at")) or created,
            "updated_at": updated,
            "deleted_at": columns.get("deleted_at") or deleted,
        }

    def _imported_prompt(self, change: Change, id: str, extra: Row) -> Plan:
        row = {name: extra[name] for name in _PROMPT_COLUMNS if extra.get(name) is not None}
        sync_id = text(row.setdefault("sync_id", rules.sync_id_of("prompt", id)))
        existing = self._number("user_prompts", sync_id)
        if existing is not None:
            return plan_duplicate(change, "this prompt", f"{self.label}:{PROMPT}{existing}")
        row["content"] = _text_field(change, "content")
        edit = row_edit(self.path, "user_prompts", {"sync_id": sync_id}, None, row)
        return Plan((change,), (*self._bare_session(row), edit), Outcome.ADDED)

    def _imported_session(self, change: Change, own: str, extra: Row) -> Plan:
        ref = f"{self.label}:{SESSION}{own}"
        if self.fetch("SELECT id FROM sessions WHERE id = ?", (own,)) is not None:
            return plan_duplicate(change, "this session", ref)
        columns = {name: extra[name] for name in _SESSION_COLUMNS if extra.get(name) is not None}
        columns |= {"id": own, "summary": _text_field(change, "content")}
        row = imported_session_row(self.schema, columns)
        edit = row_edit(self.path, "sessions", {"id": own}, None, row)
        return Plan((change,), (edit,), Outcome.ADDED, refs=(ref,))

    def _imported_relations(self, extra: Row) -> tuple[Edit, ...]:
        """The relations from this observation that the database does not hold."""
        if not self.schema.has("memory_relations"):
            return ()
        edits = []
        for relation in extra.get("relations") or ():
            sync_id = text(relation.get("sync_id")) if isinstance(relation, Mapping) else ""
            if not sync_id or self._number("memory_relations", sync_id) is not None:
                continue
            known = self.schema.known("memory_relations", relation)
            row = {n: from_json_value(v) for n, v in known.items() if n not in _RELATION_LOCAL}
            edits.append(row_edit(self.path, "memory_relations", {"sync_id": sync_id}, None, row))
        return tuple(edits)

    def _bare_session(self, row: Row) -> tuple[Edit, ...]:
        """The edits that create the session of a row, without a summary, if it is missing."""
        session, project = text(row["session_id"]), text(row.get("project"))
        started_at = text(row.get("created_at")) or self.now
        place = (self.path, self.connection, self.schema)
        return session_edits(*place, session, project, started_at)

    def _number(self, table: str, sync_id: str) -> int | None:
        if not self.schema.has(table, "sync_id"):
            raise Refused("this older Engram database has no sync_id", where=self.path)
        found = self.connection.execute(
            f"SELECT max(id) FROM {table} WHERE sync_id = ?", (sync_id,)
        ).fetchone()
        return None if found[0] is None else int(found[0])


def _text_field(change: Change, name: str) -> str:
    value = change.fields.get(name)
    return value if isinstance(value, str) else ""


def _updated(change: Change) -> str:
    value = change.fields.get("updated")
    time = value if isinstance(value, datetime) else from_iso(value)
    return rules.timestamp(time) if time else ""


_CUT = "\n[cut]"


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to an observation: the first part of the entity is the project.

    Engram knows no retired memory: what is not current becomes soft-deleted.
    """
    content, content_changes = _content(memory)
    created = memory.created or memory.updated
    extra: dict[str, Any] = {
        "sync_id": f"obs-{short_hash(memory.ref, 16)}",
        "tool_name": encodable(memory.ref),
        "project": rules.project_name(entity_parts(memory)[0]),
        "scope": "project",
    }
    if created:
        extra["created_at"] = rules.timestamp(created)
        extra["updated_at"] = rules.timestamp(memory.updated or created)
    status = "active" if memory.status in CURRENT else "deleted"
    fields = {
        "id": memory.ref,
        "content": content,
        "title": encodable(memory.headline),
        "type": encodable(memory.type) or rules.DEFAULT_TYPE,
        "status": status,
        "pinned": memory.pinned,
        "extra": extra,
    }
    entity = f"{extra['project']}/{extra['scope']}"
    derived = importance(str(fields["type"]), memory.pinned)
    changes = (
        *((True, name) for name in content_changes),
        (memory.status != status, f"status {memory.status} (becomes {status})"),
        kind_change(memory, "observation"),
        (memory.entity not in ("", entity), "entity (its first part becomes the project)"),
        (memory.importance != derived, "importance (follows from the type)"),
    )
    return converted(memory, fields, changes, held=("updated",))


def _content(memory: Memory) -> tuple[str, tuple[str, ...]]:
    """Cut the text to Engram's limit; also what was changed."""
    text = memory.content or memory.headline
    changed: tuple[str, ...] = ()
    if not is_valid_text(text):
        text, changed = encodable(text), ("content (half characters become ?)",)
    data = text.encode()
    if len(data) <= rules.CONTENT_BYTES:
        return text, changed
    shortened = data[: rules.CONTENT_BYTES - len(_CUT)].decode("utf-8", "ignore") + _CUT
    return shortened, (*changed, f"content (cut to {rules.CONTENT_BYTES:,} bytes)")
