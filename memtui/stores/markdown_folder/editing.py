"""Plan changes of notes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.document_editing import (
    OpenDocument,
    checked_title,
    deletion_edits,
    open_document,
    with_content,
    with_heading,
    with_named_title,
    with_tags,
)
from memtui.stores.importing import is_import
from memtui.stores.markdown_documents import words_of
from memtui.stores.markdown_folder.adding import fact_refs, new_note, plan_import
from memtui.stores.markdown_folder.records import NoteContext
from memtui.stores.plans import SIDECAR_ACTS, ActionSupport, dangling_warnings, plan_one, tag_edits
from memtui.stores.values import RATING_OF, changed_values, checked_importance

EDITABLE = frozenset({"content", "title", "tags", "importance", "type"})
_IN_SIDECAR = SIDECAR_ACTS - {Act.TAG}


def _not_on(act: Act, memory: Memory) -> str:
    if act in _IN_SIDECAR:
        return ""
    if memory.kind == "fact":
        return "" if act is Act.TAG else "it is a line of a note: edit the note"
    if memory.extra.get("read_only") and act is not Act.TAG:
        return "its program has marked it read-only"
    if act is Act.RETYPE and memory.extra.get("profile") in ("serena", "memory-bank", "memfs"):
        return "notes of this program have no type"
    return ""


def _edit(change: Change, memory: Memory, context: NoteContext) -> Plan:
    if memory.kind == "fact":
        return plan_one(change, memory, _sidecar_edits(change, memory, context))
    changed = changed_values(change, memory, EDITABLE)
    if memory.extra.get("read_only") and changed.keys() - {"tags", "importance"}:
        raise Refused("its program has marked it read-only", where=memory.ref)
    if "type" in changed and (why := _not_on(Act.RETYPE, memory)):
        raise Refused(why, where=memory.ref)
    page = before = open_document(memory, context)
    entry: dict[str, Any] = {}
    if "content" in changed:
        page = with_content(change, page)
    if "title" in changed:
        page = _with_title(page, changed["title"], context)
    if "type" in changed:
        page = page.with_field("type", str(changed["type"] or ""))
    if "importance" in changed:
        entry["rating"] = RATING_OF[checked_importance(changed["importance"])]
    if "tags" in changed:
        profile, front = context.profile, page.document.frontmatter
        native = words_of(front.get("tags")) if profile.frontmatter else ()
        may_write = profile.tags and not memory.extra.get("read_only")
        page, entry["tags"] = with_tags(
            page, changed["tags"], context, native, in_file=may_write and page.has_frontmatter
        )
    edits: tuple[Edit, ...] = before.text_edits(page.text)
    edits += context.sidecar_entry(memory).set(**entry) if entry else ()
    plan = plan_one(change, memory, edits)
    facts = _changed_facts(memory.id, before.text, page.text, context)
    return replace(plan, refs=(*plan.refs, *facts))


def _sidecar_edits(change: Change, memory: Memory, context: NoteContext) -> tuple[Edit, ...]:
    changed = changed_values(change, memory, frozenset({"tags"}))
    if "tags" not in changed:
        return ()
    native = [tag for tag in memory.tags if f"#{tag}" in memory.content]
    return tag_edits(context.sidecar_entry(memory), changed["tags"], native)


def _changed_facts(id: str, before: str, after: str, context: NoteContext) -> tuple[str, ...]:
    """Refs of the observations that only one of two texts of a note holds."""
    old, new = (set(fact_refs(id, text, context)) for text in (before, after))
    return tuple(sorted(old ^ new))


def _with_title(page: OpenDocument, value: object, context: NoteContext) -> OpenDocument:
    title = checked_title(value, page.memory.ref)
    if not context.profile.frontmatter:
        raise Refused("the title is the file's name", do="edit the text")
    return with_named_title(page, title) or with_heading(page, title)


def _delete(change: Change, memory: Memory, context: NoteContext) -> Plan:
    page = open_document(memory, context)
    edits = deletion_edits(page, context)
    facts = _changed_facts(memory.id, page.text, "", context)
    others = (
        other
        for other in context.view.memories(context.label)
        if other.ref not in facts and other.ref != memory.ref
    )
    plan = plan_one(change, memory, edits, dangling_warnings(memory, others))
    return replace(plan, refs=(*plan.refs, *facts))


def _add(change: Change, context: NoteContext) -> Plan:
    if is_import(change):
        return plan_import(change, context)
    path, creation = new_note(change, context)
    facts = fact_refs(path, creation.after or "", context)
    reason = f"Adds the note {path}"
    return Plan((change,), (creation,), Outcome.ADDED, reason, (context.ref(path), *facts))


ACTS = ActionSupport(
    editable=EDITABLE,
    add=_add,
    handlers={Act.EDIT: _edit, Act.RETYPE: _edit, Act.TAG: _edit, Act.DELETE: _delete},
    unsupported={
        Act.SUPERSEDE: "a note is edited; memtui's log keeps the former text",
        Act.RETIRE: "a note has no status: delete it",
        Act.RESTORE: "a note has no status",
        Act.MERGE: "notes are edited, not merged",
        Act.ACCEPT: "there are no proposals here",
        Act.DECLINE: "there are no proposals here",
    },
    shard_of=lambda memory: memory.id.partition("#")[0],
    not_on=_not_on,
)
