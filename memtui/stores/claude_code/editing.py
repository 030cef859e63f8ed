"""Plan changes of topic files, index items and instruction files: adding, importing, editing."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Outcome, Plan, text_edit
from memtui.errors import AmbiguousPlace, Conflict, RefError, Refused
from memtui.model import CURRENT, Memory
from memtui.stores import listed_acts, plans
from memtui.stores.claude_code import (
    INDEX,
    INSTRUCTIONS,
    SUFFIX,
    MemoryFolder,
    folder_key,
    records,
    rules,
)
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    CONVERTED,
    converted,
    extra_in,
    kind_change,
    short_hash,
    sidecar_values,
    slug,
    texts_in,
)
from memtui.stores.listed_texts import ListedText, ListFile
from memtui.stores.markdown.document_store import (
    OpenDocument,
    checked_title,
    deletion_edits,
    named_stem,
    new_file,
    open_document,
    plan_file_import,
    with_content,
    with_heading,
)
from memtui.stores.markdown.documents import outline
from memtui.stores.markdown.items import SECTION
from memtui.stores.values import changed_values, content_of, to_iso_seconds, word_of

DEFAULT_TYPE = "project"
MAX_NAMED = 10
"""Projects that are named where one must be chosen."""
LONGEST_HOOK = 120
"""Characters of the first line that are put into the index."""

_NOTE = re.compile(r"\((?=status: |created: )(status: \w+)?(, )?(created: [-\d:.TZ+]+)?\)")
"""The line with which `convert` ends a text."""
_MARKUP = re.compile(r"[*_`#>]+|\[\[|\]\]")


def folder_for(change: Change, context: records.ClaudeContext) -> MemoryFolder:
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


def plan_topic(change: Change, context: records.ClaudeContext) -> Plan:
    """Plan a new topic file. Raises Refused."""
    folder = folder_for(change, context)
    content = content_of(change)
    type = rules.checked_type(word_of(change, "type", DEFAULT_TYPE))
    title = word_of(change, "title", "") or outline(content).title
    return plan_files(change, context, folder, content, title, type, "")


def plan_files(
    change: Change,
    context: records.ClaudeContext,
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
    prefix = "" if type not in rules.TYPES or stem.startswith(f"{type}-") else f"{type}_"
    file = file or f"{prefix}{stem.replace('-', '_')}{SUFFIX}"
    id = f"{folder.prefix}{file}"
    path = new_file(context.root, id)
    if context.ref(id) in context.planned_refs:
        raise Refused("another new file gets this name", where=id, do="give it a title")
    name = file.removesuffix(SUFFIX).replace("_", "-")
    text = rules.new_topic(
        name, title, hook or title, type, content, has_newer_topics(folder, context)
    )
    index = context.open_list(folder.key)
    line = rules.index_line(title, file, "" if hook == title else hook)
    edits: tuple[Edit, ...] = (
        text_edit(str(path), None, text),
        *index.edit(index.insert("", line)),
    )
    reason = f"Adds {id} and its line in {INDEX}"
    return Plan((change,), edits, Outcome.ADDED, reason, (context.ref(id),))


def _first_line(content: str, title: str) -> str:
    """The first line that is neither the title nor what a copy notes, without markup."""
    for line in content.split("\n"):
        if _NOTE.fullmatch(line.strip()):
            continue
        text = " ".join(_MARKUP.sub("", line).split())
        text = "".join(letter for letter in text if letter.isprintable())
        if text and text != title:
            return text if len(text) <= LONGEST_HOOK else text[: LONGEST_HOOK - 1].rstrip() + "…"
    return ""


def has_newer_topics(folder: MemoryFolder, context: records.ClaudeContext) -> bool:
    """Whether the folder's topic files have the newer frontmatter; a new folder gets that."""
    if context.store.has_older_topics:
        return False
    kinds = [
        memory.extra.get("frontmatter")
        for memory in context.view.memories(context.label)
        if memory.id.startswith(folder.prefix)
    ]
    return "newer" in kinds or "older" not in kinds


# ---- importing -----------------------------------------------------------------------------------


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


