"""Plan links between observations: rows of memory_relations, or entries beside the database.

Engram never deletes a relation and has no message for one that is gone; what is taken back is
orphaned, the status under which Engram itself stops showing it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from memtui.changes import Change, Plan, RowEdit
from memtui.errors import RefError
from memtui.model import Memory
from memtui.stores.base import StoreView
from memtui.stores.engram import rules
from memtui.stores.engram.reading import relations
from memtui.stores.engram.records import Relation
from memtui.stores.engram.rows import OpenDatabase
from memtui.stores.engram.rules import plan_nothing
from memtui.stores.engram.schema import Schema

_OPEN = ("judged", "pending")


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


class RelationPlanner(OpenDatabase):
    """Plans relations. Methods raise Refused, RefError, sqlite3.Error."""

    def link(self, change: Change, memory: Memory, get: Callable[[str], Memory]) -> Plan:
        """Judge a pending relation of the two memories, or create a judged one."""
        verb = str(change.fields.get("relation", ""))
        other = get(f"{self.label}:{self._named(change)}")
        source, target = str(memory.extra["sync_id"]), str(other.extra["sync_id"])
        between = [
            each for each in self.touching(source) if {each.source, each.target} == {source, target}
        ]
        if any(
            _is_same(each, source, target, verb) and each.status == "judged" for each in between
        ):
            return plan_nothing(change, memory, f"it already is linked as {verb}")
        pending = next((each for each in between if each.status == "pending"), None)
        edit = (
            self.new_relation(source, target, verb)
            if pending is None
            else self._judge(pending, source, target, verb)
        )
        superseded = (other.ref,) if verb == "supersedes" else ()
        return Plan((change,), (edit,), refs=(memory.ref, other.ref), supersedes=superseded)

    def unlink(self, change: Change, memory: Memory, get: Callable[[str], Memory]) -> Plan:
        """Orphan every relation of this kind from this memory to the named one."""
        verb = str(change.fields.get("relation", ""))
        source, named = str(memory.extra.get("sync_id") or ""), self._named(change)
        found = [
            each
            for each in self.touching(source)
            if _is_same(each, source, each.target, verb) and each.status in _OPEN
            # By name: the row at the other end may be in no table any more.
            if named in (each.target, each.target_name)
        ]
        if not found:
            return plan_nothing(change, memory, f"there is no link {verb} to {named}")
        reason = "the relation stays in the database as orphaned"
        refs = [memory.ref]
        with suppress(RefError):
            refs.append(get(f"{self.label}:{named}").ref)
        return Plan((change,), tuple(map(self.orphan, found)), reason=reason, refs=tuple(refs))

    def reinstate(self, change: Change, memory: Memory) -> Plan:
        """Orphan every relation by which something supersedes this memory."""
        own = memory.extra.get("sync_id")
        verdicts = [each for each in self.touching(own) if each.target == own and each.supersedes]
        if not verdicts:
            return plan_nothing(change, memory, "nothing supersedes it any more")
        names = ", ".join(each.source_name for each in verdicts)
        return Plan(
            (change,),
            tuple(self.orphan(each) for each in verdicts),
            reason=f"takes back that it is superseded by {names}",
            refs=(memory.ref,),
        )

    def new_relation(self, source: str, target: str, verb: str) -> RowEdit:
        """A new judged relation between two sync_ids."""
        sync_id = rules.new_sync_id("rel")
        columns = {
            "sync_id": sync_id,
            "source_id": source,
            "target_id": target,
            **_judgement_columns(verb),
            "created_at": self.now,
            "updated_at": self.now,
        }
        return RowEdit(self.path, "memory_relations", {"sync_id": sync_id}, None, columns)

    def orphan(self, relation: Relation, *, dated: bool = True) -> RowEdit:
        """Orphan a relation; `dated` also writes superseded_at."""
        before: dict[str, Any] = {"judgment_status": relation.status}
        after: dict[str, Any] = {"judgment_status": "orphaned"}
        if dated and self.schema.has("memory_relations", "superseded_at"):
            before["superseded_at"] = relation.columns.get("superseded_at")
            after["superseded_at"] = self.now
        key = {"sync_id": relation.sync_id}
        return RowEdit(self.path, "memory_relations", key, before, after)

    def touching(self, sync_id: object) -> list[Relation]:
        """Every relation that starts or ends at this sync_id."""
        if not sync_id or not self.schema.has("memory_relations"):
            return []
        where = "WHERE r.source_id = ? OR r.target_id = ?"
        return relations(self.connection, where, (sync_id, sync_id))

    def _judge(self, pending: Relation, source: str, target: str, verb: str) -> RowEdit:
        after = {"source_id": source, "target_id": target, **_judgement_columns(verb)}
        before = {name: pending.columns.get(name) for name in after}
        key = {"sync_id": pending.sync_id}
        return RowEdit(self.path, "memory_relations", key, before, after)

    def _named(self, change: Change) -> str:
        """The target of a LINK or UNLINK: an id, or a sync_id of a missing row."""
        return str(change.fields.get("target", "")).removeprefix(f"{self.label}:")


def _judgement_columns(verb: str) -> dict[str, Any]:
    """The columns of a judgement by a person, as Engram writes them."""
    return {
        "relation": verb,
        "judgment_status": "judged",
        "marked_by_actor": "user",
        "marked_by_kind": "human",
    }


def _is_same(relation: Relation, source: str, target: str, verb: str) -> bool:
    return (relation.source, relation.target, relation.relation) == (source, target, verb)
