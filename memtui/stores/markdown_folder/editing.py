"""Plan changes of notes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import Conflict, Refused
from memtui.files.frontmatter import set_field, split
from memtui.model import IMPORTANCES, Memory
from memtui.stores.importing import is_import
from memtui.stores.markdown_documents import (
    OpenDocument,
    open_document,
    parse_document,
    planned_text,
    with_body,
    with_heading,
    words_of,
)
from memtui.stores.markdown_folder.adding import new_note, plan_import
from memtui.stores.markdown_folder.records import NoteContext
from memtui.stores.markdown_folder.rules import observations
from memtui.stores.plans import SIDECAR_ACTS, ActionSupport, dangling_warnings, plan_one, tag_edits
from memtui.stores.values import RATING_OF, changed_values, check_unchanged, content_of

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


def _open(memory: Memory, context: NoteContext) -> OpenDocument:
    text = planned_text(Path(memory.origin.file), context.root, context.view)
    if text is None:
        raise Conflict("the note is gone", where=memory.origin.file)
    return open_document(memory, text)


def _edit(change: Change, memory: Memory, context: NoteContext) -> Plan:
    if memory.kind == "fact":
        return plan_one(change, memory, _sidecar_edits(change, memory, context))
    changed = changed_values(change, memory, EDITABLE)
    if memory.extra.get("read_only") and changed.keys() - {"tags", "importance"}:
        raise Refused("its program has marked it read-only", where=memory.ref)
    if "type" in changed and (why := _not_on(Act.RETYPE, memory)):
        raise Refused(why, where=memory.ref)
    page = before = _open(memory, context)
    entry: dict[str, Any] = {}
    if "content" in changed:
        new_text = content_of(change)
        check_unchanged(memory, page.document.body, memory.origin.file, new_text)
        page = page.with_text(with_body(page.document, new_text))
    if "title" in changed:
        page = _with_title(page, changed["title"], context)
    if "type" in changed:
        page = page.with_text(set_field(page.text, "type", str(changed["type"] or "")))
    if "importance" in changed:
        if changed["importance"] not in IMPORTANCES:
            raise Refused(f"the importance is one of {', '.join(IMPORTANCES)}")
        entry["rating"] = RATING_OF[str(changed["importance"])]
    if "tags" in changed:
        page = _with_tags(page, changed["tags"], context, entry)
    edits: tuple[Edit, ...] = before.text_edits(page.text)
    edits += context.sidecar_entry(memory).set(**entry) if entry else ()
    plan = plan_one(change, memory, edits)
    return replace(
        plan, refs=(*plan.refs, *_changed_facts(memory, before.text, page.text, context))
    )


def _sidecar_edits(change: Change, memory: Memory, context: NoteContext) -> tuple[Edit, ...]:
    changed = changed_values(change, memory, frozenset({"tags"}))
    if "tags" not in changed:
        return ()
    native = [tag for tag in memory.tags if f"#{tag}" in memory.content]
    return tag_edits(context.sidecar_entry(memory), changed["tags"], native)


def _changed_facts(
    memory: Memory, before: str, after: str | None, context: NoteContext
) -> tuple[str, ...]:
    """Refs of the observations that only one of two texts of a note holds."""
    if not context.profile.observations:
        return ()
    old, new = (
        {each.key for each in observations(parse_document(memory.id, "", text, None).body)}
        for text in (before, after or "")
    )
    return tuple(context.ref(f"{memory.id}#{key}") for key in sorted(old ^ new))


def _with_title(page: OpenDocument, value: object, context: NoteContext) -> OpenDocument:
    if not isinstance(value, str) or not value.strip() or "\n" in value:
        raise Refused("a title is one line that says something", where=page.memory.ref)
    if not context.profile.frontmatter:
        raise Refused("the title is the file's name", do="edit the text")
    for key in ("title", "name"):
        if page.document.frontmatter.get(key):
            return page.with_text(set_field(page.text, key, value.strip()))
    return with_heading(page, value.strip())


def _with_tags(
    page: OpenDocument, value: object, context: NoteContext, entry: dict[str, Any]
) -> OpenDocument:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise Refused("tags are a list of words", where=page.memory.ref)
    new_tags = [word for word in dict.fromkeys(str(tag).strip() for tag in value) if word]
    front = page.document.frontmatter
    native = words_of(front.get("tags")) if context.profile.frontmatter else ()
    is_locked = bool(page.memory.extra.get("read_only"))
    if not context.profile.tags or is_locked or split(page.text).front is None:
        entry["tags"] = [tag for tag in new_tags if tag not in native]
        return page
    sidecar_tags = context.sidecar.entry(page.memory.id).get("tags", ())
    entry["tags"] = [tag for tag in new_tags if tag in sidecar_tags and tag not in native]
    own_tags = [tag for tag in new_tags if tag not in entry["tags"]]
    if own_tags == list(native):
        return page
    is_line = isinstance(front.get("tags"), str)
    return page.with_text(
        set_field(page.text, "tags", ", ".join(own_tags) if is_line else own_tags)
    )


def _delete(change: Change, memory: Memory, context: NoteContext) -> Plan:
    page = _open(memory, context)
    check_unchanged(memory, page.document.body, memory.origin.file, None)
    edits: tuple[Edit, ...] = page.text_edits(None)
    edits += context.sidecar_entry(memory).removal()
    facts = _changed_facts(memory, page.text, "", context)
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
    facts = _new_facts(path, creation.after or "", context)
    reason = f"Adds the note {path}"
    return Plan((change,), (creation,), Outcome.ADDED, reason, (context.ref(path), *facts))


def _new_facts(path: str, text: str, context: NoteContext) -> tuple[str, ...]:
    if not context.profile.observations:
        return ()
    body = parse_document(path, "", text, None).body
    return tuple(context.ref(f"{path}#{each.key}") for each in observations(body))


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
