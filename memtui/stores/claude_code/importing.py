"""Import topic files and index items, and convert memories of other formats to topic files."""

from __future__ import annotations

import os
import posixpath
from dataclasses import replace
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan, TextEdit
from memtui.errors import Refused
from memtui.model import CURRENT, Memory
from memtui.stores.change_validation import content_of
from memtui.stores.claude_code.adding import has_newer_topics, index_edit, open_index, plan_files
from memtui.stores.claude_code.layout import INDEX, INSTRUCTIONS, SUFFIX, MemoryFolder
from memtui.stores.claude_code.records import ClaudeContext, own_name
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    extra_in,
    lost_fields,
    lost_kind,
    short_hash,
    sidecar_values,
    slug,
    texts_in,
)
from memtui.stores.listed_texts import text_key
from memtui.stores.markdown_documents import new_file
from memtui.stores.markdown_items import MarkdownItem, add_item, without_blanks
from memtui.stores.plans import plan_duplicate
from memtui.stores.values import to_iso_seconds

CONVERTED = "converted"
"""Key of `extra` of an ADD that was converted from another format."""
UNTOLD_TITLE = "its title is not in its text"
"""The value of that key where it would be lost if the topic files have the newer frontmatter."""

_TYPE_OF = {
    "preference": "user",
    "identity": "user",
    "person": "user",
    "people": "user",
    "value": "user",
    "lesson": "feedback",
    "policy": "feedback",
    "feedback": "feedback",
    "user": "user",
    "reference": "reference",
    "document": "reference",
    "summary": "reference",
}
"""The types of Claude Code for words of other formats; everything else is about the project."""


def plan_import(change: Change, context: ClaudeContext) -> Plan:
    """Plan the import of a file or an item with an id. Raises Refused."""
    path, _, item = str(change.fields["id"]).partition("#")
    if CONVERTED in extra_in(change):
        return _plan_converted(change, context)
    folder = _folder_of(path, context)
    if item and folder is not None and posixpath.basename(path) == INDEX:
        return _plan_item(change, folder, context)
    file = context.root / path
    if os.path.lexists(file):
        return plan_duplicate(change, "a file of this name")
    if not path.endswith(SUFFIX) or (
        folder is None and change.fields.get("entity") != INSTRUCTIONS
    ):
        raise Refused("memories cannot be added here", where=path)
    document = change.fields.get("document")
    if not isinstance(document, str):
        if folder is None:
            raise Refused("the text of the whole file is not known", where=path)
        title, type = (str(change.fields.get(name) or "") for name in ("title", "type"))
        name = posixpath.basename(path)
        return plan_files(
            change, context, folder, content_of(change), title, type or "project", name
        )
    shard = folder.key if folder else INSTRUCTIONS
    edits: tuple[Edit, ...] = (TextEdit(str(new_file(context.root, path)), None, document),)
    edits += context.entry_edits(path, shard, **sidecar_values(change))
    return Plan((change,), edits, Outcome.ADDED, f"Added {path}", (context.ref(path),))


def _folder_of(path: str, context: ClaudeContext) -> MemoryFolder | None:
    key = posixpath.dirname(path) or "."
    return next((folder for folder in context.folders.values() if folder.key == key), None)


def _plan_item(change: Change, folder: MemoryFolder, context: ClaudeContext) -> Plan:
    text = without_blanks(content_of(change))
    before, index = open_index(folder, context)
    bullet = MarkdownItem(0, 0, 1, "- ", text, "", "")
    id = f"{folder.prefix}{INDEX}#{own_name(bullet) or text_key(text)}"
    if any(known == id for known, _ in index.items):
        return plan_duplicate(change, f"this item of {INDEX}")
    section = str(extra_in(change).get("section") or "")
    body = add_item(index.document.body, text, section=section)
    edits: tuple[Edit, ...] = (index_edit(folder, before, index, body),)
    edits += context.entry_edits(id, folder.key, **sidecar_values(change))
    return Plan((change,), edits, Outcome.ADDED, f"Added to {INDEX}", (context.ref(id),))


def _plan_converted(change: Change, context: ClaudeContext) -> Plan:
    """The project of the same name, else the first memory folder."""
    if not context.folders:
        raise Refused("there is no memory folder yet", where=str(context.root))
    entity = str(change.fields.get("entity") or "")
    folder = context.folders.get(entity) or next(iter(context.folders.values()))
    name = posixpath.basename(str(change.fields["id"]))
    if os.path.lexists(folder.path / name):
        ref = context.ref(f"{folder.prefix}{name}")
        return plan_duplicate(change, "a file of this name", ref)
    type, title = str(change.fields.get("type") or ""), str(change.fields.get("title") or "")
    plan = plan_files(change, context, folder, content_of(change), title, type, name)
    values: dict[str, Any] = {
        "tags": texts_in(change, "tags"),
        "pinned": change.fields.get("pinned") is True,
    }
    entry = context.entry_edits(f"{folder.prefix}{name}", folder.key, **values)
    lost_names: tuple[str, ...] = (
        () if entity in ("", *context.folders) else ("entity (there is no such project)",)
    )
    if extra_in(change)[CONVERTED] == UNTOLD_TITLE and has_newer_topics(folder, context):
        lost_names += ("title (stands in the index)",)
    return replace(plan, edits=(*plan.edits, *entry), lost=lost_names)


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a topic file; its name ends in a hash of the original ref."""
    type = _TYPE_OF.get(memory.type.lower(), "project")
    name = slug(memory.headline).replace("-", "_") or "memory"
    content = memory.content or memory.headline
    notes = []
    if memory.status not in CURRENT:
        notes.append(f"status: {memory.status}")
    if memory.created:
        notes.append(f"created: {to_iso_seconds(memory.created)}")
    if notes:
        content = f"{content.rstrip()}\n\n({', '.join(notes)})\n"
    fields: dict[str, Any] = {
        "id": f"{type}_{name}_{short_hash(memory.ref, 6)}{SUFFIX}",
        "content": content,
        "title": memory.headline[:120].strip(),
        "type": type,
        "entity": memory.entity,
        "tags": memory.tags,
        "pinned": memory.pinned,
        "extra": {CONVERTED: True if memory.title in content else UNTOLD_TITLE},
    }
    changed: tuple[str, ...] = ()
    if memory.type and memory.type.lower() != type:
        changed += (f"type (becomes {type})",)
    if memory.status != "active":
        changed += (f"status {memory.status} (stands in the text)",)
    if memory.created:
        changed += ("created (stands in the text)",)
    changed += lost_kind(memory, "document")
    if memory.importance != "medium":
        changed += ("importance (medium, as the index names it)",)
    names = (
        "updated",
        "confidence",
        "source",
        "supersedes",
        "superseded_by",
        "links",
    )
    return ConvertedMemory(fields, (*changed, *lost_fields(memory, *names)))
