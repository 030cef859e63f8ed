"""Plan a new topic file and its line in the index."""

from __future__ import annotations

import re

from memtui.changes import Change, Edit, Outcome, Plan, TextEdit
from memtui.errors import Refused
from memtui.stores.change_validation import content_of, word_of
from memtui.stores.claude_code.layout import INDEX, SUFFIX, MemoryFolder
from memtui.stores.claude_code.records import EMPTY_INDEX, ClaudeContext, IndexFile, parse_index
from memtui.stores.claude_code.rules import TYPES, checked_type, index_line, new_topic
from memtui.stores.markdown import outline, with_body
from memtui.stores.markdown_documents import file_stem, new_file, planned_text
from memtui.stores.markdown_items import add_item
from memtui.stores.plans import planned_before

DEFAULT_TYPE = "project"
LONGEST_HOOK = 120
"""Characters of the first line that are put into the index."""

_MARKUP = re.compile(r"[*_`#>]+|\[\[|\]\]")


def open_index(folder: MemoryFolder, context: ClaudeContext) -> tuple[str | None, IndexFile]:
    """The text of a MEMORY.md after the changes planned so far, and what it holds.

    Raises Refused if it cannot be read or is empty.
    """
    text = planned_text(folder.path / INDEX, context.root, context.view)
    if text == "":
        raise Refused(EMPTY_INDEX, where=str(folder.path / INDEX), do="fix the file first")
    return text, parse_index(text or "", folder, context.sidecar, folder.key)


def index_edit(folder: MemoryFolder, before: str | None, index: IndexFile, body: str) -> TextEdit:
    """The edit that gives the index another body."""
    document = index.document
    after = with_body(document, body) if body else document.head or "\n"
    return TextEdit(str(folder.path / INDEX), before, after, by_lines=True)


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
    stem = file_stem(title)
    if not stem:
        raise Refused("no file name can be made of this title", do="give it a title in letters")
    prefix = "" if type not in TYPES or stem.startswith(f"{type}-") else f"{type}_"
    file = file or f"{prefix}{stem.replace('-', '_')}{SUFFIX}"
    id = f"{folder.prefix}{file}"
    path = new_file(context.root, id)
    if context.ref(id) in {ref for plan in planned_before(context.view) for ref in plan.refs}:
        raise Refused("another new file gets this name", where=id, do="give it a title")
    name = file.removesuffix(SUFFIX).replace("_", "-")
    text = new_topic(name, title, hook or title, type, content, has_newer_topics(folder, context))
    before, index = open_index(folder, context)
    document = index.document
    body = add_item(document.body, index_line(title, file, "" if hook == title else hook))
    if before is None and not document.body:
        body = f"# Memory\n\n{body}"
    edits: tuple[Edit, ...] = (
        TextEdit(str(path), None, text),
        index_edit(folder, before, index, body),
    )
    refs = (context.ref(id), context.ref(f"{folder.prefix}{INDEX}#{file}"))
    return Plan((change,), edits, Outcome.ADDED, f"Adds {id} and its line in {INDEX}", refs)


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
