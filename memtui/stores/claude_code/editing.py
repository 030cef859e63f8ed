"""Plan changes of topic files, index items and instruction files."""

from __future__ import annotations

import posixpath
from contextlib import suppress

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import Conflict, RefError, Refused
from memtui.model import Memory
from memtui.stores import listed_texts
from memtui.stores.claude_code import INDEX, INSTRUCTIONS
from memtui.stores.claude_code.adding import plan_import, plan_topic
from memtui.stores.claude_code.records import (
    IMPORTS,
    INDEX_LINES,
    ClaudeContext,
    linked_file,
)
from memtui.stores.claude_code.rules import imports_in, with_line_title, with_type
from memtui.stores.listed_texts import ListedText, ListFile
from memtui.stores.markdown.document_editing import (
    OpenDocument,
    checked_title,
    deletion_edits,
    open_document,
    with_content,
    with_heading,
)
from memtui.stores.plans import ActionSupport, dangling_warnings, plan_one, tag_edits
from memtui.stores.values import changed_values

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


def _edit(change: Change, memory: Memory, context: ClaudeContext) -> Plan:
    if is_item(memory):
        return listed_texts.plan_edit(change, memory, context, ITEM_EDITABLE)
    changed = changed_values(change, memory, EDITABLE)
    before = page = open_document(memory, context)
    if "content" in changed:
        page = with_content(change, page)
    line_edits: tuple[Edit, ...] = ()
    if "title" in changed and INDEX_LINES in memory.extra:
        line_edits = _edit_line(memory, changed["title"], context)
    elif "title" in changed:
        page = _with_title(page, changed["title"])
    if "type" in changed:
        if why := _not_on(Act.RETYPE, memory):
            raise Refused(why, where=memory.ref)
        page = page.with_text(with_type(page.text, str(changed["type"] or "")))
    edits: tuple[Edit, ...] = (*before.text_edits(page.text), *line_edits)
    if "tags" in changed:
        edits += tag_edits(context.sidecar_entry(memory), changed["tags"])
    imports_change = imports_in(page.text) != imports_in(before.text)
    others = _imported(memory, context) if memory.entity == INSTRUCTIONS and imports_change else ()
    return plan_one(change, memory, edits, others=others)


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
    name = posixpath.basename(memory.id)
    return [item for item in index.items if linked_file(item) == name]


def _edit_line(memory: Memory, value: object, context: ClaudeContext) -> tuple[Edit, ...]:
    """Write a title into the line that names the topic file. Raises Refused or Conflict."""
    title, index = checked_title(value, memory.ref), context.file_of(memory)
    lines = _lines_of(memory, index)
    if not lines or lines[0].text != memory.extra[INDEX_LINES][0]:
        raise Conflict("another program changed its line", where=str(index.path), yours=title)
    return index.edit(index.replace(lines[0], with_line_title(lines[0].text, title)))


def _delete(change: Change, memory: Memory, context: ClaudeContext) -> Plan:
    if is_item(memory):
        return listed_texts.plan_delete(change, memory, context)
    edits = deletion_edits(open_document(memory, context), context)
    others = list(context.view.memories(context.label))
    lines: list[ListedText] = []
    if INDEX_LINES in memory.extra:
        index = context.file_of(memory)
        lines = _lines_of(memory, index)
        edits += index.edit(index.remove(lines))
    warnings = dangling_warnings(memory, others)
    return Plan(
        changes=(change,),
        edits=edits,
        outcome=Outcome.DONE,
        reason=f"Deletes {memory.id} and its line in {INDEX}" if lines else "",
        refs=(memory.ref, *_imported(memory, context)),
        warnings=warnings,
    )


def _imported(memory: Memory, context: ClaudeContext) -> tuple[str, ...]:
    """Refs of the files that sessions read only because this one imports them."""
    found: dict[str, None] = {}
    waiting = [memory]
    while waiting:
        for link in waiting.pop().links:
            ref = context.ref(link.target)
            if link.relation == IMPORTS and ref not in found:
                found[ref] = None
                with suppress(RefError):
                    waiting.append(context.view.get(ref))
    return tuple(found)


def _shard_of(memory: Memory) -> str:
    """The key of the shard that holds a memory."""
    if memory.entity == INSTRUCTIONS:
        return INSTRUCTIONS
    return posixpath.dirname(memory.id.partition("#")[0]) or "."


_EDITED = "it is edited in place; memtui's log keeps the former text"

ACTS = ActionSupport(
    editable=EDITABLE,
    add=plan_topic,
    add_imported=plan_import,
    handlers={Act.EDIT: _edit, Act.RETYPE: _edit, Act.DELETE: _delete},
    unsupported={
        Act.SUPERSEDE: _EDITED,
        Act.RETIRE: "Claude Code reads every file that is there: delete it",
        Act.RESTORE: "this format has no retired state",
        Act.MERGE: "edit one of them and delete the others",
    },
    shard_of=_shard_of,
    not_on=_not_on,
)
