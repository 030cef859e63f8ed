"""Which act is done how, and which acts a document cannot have."""

from __future__ import annotations

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.acts import Acts
from memtui.stores.asked import asked_values
from memtui.stores.carrying import is_carried
from memtui.stores.outcomes import done, left_dangling
from memtui.stores.workspace.adding import new_document
from memtui.stores.workspace.carried import plan_carried
from memtui.stores.workspace.desk import PageDesk
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


def _not_on(act: Act, memory: Memory) -> str:
    if memory.extra.get("kept"):
        return "it is a former text that only memtui keeps"
    if act in (Act.RETIRE, Act.RESTORE):
        folders = memory.id.split("/")[:-1]
        if TASKS not in folders and LESSONS not in folders:
            return "its program heeds a state in tasks and lessons only: delete it instead"
        if (memory.status == "retired") == (act is Act.RETIRE):
            return "it is so already"
    return ""


def _edit(change: Change, memory: Memory, desk: PageDesk) -> Plan:
    asked = asked_values(change, memory, EDITABLE)
    edits: tuple[Edit, ...] = ()
    if asked.keys() - {"type"}:
        edits = edit_document(change, asked, desk.open(memory), desk)
    if "type" in asked:
        edits += _typed(memory, str(asked["type"] or ""), desk)
    return done(change, memory, edits)


def _typed(memory: Memory, wanted: str, desk: PageDesk) -> tuple[Edit, ...]:
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


def retype_by_pattern(change: Change, desk: PageDesk) -> Plan:
    """Type every document that fits a pattern; the warnings name each."""
    pattern, wanted = str(change.fields["pattern"]), str(change.fields.get("type") or "")
    edits = entry_edits(pattern, wanted, desk)
    types = with_entry(desk.types.value, pattern, wanted)
    changed = type_changes(types, desk.view.memories(desk.label))
    count = len(changed)
    return Plan(
        changes=(change,),
        edits=edits,
        outcome=Outcome.DONE if edits else Outcome.NOTHING,
        reason=f"{pattern} would change the type of {count} document{'s' * (count != 1)}",
        refs=tuple(desk.ref(path) for path, _, _ in changed),
        warnings=in_words(changed),
    )


def _add(change: Change, desk: PageDesk) -> Plan:
    if is_carried(change):
        return plan_carried(change, desk)
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
        refs=(desk.ref(path),),
    )


def _retire(change: Change, memory: Memory, desk: PageDesk) -> Plan:
    return done(change, memory, with_state(desk.open(memory), RETIRED_WORD), ends=True)


def _restore(change: Change, memory: Memory, desk: PageDesk) -> Plan:
    return done(change, memory, with_state(desk.open(memory), RESTORED_WORD))


def _delete(change: Change, memory: Memory, desk: PageDesk) -> Plan:
    edits: tuple[Edit, ...] = (*desk.open(memory).written(None), *desk.beside(memory).forget())
    return done(change, memory, edits, left_dangling(memory, desk.view.memories(desk.label)))


ACTS = Acts(
    editable=EDITABLE,
    add=_add,
    doing={
        Act.EDIT: _edit,
        Act.RETYPE: _edit,
        Act.TAG: _edit,
        Act.RETIRE: _retire,
        Act.RESTORE: _restore,
        Act.DELETE: _delete,
    },
    no_way={
        Act.SUPERSEDE: "a document is edited; git keeps the former text",
        Act.MERGE: "documents are edited, not merged",
        Act.ACCEPT: "a workspace has no proposals",
        Act.DECLINE: "a workspace has no proposals",
    },
    shard_of=lambda memory: memory.id,
    not_on=_not_on,
)
