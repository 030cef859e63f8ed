"""Plan changes as row edits. Reads the database, writes nothing.

The `before` columns of an edit are what the person saw (the memory of the snapshot), not what the
database holds by now: whoever changed the row in between is noticed when the edit is made.

Acts and what they become, Engram's own way wherever it has one:

| act | rows |
| --- | --- |
| edit, retype | the changed columns of the observation |
| retire, restore | `deleted_at` set (soft delete), or NULL again, which Engram itself cannot; a \
superseded one is restored by taking back the verdict |
| delete | the row for good, its relations orphaned (needs force; prompts have no other way) |
| pin, unpin, review | `pinned`, `review_after` |
| supersede | a new observation and a judged `supersedes` relation to the old one |
| link, unlink | a judged relation (a pending one between the two is judged); orphaned |
| add | Engram's save: same topic key overwrites, same text within 15 minutes counts, else new |

A save: a live observation with the same topic key, project and scope is overwritten in place; the
same text, title, type, project and scope within 15 minutes counts as seen again; anything else
becomes a new observation, due for review where its type asks for that, in the session
`manual-save-<project>`, which is made when it is missing. The number of a new observation is the
one SQLite would give next. If another program takes it before the plan is applied, the next free
one is used, and the writer says which.

A link is a row of memory_relations, or an entry beside the database. Engram never deletes a
relation and has no message for one that is gone; what is taken back is orphaned, the status under
which Engram itself stops showing it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Outcome, Plan, row_edit
from memtui.errors import RefError, Refused
from memtui.model import Memory
from memtui.stores.base import StoreView
from memtui.stores.engram import rules
from memtui.stores.engram.importing import ImportPlanner
from memtui.stores.engram.records import (
    OPEN_STATUSES,
    PROMPT,
    Relation,
    count_of,
    relations,
    row_key,
)
from memtui.stores.engram.rows import session_edits
from memtui.stores.engram.rules import plan_nothing
from memtui.stores.engram.schema import Schema
from memtui.stores.importing import is_import
from memtui.stores.sqlite.rows import DAMAGED, text, to_json_value
from memtui.text import counted

_OVERWRITTEN = ("type", "title", "content", "tool_name", "last_seen_at")
"""What a save under an existing topic key replaces (store.go, AddObservation)."""


def _warnings(fields: Mapping[str, Any]) -> tuple[str, ...]:
    if any(rules.has_private(_text_field(fields, name)) for name in ("content", "title")):
        return ("what stands between <private> tags is not stored",)
    return ()


def _text_field(fields: Mapping[str, Any], name: str) -> str:
    """The text as the person wrote it; lone surrogates are refused later, never replaced."""
    value = fields.get(name)
    return "" if value is None else str(value)


# ---- relations ----------------------------------------------------------------------------------


def why_beside(change: Change, memory: Memory, view: StoreView, schema: Schema) -> str:
    """Why a LINK is no relation of Engram's and has to be kept beside the database; '' if it is
    one. Engram relates two observations of one project by one of its six verbs."""
    verb = str(change.fields.get("relation", ""))
    target = str(change.fields.get("target", "")).removeprefix(f"{memory.store}:")
    if not schema.has("memory_relations"):
        return "this older Engram database keeps no relations"
    if verb not in rules.RELATIONS:
        return f"Engram knows no relation {verb}"
    try:
        other = view.get(f"{memory.store}:{target}")
    except RefError:
        return "Engram relates its own observations only"
    ends = (memory, other)
    if any(end.kind != "observation" or not end.extra.get("sync_id") for end in ends):
        return "Engram relates its own observations only"
    if memory.extra.get("project") != other.extra.get("project"):
        return "Engram relates only within one project"
    return "Engram relates no observation to itself" if other == memory else ""


_OF_AGENT = ("reason", "evidence", "confidence", "marked_by_model")


def _judgement_columns(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a judgement, as Engram writes them; an agent's comes with reasons."""
    given = {name: fields[name] for name in _OF_AGENT if name in fields}
    actor, kind = ("agent", "agent") if given else ("user", "human")
    return {
        "relation": str(fields.get("relation", "")),
        "judgment_status": "judged",
        "marked_by_actor": actor,
        "marked_by_kind": kind,
        **given,
    }


def _is_same(relation: Relation, source: str, target: str, verb: str) -> bool:
    return (relation.source, relation.target, relation.relation) == (source, target, verb)


Row = Mapping[str, Any]