def plan_import(change: Change, context: records.ClaudeContext) -> Plan:
    """Plan the import of a file or an item with an id. Raises Refused."""
    path, _, item = str(change.fields["id"]).partition("#")
    if CONVERTED in extra_in(change):
        return _plan_converted(change, context)
    folder = _folder_of(path, context)
    if item and folder is not None and posixpath.basename(path) == INDEX:
        return _plan_item(change, folder, context)
    file = context.root / path
    if os.path.lexists(file):
        return plans.plan_duplicate(change, "a file of this name")
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
    change: Change, folder: MemoryFolder | None, context: records.ClaudeContext
) -> tuple[Edit, ...]:
    """Add the line that named an imported topic file, if the index does not name it."""
    lines = extra_in(change).get(records.INDEX_LINES)
    line = str(lines[0]) if isinstance(lines, list) and lines else ""
    name = rules.index_link(line).file
    if folder is None or not name:
        return ()
    index = context.open_list(folder.key)
    if any(records.names_file(item, name) for item in index.items):
        return ()
    return index.edit(index.insert(_section(change, index), index.fit(line)))


def _folder_of(path: str, context: records.ClaudeContext) -> MemoryFolder | None:
    key = context.store.folder_key(path, str(context.root / path))
    return next((folder for folder in context.folders.values() if folder.key == key), None)


def _plan_item(change: Change, folder: MemoryFolder, context: records.ClaudeContext) -> Plan:
    index = context.open_list(folder.key)
    text = index.fit(content_of(change))
    id = index.natural_id("", text)
    if any(known.id == id for known in index.items):
        return plans.plan_duplicate(change, f"this item of {INDEX}")
    edits: tuple[Edit, ...] = index.edit(index.insert(_section(change, index), text))
    edits += context.entry_edits(id, folder.key, **sidecar_values(change))
    return Plan((change,), edits, Outcome.ADDED, f"Added to {INDEX}", (context.ref(id),))


def _section(change: Change, index: ListFile) -> str:
    """The heading under which an imported item stood, if the index has a list there."""
    section = str(extra_in(change).get(SECTION) or "")
    is_there = any(each.group == section and each.native.is_bullet for each in index.items)
    return section if is_there else ""


def _plan_converted(change: Change, context: records.ClaudeContext) -> Plan:
    """The project of the same name, else the only one. Raises Refused, AmbiguousPlace."""
    if not context.folders:
        raise Refused("there is no memory folder yet", where=str(context.root))
    folders, entity = context.folders, str(change.fields.get("entity") or "")
    if entity not in folders and len(folders) > 1:
        raise AmbiguousPlace(
            f"{len(folders)} projects could take it",
            where=str(context.root),
            do=f"name one with --entity: {', '.join(list(folders)[:MAX_NAMED])}",
        )
    folder = folders.get(entity) or next(iter(folders.values()))
    name = posixpath.basename(str(change.fields["id"]))
    if os.path.lexists(folder.path / name):
        ref = context.ref(f"{folder.prefix}{name}")
        return plans.plan_duplicate(change, "a file of this name", ref)
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
        "extra": {CONVERTED: True},
    }
    changes = (
        (memory.type.lower() not in ("", type), f"type (becomes {type})"),
        (memory.status != "active", f"status {memory.status} (stands in the text)"),
        (memory.created, "created (stands in the text)"),
        kind_change(memory, "document"),
        (memory.importance != "medium", "importance (medium, as the index names it)"),
    )
    return converted(memory, fields, changes)


# ---- editing -------------------------------------------------------------------------------------

EDITABLE = frozenset({"content", "title", "type", "tags"})
ITEM_EDITABLE = frozenset({"content", "tags"})


def is_item(memory: Memory) -> bool:
    """Whether it stands in MEMORY.md beside others."""
    return "#" in memory.id and posixpath.basename(memory.id.partition("#")[0]) == INDEX


def _not_on(act: Act, memory: Memory) -> str:
    if act is Act.RETYPE:
        if is_item(memory):
            return "an item of MEMORY.md has no type"
        if memory.entity == INSTRUCTIONS:
            return "an instruction file has no type"
        if "frontmatter" not in memory.extra:
            return "the file has no frontmatter, so it has no type"
    return ""


# ---- files --------------------------------------------------------------------------------------


