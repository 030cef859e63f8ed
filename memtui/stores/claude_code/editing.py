"""Plan changes of topic files, index items and instruction files."""

from __future__ import annotations

import posixpath
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import RefError, Refused
from memtui.model import Link, Memory
from memtui.stores import listed_texts
from memtui.stores.claude_code import INDEX, INSTRUCTIONS
from memtui.stores.claude_code.adding import plan_import, plan_topic
from memtui.stores.claude_code.records import (
    IMPORTS,
    INDEX_LINE,
    INDEXES,
    ClaudeContext,
)
from memtui.stores.claude_code.rules import imports_in, with_type
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


def _delete_item(change: Change, memory: Memory, context: ClaudeContext) -> Plan:
    left = tuple(
        f"{link.target} stays, and is no longer in the index"
        for link in memory.links
        if link.relation == INDEXES and "missing_file" not in memory.extra
    )
    return replace(listed_texts.plan_delete(change, memory, context), warnings=left)


# ---- files --------------------------------------------------------------------------------------


def _edit(change: Change, memory: Memory, context: ClaudeContext) -> Plan:
    if is_item(memory):
        return listed_texts.plan_edit(change, memory, context, ITEM_EDITABLE)
    changed = changed_values(change, memory, EDITABLE)
    before = page = open_document(memory, context)
    if "content" in changed:
        page = with_content(change, page)
    if "title" in changed:
        page = _with_title(page, changed["title"])
    if "type" in changed:
        if why := _not_on(Act.RETYPE, memory):
            raise Refused(why, where=memory.ref)
        page = page.with_text(with_type(page.text, str(changed["type"] or "")))
    edits: tuple[Edit, ...] = before.text_edits(page.text)
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


def _delete(change: Change, memory: Memory, context: ClaudeContext) -> Plan:
    if is_item(memory):
        return _delete_item(change, memory, context)
    edits = deletion_edits(open_document(memory, context), context)
    others = list(context.view.memories(context.label))
    lines = [m for m in others if m.type == INDEX_LINE and Link(INDEXES, memory.id) in m.links]
    if memory.entity != INSTRUCTIONS and lines:
        index = context.file_of(lines[0])
        ids = {line.id for line in lines}
        edits += index.edit(index.remove([item for item in index.items if item.id in ids]))
        for line in lines:
            edits += context.sidecar_entry(line).removal()
    warnings = dangling_warnings(memory, (m for m in others if m not in lines))
    return Plan(
        changes=(change,),
        edits=edits,
        outcome=Outcome.DONE,
        reason=f"Deletes {memory.id} and its line in {INDEX}" if lines else "",
        refs=(memory.ref, *(line.ref for line in lines), *_imported(memory, context)),
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

ACTS: ActionSupport[Any] = ActionSupport(
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