_UNSUPPORTED = {
    Act.TAG: "Engram has no tags; its type and topic key say what a memory is about",
    Act.MERGE: "Engram cannot merge; supersede one with the text of both",
    Act.RATE: "Engram has no ratings; pin what matters",
    Act.ACCEPT: "Engram has no proposals",
    Act.DECLINE: "Engram has no proposals",
    Act.ARCHIVE: "Engram keeps no branches",
    Act.HIDE: "Engram can retire what can be changed",
}
_SESSION_READ_ONLY = "Engram writes session summaries itself"
_NEEDS_LIVE_ROW = frozenset(
    {Act.EDIT, Act.RETYPE, Act.SUPERSEDE, Act.RETIRE, Act.PIN, Act.UNPIN, Act.REVIEW}
)


def refusal(schema: Schema, act: Act, memory: Memory | None) -> str:
    """Why the act cannot be done on this memory; '' when it can."""
    if act in _UNSUPPORTED:
        return _UNSUPPORTED[act]
    if act in (Act.LINK, Act.UNLINK):
        return ""  # what is no relation of Engram's is kept beside the database
    if act is Act.SUPERSEDE and not schema.has("memory_relations"):
        return "this older Engram database keeps no relations"
    if act in (Act.PIN, Act.UNPIN) and not schema.has("observations", "pinned"):
        return "this older Engram database keeps no pins"
    if act is Act.REVIEW and not schema.has("observations", "review_after"):
        return "this older Engram database keeps no review dates"
    return "" if memory is None else _refused_here(act, memory)


def _refused_here(act: Act, memory: Memory) -> str:
    if memory.kind == "episode":
        return _SESSION_READ_ONLY
    if memory.extra.get(DAMAGED):
        return "its text is not UTF-8 (cut in mid-character); writing it back would change it"
    if memory.kind == "note":
        return "" if act is Act.DELETE else "Engram keeps prompts as they were typed"
    if act in _NEEDS_LIVE_ROW and memory.status == "deleted":
        return "it is deleted; restore it first"
    if act is Act.RESTORE and memory.status not in ("deleted", "superseded"):
        return "it is neither deleted nor superseded"
    if act is Act.SUPERSEDE and not memory.extra.get("sync_id"):
        return "it has no sync_id, which relations go by (run engram once)"
    return ""


