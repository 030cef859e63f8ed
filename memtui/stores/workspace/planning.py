"""Which act is done how, and which acts a document cannot have."""

from __future__ import annotations

from dataclasses import replace

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.asked import asked_values
from memtui.stores.base import View
from memtui.stores.outcomes import done
from memtui.stores.sidecar_acts import BESIDE, plan_beside
from memtui.stores.workspace.adding import new_document
from memtui.stores.workspace.carried import is_carried, plan_carried
from memtui.stores.workspace.desk import Desk
from memtui.stores.workspace.documents import LESSONS, TASKS
from memtui.stores.workspace.editing import (
    RESTORED_WORD,
    RETIRED_WORD,
    edit_document,
    with_state,
)
from memtui.stores.workspace.globs import matches
from memtui.stores.workspace.retyping import entry_edits, in_words, type_changes, with_entry
from memtui.stores.workspace.type_map import TYPES

EDITABLE = frozenset({"content", "title", "tags", "importance", "type"})

_NEVER = {
    Act.SUPERSEDE: "a document is edited; git keeps the former text",
    Act.MERGE: "documents are edited, not merged",
    Act.ACCEPT: "a workspace has no proposals",
    Act.DECLINE: "a workspace has no proposals",
}


def refusal(act: Act, memory: Memory | None) -> str:
    """Why this act cannot be done on this document; empty when it can."""
    if act in _NEVER:
        return _NEVER[act]
    if memory is None:
        return ""
    if memory.extra.get("kept"):
        return "it is a former text that only memtui keeps"
    if act in (Act.RETIRE, Act.RESTORE):
        folders = memory.id.split("/")[:-1]
        if TASKS not in folders and LESSONS not in folders:
            return "it has no state: only tasks and lessons have; delete it instead"
        if (memory.status == "retired") == (act is Act.RETIRE):
            return "it is so already"
    return ""


def plan(change: Change, desk: Desk, view: View) -> Plan:
    """The plan of any act. Raises Refused, RefError or Conflict."""
    why = refusal(change.act, None)
    if why:
        raise Refused(why, where=change.ref or change.store)
    if change.act is Act.ADD and is_carried(change):
        return plan_carried(change, desk)
    if change.act is Act.ADD:
        return _add(change, desk)
    if change.act is Act.RETYPE and change.fields.get("pattern"):
        return _retype_by_pattern(change, desk, view)
    memory = view.get(change.ref)
    why = refusal(change.act, memory)
    if why:
        raise Refused(why, where=memory.ref)
    match change.act:
        case Act.EDIT | Act.RETYPE | Act.TAG:
            return _edit(change, memory, desk)
        case Act.RETIRE:
            made = done(change, memory, with_state(desk.open(memory), RETIRED_WORD))
            return replace(made, supersedes=made.refs) if made.does_something else made
        case Act.RESTORE:
            return done(change, memory, with_state(desk.open(memory), RESTORED_WORD))
        case Act.DELETE:
            return _delete(change, memory, desk, view)
    if change.act in BESIDE:
        return plan_beside(change, desk.beside(memory), desk.now)
    raise Refused("a workspace has no way to do this", where=memory.ref)


def _edit(change: Change, memory: Memory, desk: Desk) -> Plan:
    asked = asked_values(change, memory, EDITABLE)
    edits: tuple[Edit, ...] = ()
    if asked.keys() - {"type"}:
        edits = edit_document(change, asked, desk.open(memory), desk)
    if "type" in asked:
        edits += _typed(memory, str(asked["type"] or ""), desk)
    return done(change, memory, edits)


def _typed(memory: Memory, wanted: str, desk: Desk) -> tuple[Edit, ...]:
    types = desk.types.value
    if not wanted and with_entry(types, memory.id, "").by_path(memory.id).type:
        pattern = next(p for p, word in types.patterns if matches(p, memory.id) and word in TYPES)
        raise Refused(
            "a pattern of the type map gives this type",
            where=memory.ref,
            do=f"change the type of the pattern {pattern}",
        )
    if not wanted and memory.id not in types.exact:
        raise Refused("the task rules of the type map give this type", where=memory.ref)
    return entry_edits(memory.id, wanted, desk)


def _retype_by_pattern(change: Change, desk: Desk, view: View) -> Plan:
    """Type every document that fits a pattern; the warnings name each."""
    pattern, wanted = str(change.fields["pattern"]), str(change.fields.get("type") or "")
    edits = entry_edits(pattern, wanted, desk)
    types = with_entry(desk.types.value, pattern, wanted)
    changed = type_changes(types, view.memories(desk.label))
    count = len(changed)
    return Plan(
        changes=(change,),
        edits=edits,
        outcome=Outcome.DONE if edits else Outcome.NOTHING,
        reason=f"{pattern} would change the type of {count} document{'s' * (count != 1)}",
        refs=tuple(f"{desk.label}:{path}" for path, _, _ in changed),
        warnings=in_words(changed),
    )


def _add(change: Change, desk: Desk) -> Plan:
    path, made = new_document(change, desk)
    edits: tuple[Edit, ...] = (made,)
    wanted = str(change.fields.get("type") or "")
    if wanted and desk.types.value.by_path(path).type != wanted:
        edits += entry_edits(path, wanted, desk)
    return Plan(
        changes=(change,),
        edits=edits,
        outcome=Outcome.ADDED,
        reason=f"Added the document {path}",
        refs=(f"{desk.label}:{path}",),
    )


def _delete(change: Change, memory: Memory, desk: Desk, view: View) -> Plan:
    page = desk.open(memory)
    naming = [
        other.id
        for other in view.memories(desk.label)
        if any(link.target == memory.id for link in other.links)
    ]
    warnings = tuple(f"{path} links to it" for path in naming)
    return done(change, memory, (*page.written(None), *desk.beside(memory).forget()), warnings)