def _edit(change: Change, memory: Memory, context: records.ClaudeContext) -> Plan:
    if is_item(memory):
        return listed_acts.plan_edit(change, memory, context, ITEM_EDITABLE)
    changed = changed_values(change, memory, EDITABLE)
    before = page = open_document(memory, context)
    if "content" in changed:
        page = with_content(change, page)
    line_edits: tuple[Edit, ...] = ()
    if "title" in changed and records.INDEX_LINES in memory.extra:
        line_edits = _edit_line(memory, changed["title"], context)
        if context.store.is_index_generated:
            name, _, hook = checked_title(changed["title"], memory.ref).partition(" — ")
            page = page.with_field("name", name).with_field("description", hook or name)
    elif "title" in changed:
        page = _with_title(page, changed["title"])
    if "type" in changed:
        if why := _not_on(Act.RETYPE, memory):
            raise Refused(why, where=memory.ref)
        page = page.with_text(rules.with_type(page.text, str(changed["type"] or "")))
    edits: tuple[Edit, ...] = (*before.text_edits(page.text), *line_edits)
    if "tags" in changed:
        edits += plans.tag_edits(context.sidecar_entry(memory), changed["tags"])
    imports_change = rules.imports_in(page.text) != rules.imports_in(before.text)
    others = _imported(memory, context) if memory.entity == INSTRUCTIONS and imports_change else ()
    return plans.plan_one(change, memory, edits, others=others)


def _with_title(page: OpenDocument, value: object) -> OpenDocument:
    memory, title = page.memory, checked_title(value, page.memory.ref)
    if memory.entity == INSTRUCTIONS:
        raise Refused("the title is the file's name", do="edit the text")
    if page.document.frontmatter.get("name"):
        if memory.extra.get("frontmatter") == "newer":
            raise Refused("the title is the name that links use", do="edit the text")
        return page.with_field("name", title)
    return with_heading(page, title)


def _lines_of(memory: Memory, index: ListFile) -> list[ListedText]:
    """The lines of the index that name a topic file, as they are now."""
    name = memory.id.removeprefix(f"{index.key}/")
    return [item for item in index.items if records.names_file(item, name)]


def _edit_line(memory: Memory, value: object, context: records.ClaudeContext) -> tuple[Edit, ...]:
    """Write a title into the line that names the topic file. Raises Refused or Conflict."""
    title, index = checked_title(value, memory.ref), context.file_of(memory)
    lines = _lines_of(memory, index)
    if not lines or lines[0].text != memory.extra[records.INDEX_LINES][0]:
        raise Conflict("another program changed its line", where=str(index.path), yours=title)
    line = rules.with_line_title(lines[0].text, title)
    if rules.index_link(line).title != title:
        raise Refused("a line of the index cannot hold this title", do="leave out [ and ]")
    return index.edit(index.replace(lines[0], line))


def _delete(change: Change, memory: Memory, context: records.ClaudeContext) -> Plan:
    if is_item(memory):
        return listed_acts.plan_delete(change, memory, context)
    edits = deletion_edits(open_document(memory, context), context)
    others = list(context.view.memories(context.label))
    lines: list[ListedText] = []
    if records.INDEX_LINES in memory.extra:
        index = context.file_of(memory)
        lines = _lines_of(memory, index)
        edits += index.edit(index.remove(lines))
    warnings = plans.dangling_warnings(memory, others)
    return Plan(
        changes=(change,),
        edits=edits,
        outcome=Outcome.DONE,
        reason=f"Deletes {memory.id} and its line in {INDEX}" if lines else "",
        refs=(memory.ref, *_imported(memory, context)),
        warnings=warnings,
    )


def _imported(memory: Memory, context: records.ClaudeContext) -> tuple[str, ...]:
    """Refs of the files that sessions read only because this one imports them."""
    found: dict[str, None] = {}
    waiting = [memory]
    while waiting:
        for link in waiting.pop().links:
            ref = context.ref(link.target)
            if link.relation == records.IMPORTS and ref not in found:
                found[ref] = None
                with suppress(RefError):
                    waiting.append(context.view.get(ref))
    return tuple(found)


def shards_by(key_of: Callable[[str, str], str]) -> Callable[[Memory], str]:
    """The key of the shard that holds a memory, by `ClaudeCodeStore.folder_key`."""

    def shard_of(memory: Memory) -> str:
        is_instruction = memory.entity == INSTRUCTIONS
        path = memory.id.partition("#")[0]
        return INSTRUCTIONS if is_instruction else key_of(path, memory.origin.file)

    return shard_of


_EDITED = "it is edited in place; memtui's log keeps the former text"

ACTS = plans.ActionSupport(
    editable=EDITABLE,
    add=plan_topic,
    add_imported=plan_import,
    handlers={Act.EDIT: _edit, Act.RETYPE: _edit, Act.DELETE: _delete},
    unsupported={
        Act.SUPERSEDE: _EDITED,
        Act.RETIRE: "a file that is there is read: delete it",
        Act.RESTORE: "this format has no retired state",
        Act.MERGE: "edit one of them and delete the others",
    },
    shard_of=shards_by(folder_key),
    not_on=_not_on,
)