class Planner(ImportPlanner, frozen=True):
    """Plans changes of one database. Methods raise Refused, RefError, sqlite3.Error."""

    def plan(self, change: Change, view: StoreView) -> Plan:
        if change.act is Act.ADD:
            return self.plan_import(change) if is_import(change) else self._add(change)
        memory = view.get(change.ref)
        reason = refusal(self.schema, change.act, memory)
        if reason:
            raise Refused(reason, where=memory.ref)
        if change.act in (Act.LINK, Act.UNLINK):
            plan = self._link if change.act is Act.LINK else self._unlink
            return plan(change, memory, view.get)
        acts: dict[Act, Callable[[Change, Memory], Plan]] = {
            Act.EDIT: self._edit,
            Act.RETYPE: self._edit,
            Act.RETIRE: self._retire,
            Act.RESTORE: self._restore,
            Act.DELETE: self._delete,
            Act.PIN: self._pin,
            Act.UNPIN: self._pin,
            Act.REVIEW: self._review,
            Act.SUPERSEDE: self._supersede,
        }
        return acts[change.act](change, memory)

    # -- one observation -------------------------------------------------------------------

    def _edit(self, change: Change, memory: Memory) -> Plan:
        before: dict[str, Any] = {}
        after: dict[str, Any] = {}
        warnings: list[str] = []
        for name, value in change.fields.items():
            if value == getattr(memory, name, None) or (name == "tags" and not value):
                continue
            if name == "entity":
                self._move(memory, str(value), before, after, warnings)
            elif name in ("content", "title", "type"):
                before[name] = getattr(memory, name)
                after[name] = _text(name, str(value), warnings)
            elif name in ("scope", "topic_key"):
                before[name] = memory.extra.get(name)
                is_scope = name == "scope"
                after[name] = rules.scope(value) if is_scope else rules.topic_key(value) or None
            else:
                raise Refused(f"Engram has no {name} to edit", where=memory.ref)
        changed = [name for name in after if after[name] != before[name]]
        if not changed:
            return plan_nothing(change, memory, "it already is as asked")
        was, now = ({name: values[name] for name in changed} for values in (before, after))
        edit = self._observation(memory, was, now)
        return Plan((change,), (edit,), refs=(memory.ref,), warnings=tuple(warnings))

    def _move(
        self,
        memory: Memory,
        entity: str,
        before: dict[str, Any],
        after: dict[str, Any],
        warnings: list[str],
    ) -> None:
        current = {name: memory.extra.get(name) for name in ("project", "scope", "topic_key")}
        scope = current["scope"] or "project"
        to = rules.address(entity, memory.title, scope)
        if not to.project:
            raise Refused("name a project, as PROJECT or PROJECT/SCOPE", where=memory.ref)
        if to.project != (current["project"] or "") and self.schema.v3:
            raise Refused("since v3 Engram keeps the project of an observation", where=memory.ref)
        key = to.topic_key or None
        if "/" not in entity.strip("/"):
            key = current["topic_key"]
        elif key:
            warnings.append(f"agents that save under the topic key {key} will overwrite it")
        before |= current
        after |= {"project": to.project, "scope": to.scope, "topic_key": key}

    def _retire(self, change: Change, memory: Memory) -> Plan:
        read_values = {"title": memory.title, "content": memory.content}
        before, after = ({"deleted_at": time, **read_values} for time in (None, self.now))
        edit = self._observation(memory, before, after)
        reason = "soft-deleted; restore undoes it"
        return Plan((change,), (edit,), reason=reason, refs=(memory.ref,))

    def _restore(self, change: Change, memory: Memory) -> Plan:
        if memory.status == "deleted":
            deleted = {"deleted_at": memory.extra["deleted_at"]}
            edit = self._observation(memory, deleted, {"deleted_at": None})
            return Plan((change,), (edit,), refs=(memory.ref,))
        return self._reinstate(change, memory)

    def _delete(self, change: Change, memory: Memory) -> Plan:
        if memory.kind == "note":
            row = self._row("user_prompts", int(memory.id.removeprefix(PROMPT)))
            edit = row_edit(self.path, "user_prompts", row_key(row), _row_columns(row), None)
            reason = "prompts are deleted for good"
            return Plan((change,), (edit,), reason=reason, refs=(memory.ref,))
        if not change.force:
            raise Refused(
                "deleting removes the row from the database permanently",
                where=memory.ref,
                do="retire it instead, or force",
            )
        number = int(memory.id)
        edits = [
            row_edit(self.path, "observation_versions", {"id": row["id"]}, _row_columns(row), None)
            for row in self._versions(number)
        ]
        touching = self._touching(memory.extra.get("sync_id"))
        edits += [self._orphan(e, dated=False) for e in touching if e.status != "orphaned"]
        row = self._row("observations", number)
        if row.get("sync_id") != memory.extra.get("sync_id"):
            raise Refused("its number is another observation's now", where=memory.ref)
        edits.append(row_edit(self.path, "observations", row_key(row), _row_columns(row), None))
        orphaned = f", {counted(len(touching), 'relation')} orphaned" if touching else ""
        reason = f"deleted for good{orphaned}"
        return Plan((change,), tuple(edits), reason=reason, refs=(memory.ref,))

    def _pin(self, change: Change, memory: Memory) -> Plan:
        pinned = change.act is Act.PIN
        if memory.pinned == pinned:
            return plan_nothing(change, memory, "it is pinned" if pinned else "it is not pinned")
        edit = self._observation(memory, {"pinned": int(memory.pinned)}, {"pinned": int(pinned)})
        return Plan((change,), (edit,), refs=(memory.ref,))

    def _review(self, change: Change, memory: Memory) -> Plan:
        due = memory.extra.get("review_after")
        next_due = rules.review_after(memory.type, self.moment)
        if due == next_due:
            return plan_nothing(change, memory, f"a {memory.type} is never due for review")
        edit = self._observation(memory, {"review_after": due}, {"review_after": next_due})
        reason = f"due again {next_due[:10]}" if next_due else "not due any more"
        return Plan((change,), (edit,), reason=reason, refs=(memory.ref,))

    def _supersede(self, change: Change, memory: Memory) -> Plan:
        plan, sync_id = self._successor(change, memory)
        own = str(memory.extra["sync_id"])
        relation = self._new_relation(sync_id, own, {"relation": "supersedes"})
        values = {"pinned": 1}, {"pinned": 0}
        unpinned = (self._observation(memory, *values),) if memory.pinned else ()
        warnings = plan.warnings
        key = memory.extra.get("topic_key")
        if key:
            warnings += (f"agents that save under {key} still overwrite the old one",)
        return Plan(
            (change,),
            (*plan.edits, relation, *unpinned),
            Outcome.SUPERSEDED,
            reason=f"a new observation supersedes {memory.ref}",
            refs=(*plan.refs, memory.ref),
            supersedes=(memory.ref,),
            warnings=warnings,
        )

    # -- new observations ------------------------------------------------------------------

    def _add(self, change: Change) -> Plan:
        fields = change.fields
        content = rules.content(_text_field(fields, "content"))
        title = rules.title(_text_field(fields, "title"), content)
        at = rules.address(_text_field(fields, "entity"), title)
        if fields.get("topic_key"):
            at = replace(at, topic_key=rules.topic_key(_text_field(fields, "topic_key")))
        if not at.project:
            raise Refused("Engram files by project: name one as the entity", do="PROJECT/SCOPE")
        columns = self._new_columns(fields, content, title, at)
        warnings = _warnings(fields)
        if at.topic_key:
            same_topic = self._same_topic(at)
            if same_topic is not None:
                return self._overwrite(change, same_topic, columns, warnings)
        twin = None if change.force else self._find_duplicate(columns)
        if twin is not None:
            return self._count(change, twin)
        return self._insert_new(change, columns, warnings)

    def _successor(self, change: Change, memory: Memory) -> tuple[Plan, str]:
        """Plan a successor in the project and scope of `memory`; also returns its sync_id."""
        fields = change.fields
        content = rules.content(_text_field(fields, "content"))
        if content == memory.content:
            raise Refused("the successor says the same", where=memory.ref, do="change the text")
        title = rules.title(_text_field(fields, "title") or memory.title, content)
        at = rules.Address(
            text(memory.extra.get("project")), text(memory.extra.get("scope")) or "project", ""
        )
        columns = {"type": memory.type, "pinned": memory.pinned, **fields}
        plan = self._insert_new(
            change, self._new_columns(columns, content, title, at), _warnings(fields)
        )
        return plan, str(plan.edits[-1].row["sync_id"])

    def _new_columns(
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

    def _insert_new(
        self, change: Change, columns: dict[str, Any], warnings: tuple[str, ...]
    ) -> Plan:
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
        edit = row_edit(self.path, "observations", {"sync_id": sync_id}, None, columns)
        before = session_edits(self.path, self.connection, self.schema, session, project, self.now)
        refs = (f"{self.label}:{self.number}",)
        return Plan((change,), (*before, edit), Outcome.ADDED, refs=refs, warnings=warnings)

    def _overwrite(
        self,
        change: Change,
        row: Mapping[str, Any],
        columns: Mapping[str, Any],
        warnings: tuple[str, ...],
    ) -> Plan:
        names = [name for name in _OVERWRITTEN if self.schema.has("observations", name)]
        before, after = ({name: values[name] for name in names} for values in (row, columns))
        edit = row_edit(self.path, "observations", row_key(row), before, after)
        ref = f"{self.label}:{row['id']}"
        reason = f"topic key {text(row['topic_key'])} exists: {ref} is overwritten in place"
        return Plan((change,), (edit,), Outcome.SUPERSEDED, reason, (ref,), (ref,), warnings)

    def _count(self, change: Change, twin: Mapping[str, Any]) -> Plan:
        before = {name: twin[name] for name in ("duplicate_count", "last_seen_at")}
        after = {"duplicate_count": count_of(twin["duplicate_count"]) + 1, "last_seen_at": self.now}
        edit = row_edit(self.path, "observations", row_key(twin), before, after)
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
                *(columns["normalized_hash"], columns["project"] or ""),
                *(columns["scope"], columns["type"], columns["title"], since),
            ),
        )

    # -- relations -------------------------------------------------------------------------

    def _link(self, change: Change, memory: Memory, get: Callable[[str], Memory]) -> Plan:
        """Judge a pending relation of the two memories, or create a judged one."""
        verb = str(change.fields.get("relation", ""))
        other = get(f"{self.label}:{self._named(change)}")
        source, target = str(memory.extra["sync_id"]), str(other.extra["sync_id"])
        between = [
            each
            for each in self._touching(source)
            if {each.source, each.target} == {source, target}
        ]
        judged = (each for each in between if each.status == "judged")
        if any(_is_same(each, source, target, verb) for each in judged):
            return plan_nothing(change, memory, f"it already is linked as {verb}")
        pending = next((each for each in between if each.status == "pending"), None)
        edit = (
            self._new_relation(source, target, change.fields)
            if pending is None
            else self._judge(pending, source, target, change.fields)
        )
        superseded = (other.ref,) if verb == "supersedes" else ()
        return Plan((change,), (edit,), refs=(memory.ref, other.ref), supersedes=superseded)

    def _unlink(self, change: Change, memory: Memory, get: Callable[[str], Memory]) -> Plan:
        """Orphan every relation of this kind from this memory to the named one."""
        verb = str(change.fields.get("relation", ""))
        source, named = str(memory.extra.get("sync_id") or ""), self._named(change)
        found = [
            each
            for each in self._touching(source)
            if _is_same(each, source, each.target, verb) and each.status in OPEN_STATUSES
            # By name: the row at the other end may be in no table any more.
            if named in (each.target, each.target_name)
        ]
        if not found:
            return plan_nothing(change, memory, f"there is no link {verb} to {named}")
        reason = "the relation stays in the database as orphaned"
        refs = [memory.ref]
        with suppress(RefError):
            refs.append(get(f"{self.label}:{named}").ref)
        return Plan((change,), tuple(map(self._orphan, found)), reason=reason, refs=tuple(refs))

    def _reinstate(self, change: Change, memory: Memory) -> Plan:
        """Orphan every relation by which something supersedes this memory."""
        own = memory.extra.get("sync_id")
        verdicts = [each for each in self._touching(own) if each.target == own and each.supersedes]
        if not verdicts:
            return plan_nothing(change, memory, "nothing supersedes it any more")
        reason = f"takes back that it is superseded by {', '.join(v.source_name for v in verdicts)}"
        return Plan(
            (change,), tuple(map(self._orphan, verdicts)), reason=reason, refs=(memory.ref,)
        )

    def _new_relation(self, source: str, target: str, fields: Mapping[str, Any]) -> Edit:
        """A new judged relation between two sync_ids; `fields`: of the LINK."""
        sync_id = rules.new_sync_id("rel")
        columns = {
            "sync_id": sync_id,
            "source_id": source,
            "target_id": target,
            **_judgement_columns(fields),
            "created_at": self.now,
            "updated_at": self.now,
        }
        return row_edit(self.path, "memory_relations", {"sync_id": sync_id}, None, columns)

    def _orphan(self, relation: Relation, *, dated: bool = True) -> Edit:
        """Orphan a relation; `dated` also writes superseded_at."""
        before: dict[str, Any] = {"judgment_status": relation.status}
        after: dict[str, Any] = {"judgment_status": "orphaned"}
        if dated and self.schema.has("memory_relations", "superseded_at"):
            before["superseded_at"] = relation.columns.get("superseded_at")
            after["superseded_at"] = self.now
        key = {"sync_id": relation.sync_id}
        return row_edit(self.path, "memory_relations", key, before, after)

    def _touching(self, sync_id: object) -> list[Relation]:
        """Every relation that starts or ends at this sync_id."""
        if not sync_id or not self.schema.has("memory_relations"):
            return []
        where = "WHERE r.source_id = ? OR r.target_id = ?"
        return relations(self.connection, where, (sync_id, sync_id))

    def _judge(
        self, pending: Relation, source: str, target: str, fields: Mapping[str, Any]
    ) -> Edit:
        after = {"source_id": source, "target_id": target, **_judgement_columns(fields)}
        before = {name: pending.columns.get(name) for name in after}
        key = {"sync_id": pending.sync_id}
        return row_edit(self.path, "memory_relations", key, before, after)

    def _named(self, change: Change) -> str:
        """The target of a LINK or UNLINK: an id, or a sync_id of a missing row."""
        return str(change.fields.get("target", "")).removeprefix(f"{self.label}:")

    # -- rows ------------------------------------------------------------------------------

    def _observation(
        self, memory: Memory, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> Edit:
        key = row_key({**memory.extra, "id": int(memory.id)})
        return row_edit(self.path, "observations", key, before, after)

    def _row(self, table: str, number: int) -> Row:
        row = self.fetch(f"SELECT * FROM {table} WHERE id = ?", (number,))
        if row is None:
            raise Refused("it is no longer in the database", where=f"{self.label}:{number}")
        return row

    def _versions(self, number: int) -> list[Row]:
        if not self.schema.keeps_versions:
            return []
        found = self.connection.execute(
            "SELECT * FROM observation_versions WHERE observation_id = ? ORDER BY version",
            (number,),
        )
        return [dict(row) for row in found]


def _text(name: str, value: str, warnings: list[str]) -> str:
    if rules.has_private(value):
        warnings.append("what stands between <private> tags is not stored")
    if name == "content":
        return rules.content(value)
    return rules.title(value) if name == "title" else rules.kind(value)


def _row_columns(row: Row) -> dict[str, Any]:
    return {name: to_json_value(value) for name, value in row.items()}
