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
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from memtui.changes import Act, Change, Edit, Outcome, Plan, row_edit
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.base import StoreView
from memtui.stores.engram import rules
from memtui.stores.engram.adding import RelationPlanner, SavePlanner
from memtui.stores.engram.importing import ImportPlanner
from memtui.stores.engram.records import DAMAGED, PROMPT, row_key, to_json_value
from memtui.stores.engram.rows import OpenDatabase
from memtui.stores.engram.rules import plan_nothing
from memtui.stores.engram.schema import Schema
from memtui.stores.importing import is_import
from memtui.text import counted

Row = Mapping[str, Any]
AnyPlanner = TypeVar("AnyPlanner", bound=OpenDatabase)

_UNSUPPORTED = {
    Act.TAG: "Engram has no tags; its type and topic key say what a memory is about",
    Act.MERGE: "Engram cannot merge; supersede one with the text of both",
    Act.RATE: "Engram has no ratings; pin what matters",
    Act.ACCEPT: "Engram has no proposals",
    Act.DECLINE: "Engram has no proposals",
    Act.ARCHIVE: "Engram keeps no branches",
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


class Planner(OpenDatabase):
    """Plans changes of one database. Methods raise Refused, RefError, sqlite3.Error."""

    def plan(self, change: Change, view: StoreView) -> Plan:
        if change.act is Act.ADD and is_import(change):
            return self._with(ImportPlanner).plan(change)
        if change.act is Act.ADD:
            return self._with(SavePlanner).add(change)
        memory = view.get(change.ref)
        reason = refusal(self.schema, change.act, memory)
        if reason:
            raise Refused(reason, where=memory.ref)
        if change.act is Act.LINK:
            return self._with(RelationPlanner).link(change, memory, view.get)
        if change.act is Act.UNLINK:
            return self._with(RelationPlanner).unlink(change, memory, view.get)
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
        return self._with(RelationPlanner).reinstate(change, memory)

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
        verdicts = self._with(RelationPlanner)
        touching = verdicts.touching(memory.extra.get("sync_id"))
        edits += [
            verdicts.orphan(each, dated=False) for each in touching if each.status != "orphaned"
        ]
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
        plan, sync_id = self._with(SavePlanner).successor(change, memory)
        own = str(memory.extra["sync_id"])
        relation = self._with(RelationPlanner).new_relation(sync_id, own, "supersedes")
        warnings = plan.warnings
        key = memory.extra.get("topic_key")
        if key:
            warnings += (f"agents that save under {key} still overwrite the old one",)
        return Plan(
            (change,),
            (*plan.edits, relation),
            Outcome.SUPERSEDED,
            reason=f"a new observation supersedes {memory.ref}",
            refs=(*plan.refs, memory.ref),
            supersedes=(memory.ref,),
            warnings=warnings,
        )

    # -- rows ------------------------------------------------------------------------------

    def _with(self, planner: type[AnyPlanner]) -> AnyPlanner:
        """A planner of another kind of row in the same database."""
        return planner(self.path, self.label, self.connection, self.schema, self.moment, self.ahead)

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
