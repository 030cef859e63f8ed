"""Plan new documents, changes of existing ones and of the type map."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from memtui.changes import Act, Change, Edit, Outcome, Plan, text_edit, value_edit
from memtui.errors import Refused
from memtui.files.frontmatter import set_field
from memtui.files.json.editing import raw_value
from memtui.files.json.locating import load
from memtui.model import Memory
from memtui.stores.importing import texts_in
from memtui.stores.markdown.document_editing import (
    OpenDocument,
    checked_title,
    deletion_edits,
    named_stem,
    new_document_file,
    open_document,
    titled_text,
    with_content,
    with_fields,
    with_heading,
    with_named_title,
    with_tags,
)
from memtui.stores.markdown.documents import outline, words_of
from memtui.stores.plans import ActionSupport, dangling_warnings, plan_one
from memtui.stores.scanning import read_text
from memtui.stores.sidecar import is_kept
from memtui.stores.values import (
    RATING_OF,
    changed_values,
    checked_importance,
    content_of,
    created_of,
    to_iso_seconds,
    word_of,
)
from memtui.stores.workspace.records import LESSONS, TASKS, DocumentContext, plan_import, state_key
from memtui.stores.workspace.rules import (
    EXACT,
    PATTERNS,
    TASK_RULES,
    TYPES,
    describe_type_changes,
    is_pattern,
    matches,
    type_changes,
    with_entry,
)

EDITABLE = frozenset({"content", "title", "tags", "importance", "type"})


def _not_on(act: Act, memory: Memory) -> str:
    if is_kept(memory):
        return "it is a former text that only memtui keeps"
    if act in (Act.RETIRE, Act.RESTORE):
        folders = memory.id.split("/")[:-1]
        if TASKS not in folders and LESSONS not in folders:
            return "its program heeds a state in tasks and lessons only: delete it instead"
        if (memory.status == "retired") == (act is Act.RETIRE):
            return "it is so already"
    return ""


def _edit(change: Change, memory: Memory, context: DocumentContext) -> Plan:
    changed = changed_values(change, memory, EDITABLE)
    edits: tuple[Edit, ...] = ()
    if changed.keys() - {"type"}:
        edits = edit_fields(change, changed, open_document(memory, context), context)
    if "type" in changed:
        edits += _type_edits(memory, str(changed["type"] or ""), context)
    return plan_one(change, memory, edits)


def _type_edits(memory: Memory, new_type: str, context: DocumentContext) -> tuple[Edit, ...]:
    types = context.types.value
    if not new_type and with_entry(types, memory.id, "").by_path(memory.id).type:
        pattern = next(p for p, word in types.patterns if matches(p, memory.id) and word in TYPES)
        raise Refused(
            "a pattern of the type map gives this type",
            where=memory.ref,
            do=f"change the type of the pattern {pattern}",
        )
    if not new_type and memory.id not in types.exact:
        raise Refused("the task rules of the type map give this type", where=memory.ref)
    return entry_edits(memory.id, new_type, context)


def retype_by_pattern(change: Change, context: DocumentContext) -> Plan:
    """Plan a type for every document that matches a pattern; the warnings name each."""
    pattern, new_type = str(change.fields["pattern"]), str(change.fields.get("type") or "")
    edits = entry_edits(pattern, new_type, context)
    types = with_entry(context.types.value, pattern, new_type)
    changed = type_changes(types, context.view.memories(context.label))
    count = len(changed)
    return Plan(
        changes=(change,),
        edits=edits,
        outcome=Outcome.DONE if edits else Outcome.NOTHING,
        reason=f"{pattern} would change the type of {count} document{'s' * (count != 1)}",
        refs=tuple(context.ref(path) for path, _, _ in changed),
        warnings=describe_type_changes(changed),
    )


def _add(change: Change, context: DocumentContext) -> Plan:
    path, creation = new_document(change, context)
    edits: tuple[Edit, ...] = (creation,)
    new_type = str(change.fields.get("type") or "")
    if new_type and context.types.value.by_path(path).type != new_type:
        edits += entry_edits(path, new_type, context)
    return Plan((change,), edits, Outcome.ADDED, f"Added the document {path}", (context.ref(path),))


def _retire(change: Change, memory: Memory, context: DocumentContext) -> Plan:
    edits = with_state(open_document(memory, context), RETIRED_WORD)
    return plan_one(change, memory, edits, ends=True)


def _restore(change: Change, memory: Memory, context: DocumentContext) -> Plan:
    return plan_one(change, memory, with_state(open_document(memory, context), RESTORED_WORD))


def _delete(change: Change, memory: Memory, context: DocumentContext) -> Plan:
    edits = deletion_edits(open_document(memory, context), context)
    warnings = dangling_warnings(memory, context.view.memories(context.label))
    return plan_one(change, memory, edits, warnings)


ACTS = ActionSupport(
    editable=EDITABLE,
    add=_add,
    add_imported=plan_import,
    handlers={
        Act.EDIT: _edit,
        Act.RETYPE: _edit,
        Act.TAG: _edit,
        Act.RETIRE: _retire,
        Act.RESTORE: _restore,
        Act.DELETE: _delete,
    },
    unsupported={
        Act.SUPERSEDE: "a document is edited; git keeps the former text",
        Act.MERGE: "documents are edited, not merged",
    },
    shard_of=lambda memory: memory.id,
    not_on=_not_on,
)


EMPTY_MAP = json.dumps({EXACT: {}, PATTERNS: {}, TASK_RULES: {}}, indent=2) + "\n"
"""What a workspace without a map gets, before its first entry."""


def entry_edits(entry: str, new_type: str, context: DocumentContext) -> tuple[Edit, ...]:
    """The edits that set the type of an entry of the map, a path or a pattern ("": remove it).

    Raises Refused.
    """
    if new_type not in ("", *TYPES):
        raise Refused(
            f"the workspace knows the types {', '.join(TYPES)} and ignores every other",
            where=new_type,
        )
    if context.types.fault or context.types.value.faults:
        fault = context.types.fault or context.types.value.faults[0]
        raise Refused(
            f"the type map cannot be read whole, so it is not written: {fault}",
            where=str(context.map_path),
            do="fix it by hand",
        )
    section = PATTERNS if is_pattern(entry) else EXACT
    if not os.path.lexists(context.map_path):
        if not new_type:
            return ()
        creation = text_edit(str(context.map_path), None, EMPTY_MAP)
        return (creation, *_map_edits(EMPTY_MAP, section, entry, new_type, creation.path))
    text = read_text(context.map_path, context.root)
    return _map_edits(text, section, entry, new_type, str(context.map_path))


def _map_edits(text: str, section: str, entry: str, new_type: str, path: str) -> tuple[Edit, ...]:
    type_map = load(text)
    after = json.dumps(new_type, ensure_ascii=False) if new_type else ""
    if section not in type_map:
        creation = value_edit(path, (section,), "", "{}")
        return (creation, value_edit(path, (section, entry), "", after)) if new_type else ()
    entries = type_map[section]
    if entry not in entries:
        return (value_edit(path, (section, entry), "", after),) if new_type else ()
    if [*entries] == [entry] and not new_type:  # only the whole says how the last one stood in it
        return (value_edit(path, (section,), raw_value(text, (section,)), "{}"),)
    before, index = raw_value(text, (section, entry)), [*entries].index(entry)
    return () if before == after else (value_edit(path, (section, entry), before, after, at=index),)


RETIRED_WORD = {"state": "cancelled", "status": "archived"}
"""What RETIRE writes: a task is not said to be done, a lesson goes to the archive."""

RESTORED_WORD = {"state": "backlog", "status": "active"}
"""What RESTORE writes: the task state that claims least (gptodo revives expired tasks to it)."""


def edit_fields(
    change: Change, changed: Mapping[str, Any], page: OpenDocument, context: DocumentContext
) -> tuple[Edit, ...]:
    """The edits of the changed fields, except the type. Raises Refused or Conflict."""
    before, entry = page, dict[str, Any]()
    if "content" in changed:
        page = with_content(change, page)
    if "title" in changed:
        page = _with_title(page, checked_title(changed["title"], page.memory.ref))
    if "tags" in changed:
        native = words_of(page.document.frontmatter.get("tags"))
        page, entry["tags"] = with_tags(
            page, changed["tags"], context, native, in_file=page.has_frontmatter
        )
    if "importance" in changed:
        importance = checked_importance(changed["importance"])
        in_task = TASKS in page.document.folders and page.has_frontmatter
        if in_task or "priority" in page.document.frontmatter:
            page = page.with_field("priority", importance)
        else:
            entry["rating"] = RATING_OF[importance]
    return (*before.text_edits(page.text), *context.sidecar_entry(page.memory).set(**entry))


def _with_title(page: OpenDocument, title: str) -> OpenDocument:
    found = with_named_title(page, title)
    if found is not None:
        return found
    if outline(page.document.body).title == page.memory.title:
        return with_heading(page, title)
    if page.has_frontmatter:
        return page.with_field("title", title)
    raise Refused("the title is the file's name", do="write a heading into the text")


def with_state(page: OpenDocument, words_of: Mapping[str, str]) -> tuple[Edit, ...]:
    """The edit that sets the state of a task or a lesson. Raises Refused."""
    key = state_key(page.document)
    if not key or not page.has_frontmatter:
        raise Refused("only tasks and lessons with frontmatter have a state", where=page.memory.ref)
    return page.text_edits(set_field(page.text, key, words_of[key]))


# ---- new documents ------------------------------------------------------------------------------


JOURNAL = "journal"
NEW_TASK_STATE = "backlog"


def new_document(change: Change, context: DocumentContext) -> tuple[str, Edit]:
    """The id and the edit of a new document. Raises Refused."""
    content = content_of(change)
    title = word_of(change, "title", "")
    folder = str(change.fields.get("entity") or "").strip("/")
    stem = named_stem(title or outline(content).title or content.strip())
    if folder.split("/")[0] == JOURNAL:
        stem = f"{created_of(change, context.now).date().isoformat()}-{stem}"
    path, file = new_document_file(folder, stem, context)
    text = with_fields(titled_text(title, content), _fields(change, context, folder))
    return path, text_edit(str(file), None, text)


def _fields(change: Change, context: DocumentContext, folder: str) -> dict[str, Any]:
    """The frontmatter: always some in a task, in another document only where needed."""
    fields: dict[str, Any] = {}
    importance = change.fields.get("importance")
    if importance:
        checked_importance(importance)
    if folder.split("/")[0] == TASKS:
        fields["state"] = NEW_TASK_STATE
        fields["created"] = to_iso_seconds(created_of(change, context.now))
    elif change.fields.get("created"):
        fields["date"] = to_iso_seconds(created_of(change, context.now))
    if importance and (fields.get("state") or importance != "medium"):
        fields["priority"] = importance
    tags = [tag for tag in texts_in(change, "tags") if tag.strip()]
    if tags:
        fields["tags"] = tags
    return fields
