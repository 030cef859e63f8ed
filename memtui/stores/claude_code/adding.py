"""Add topic files and index items: new ones, imported ones, those of other formats."""

from __future__ import annotations

import os
import posixpath
import re
from typing import Any

from msgspec.structs import replace

from memtui.changes import Change, Edit, Outcome, Plan, text_edit
from memtui.errors import Refused
from memtui.model import CURRENT, Memory
from memtui.stores.claude_code import INDEX, INSTRUCTIONS, SUFFIX, MemoryFolder
from memtui.stores.claude_code.records import INDEX_LINES, ClaudeContext, linked_file
from memtui.stores.claude_code.rules import (
    TYPES,
    checked_type,
    index_line,
    index_link,
    new_topic,
)
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    CONVERTED,
    extra_in,
    kind_change,
    lost_names,
    short_hash,
    sidecar_values,
    slug,
    texts_in,
)
from memtui.stores.listed_texts import ListFile
from memtui.stores.markdown.document_editing import named_stem, new_file, plan_file_import
from memtui.stores.markdown.documents import outline
from memtui.stores.markdown.items import SECTION
from memtui.stores.plans import plan_duplicate
from memtui.stores.values import content_of, to_iso_seconds, word_of

DEFAULT_TYPE = "project"
LONGEST_HOOK = 120
"""Characters of the first line that are put into the index."""

_MARKUP = re.compile(r"[*_`#>]+|\[\[|\]\]")


def folder_for(change: Change, context: ClaudeContext) -> MemoryFolder:
    """The memory folder of the entity that an ADD names. Raises Refused."""
    entity = str(change.fields.get("entity") or "").strip("/")
    folders = context.folders
    if entity in folders:
        return folders[entity]
    if not entity and len(folders) == 1:
        return next(iter(folders.values()))
    known = ", ".join(list(folders)[:3]) + (", ..." if len(folders) > 3 else "")
    raise Refused(
        "a topic file lies in the memory folder of a project or an agent",
        where=entity,
        do=f"entities here: {known}" if folders else "there is no memory folder yet",
    )


def plan_topic(change: Change, context: ClaudeContext) -> Plan:
    """Plan a new topic file. Raises Refused."""
    folder = folder_for(change, context)
    content = content_of(change)
    type = checked_type(word_of(change, "type", DEFAULT_TYPE))
    title = word_of(change, "title", "") or outline(content).title
    return plan_files(change, context, folder, content, title, type, "")


def plan_files(
    change: Change,
    context: ClaudeContext,
    folder: MemoryFolder,
    content: str,
    title: str,
    type: str,
    file: str,
) -> Plan:
    """Plan the topic file, under a name made of its title unless `file` gives one, and the line."""
    hook = _first_line(content, title)
    title = title or hook
    stem = named_stem(title)
    prefix = "" if type not in TYPES or stem.startswith(f"{type}-") else f"{type}_"
    file = file or f"{prefix}{stem.replace('-', '_')}{SUFFIX}"
    id = f"{folder.prefix}{file}"
    path = new_file(context.root, id)
    if context.ref(id) in context.planned_refs:
        raise Refused("another new file gets this name", where=id, do="give it a title")
    name = file.removesuffix(SUFFIX).replace("_", "-")
    text = new_topic(name, title, hook or title, type, content, has_newer_topics(folder, context))
    index = context.open_list(folder.key)
    line = index_line(title, file, "" if hook == title else hook)
    edits: tuple[Edit, ...] = (
        text_edit(str(path), None, text),
        *index.edit(index.insert("", line)),
    )
    reason = f"Adds {id} and its line in {INDEX}"
    return Plan((change,), edits, Outcome.ADDED, reason, (context.ref(id),))


def _first_line(content: str, title: str) -> str:
    """The first line that is not the title, without markup."""
    for line in content.split("\n"):
        text = " ".join(_MARKUP.sub("", line).split())
        text = "".join(letter for letter in text if letter.isprintable())
        if text and text != title:
            return text if len(text) <= LONGEST_HOOK else text[: LONGEST_HOOK - 1].rstrip() + "…"
    return ""


def has_newer_topics(folder: MemoryFolder, context: ClaudeContext) -> bool:
    """Whether the folder's topic files have the newer frontmatter; a new folder gets that."""
    kinds = [
        memory.extra.get("frontmatter")
        for memory in context.view.memories(context.label)
        if memory.id.startswith(folder.prefix) and "/" not in memory.id[len(folder.prefix) :]
    ]
    return "newer" in kinds or "older" not in kinds


# ---- importing -----------------------------------------------------------------------------------


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
    file = new_file(context.root, path)
    plan = plan_file_import(change, context, file, document, shard, **sidecar_values(change))
    return replace(plan, edits=(*plan.edits, *_line_edits(change, folder, context)))


def _line_edits(
    change: Change, folder: MemoryFolder | None, context: ClaudeContext
) -> tuple[Edit, ...]:
    """Add the line that named an imported topic file, if the index does not name it."""
    lines = extra_in(change).get(INDEX_LINES)
    line = str(lines[0]) if isinstance(lines, list) and lines else ""
    name = index_link(line).file
    if folder is None or not name:
        return ()
    index = context.open_list(folder.key)
    if any(linked_file(item) == name for item in index.items):
        return ()
    return index.edit(index.insert(_section(change, index), index.fit(line)))


def _folder_of(path: str, context: ClaudeContext) -> MemoryFolder | None:
    key = posixpath.dirname(path) or "."
    return next((folder for folder in context.folders.values() if folder.key == key), None)


def _plan_item(change: Change, folder: MemoryFolder, context: ClaudeContext) -> Plan:
    index = context.open_list(folder.key)
    text = index.fit(content_of(change))
    id = index.natural_id("", text)
    if any(known.id == id for known in index.items):
        return plan_duplicate(change, f"this item of {INDEX}")
    edits: tuple[Edit, ...] = index.edit(index.insert(_section(change, index), text))
    edits += context.entry_edits(id, folder.key, **sidecar_values(change))
    return Plan((change,), edits, Outcome.ADDED, f"Added to {INDEX}", (context.ref(id),))


def _section(change: Change, index: ListFile) -> str:
    """The heading under which an imported item stood, if the index has a list there."""
    section = str(extra_in(change).get(SECTION) or "")
    is_there = any(each.group == section and each.native.is_bullet for each in index.items)
    return section if is_there else ""


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
    changes = (
        (memory.type.lower() not in ("", type), f"type (becomes {type})"),
        (memory.status != "active", f"status {memory.status} (stands in the text)"),
        (memory.created, "created (stands in the text)"),
        kind_change(memory, "document"),
        (memory.importance != "medium", "importance (medium, as the index names it)"),
    )
    names = ("updated", "confidence", "source", "supersedes", "superseded_by", "links")
    return ConvertedMemory(fields, lost_names(memory, changes, *names))
