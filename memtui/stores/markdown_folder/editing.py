"""Change, add and import notes."""

from __future__ import annotations

import os
import posixpath
from typing import Any

from memtui.changes import Act, Change, Edit, Outcome, Plan, text_edit
from memtui.dataclass import replace
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    extra_in,
    kind_change,
    lost_names,
    sidecar_values,
    slug,
    texts_in,
)
from memtui.stores.markdown.document_editing import (
    OpenDocument,
    checked_title,
    converted_document,
    deletion_edits,
    imported_file,
    named_stem,
    new_document_file,
    open_document,
    plan_file_import,
    titled_text,
    with_content,
    with_fields,
    with_heading,
    with_named_title,
    with_tags,
)
from memtui.stores.markdown.documents import outline, parse_document, words_of
from memtui.stores.markdown_folder.profiles import BASIC, MEMFS
from memtui.stores.markdown_folder.records import NoteContext
from memtui.stores.markdown_folder.rules import observations
from memtui.stores.plans import (
    SIDECAR_ACTS,
    ActionSupport,
    dangling_warnings,
    plan_duplicate,
    plan_one,
    tag_edits,
)
from memtui.stores.scanning import SUFFIX
from memtui.stores.values import (
    RATING_OF,
    changed_values,
    checked_importance,
    content_of,
    created_of,
    to_iso_seconds,
    word_of,
)

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
    facts = _changed_facts(memory.id, before.text, page.text, context)
    return plan_one(change, memory, edits, others=facts)


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
    return plan_one(change, memory, edits, dangling_warnings(memory, others), others=facts)


def _add(change: Change, context: NoteContext) -> Plan:
    path, creation = new_note(change, context)
    facts = fact_refs(path, creation.after or "", context)
    reason = f"Adds the note {path}"
    return Plan((change,), (creation,), Outcome.ADDED, reason, (context.ref(path), *facts))


# ---- new notes ----------------------------------------------------------------------------------


LONGEST_DESCRIPTION = 120


def new_note(change: Change, context: NoteContext) -> tuple[str, Edit]:
    """The id and the edit of a new note. Raises Refused."""
    content = content_of(change)
    title = word_of(change, "title", "")
    folder = str(change.fields.get("entity") or "").strip("/")
    stem = named_stem(title or outline(content).title or content.strip())
    path, file = new_document_file(folder, stem, context)
    return path, text_edit(str(file), None, note_text(change, context, path, title))


def fact_refs(path: str, text: str, context: NoteContext) -> tuple[str, ...]:
    """Refs of the observations in the text of a note, if its program has some."""
    if not context.profile.observations:
        return ()
    body = parse_document(path, "", text, None).body
    return tuple(context.ref(f"{path}#{each.key}") for each in observations(body))


def note_text(change: Change, context: NoteContext, path: str, title: str) -> str:
    """The whole text of a new note, as the folder's program writes one. Raises Refused."""
    text = titled_text("" if context.profile is BASIC else title, content_of(change))
    if text.startswith("---\n"):
        text = f"\n{text}"
    return with_fields(text, _front(change, context, path, title))


def _front(change: Change, context: NoteContext, path: str, title: str) -> dict[str, Any]:
    profile = context.profile
    front: dict[str, Any] = {}
    tags = [tag for tag in texts_in(change, "tags") if tag.strip()]
    if profile is MEMFS:
        front["description"] = _description(content_of(change), title)
    elif profile is BASIC:
        name = path.removesuffix(SUFFIX)
        front["title"] = title or posixpath.basename(name)
        front["type"] = word_of(change, "type", "note")
        front["permalink"] = "/".join(slug(part) for part in name.split("/"))
    elif profile.frontmatter and change.fields.get("type"):
        front["type"] = word_of(change, "type", "")
    if profile.tags and tags:
        front["tags"] = tags
    if profile.tags and change.fields.get("created"):
        front["created"] = to_iso_seconds(created_of(change, context.now))
    return front


def _description(content: str, title: str) -> str:
    """The title, or the first line of the text in plain characters; memfs demands one."""
    line = next((description for description in content.split("\n") if description.strip()), "")
    description = " ".join((title or line).lstrip("# ").split())
    plain = "".join(letter for letter in description if letter.isprintable())
    return plain[:LONGEST_DESCRIPTION] or "a note"


# ---- importing ----------------------------------------------------------------------------------


FRONTMATTER = "front"
"""Key of `extra` of an ADD: keys for the frontmatter of a converted memory."""


def plan_import(change: Change, context: NoteContext) -> Plan:
    """Plan the import of one note. Raises Refused."""
    path, _, line = str(change.fields["id"]).partition("#")
    if line:
        return plan_duplicate(change, "the note that holds this line", context.ref(path))
    file = imported_file(context.root, path)
    if os.path.lexists(file):
        return plan_duplicate(change, "a note of this name", context.ref(path))
    document = change.fields.get("document")
    text = document if isinstance(document, str) else _text(change, context, path)
    plan = plan_file_import(change, context, file, text, **_sidecar_values(change, context))
    return replace(plan, refs=(*plan.refs, *fact_refs(path, text, context)))


def _text(change: Change, context: NoteContext, path: str) -> str:
    title = str(change.fields.get("title") or "") if context.profile.frontmatter else ""
    text = note_text(change, context, path, " ".join(title.split()))
    front = extra_in(change).get(FRONTMATTER)
    return with_fields(text, front) if context.profile.tags and isinstance(front, dict) else text


def _sidecar_values(change: Change, context: NoteContext) -> dict[str, Any]:
    values = sidecar_values(change, links=change.fields.get("links") or ())
    if context.profile.tags:
        values["tags"] = None
    return values | dict.fromkeys(("supersedes", "superseded_by"))


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a note; see `converted_document`."""
    folder, id, front = converted_document(memory)
    if memory.importance != "medium":
        front["importance"] = memory.importance
    fields = {
        "id": id,
        "content": memory.content or memory.headline,
        "title": memory.title,
        "type": memory.type,
        "entity": folder,
        "created": memory.created,
        "tags": memory.tags,
        "pinned": memory.pinned,
        "extra": {FRONTMATTER: front},
    }
    stands = "(stands in the frontmatter, if the notes have one)"
    changes = (
        (memory.status != "active", f"status {memory.status} {stands}"),
        kind_change(memory, "document"),
        (memory.entity not in ("", folder), "entity (becomes a folder)"),
        (memory.importance != "medium", f"importance {stands}"),
    )
    names = ("confidence", "source", "supersedes", "superseded_by", "links")
    return ConvertedMemory(fields, lost_names(memory, changes, *names))


ACTS = ActionSupport(
    editable=EDITABLE,
    add=_add,
    add_imported=plan_import,
    handlers={Act.EDIT: _edit, Act.RETYPE: _edit, Act.TAG: _edit, Act.DELETE: _delete},
    unsupported={
        Act.SUPERSEDE: "a note is edited; memtui's log keeps the former text",
        Act.RETIRE: "a note has no status: delete it",
        Act.RESTORE: "a note has no status",
        Act.MERGE: "notes are edited, not merged",
    },
    shard_of=lambda memory: memory.id.partition("#")[0],
    not_on=_not_on,
)
