"""Plan changes of existing events, in every file that holds them.

Ambient knows editing the text and deleting. Type and importance can be changed in the files too.
Retiring and superseding remove the event as Ambient would, and memtui keeps it.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from memtui.changes import Act, Change, Edit, Plan, text_edit
from memtui.errors import Refused
from memtui.files.reading import safe_join
from memtui.model import Memory
from memtui.stores import ambient, listed_texts
from memtui.stores.ambient.adding import DECISION, new_event, plan_add
from memtui.stores.ambient.importing import plan_import
from memtui.stores.ambient.project_files import (
    EventContext,
    ProjectFiles,
    fit_content,
    insert_into,
    key_of,
    last_active_edits,
    reactivation_warnings,
    retire_event,
    shard_of,
)
from memtui.stores.ambient.records import ARCHIVED_TAG, EventCopy, EventFile
from memtui.stores.importing import texts_in
from memtui.stores.json_file import with_members
from memtui.stores.plans import (
    ActionSupport,
    plan_merge,
    plan_one,
    plan_successor,
    successor_warnings,
    tag_edits,
)
from memtui.stores.sidecar import is_kept
from memtui.stores.values import (
    UNADDRESSABLE,
    changed_values,
    check_unchanged,
    content_of,
    importance_of,
    text_of,
    word_of,
)

EDITABLE = frozenset({"content", "type", "importance", "tags"})


def _not_on(act: Act, memory: Memory) -> str:
    fault = memory.extra.get(UNADDRESSABLE)
    if fault:
        return f"it cannot be changed: {fault}"
    if why := listed_texts.not_on(act, memory, "Ambient"):
        return why
    if act is Act.ARCHIVE and not ("/" in memory.entity or memory.also_entities):
        return "it is on no branch"
    if act is Act.ARCHIVE and memory.extra.get("archived"):
        return "its branch is archived already"
    return ""


def _native_tags(memory: Memory) -> tuple[str, ...]:
    return (ARCHIVED_TAG,) if memory.extra.get("archived") else ()


def _unchanged_copies(
    memory: Memory, files: ProjectFiles, new_text: str | None = None
) -> list[EventCopy]:
    copies = files.copies(memory.id)
    now = text_of(copies[0].named.value.get("content"))
    check_unchanged(memory, now, str(copies[0].where.file.path), new_text)
    return copies


def _changed_keys(
    change: Change, changed: dict[str, Any], context: EventContext
) -> tuple[dict[str, str], str]:
    """The event's keys that the change sets, and a warning if the text was cut."""
    values: dict[str, str] = {}
    cut = ""
    if "content" in changed:
        values["content"], cut = fit_content(content_of(change), context.rules, change.force)
    if "type" in changed:
        values["type"] = word_of(change, "type", "")
    if "importance" in changed:
        values["importance"] = importance_of(change, "")
    return values, cut


def _set_keys(
    copies: list[EventCopy], values: Mapping[str, Any]
) -> tuple[tuple[Edit, ...], list[EventFile]]:
    """The edits that set these keys in every copy, and the files they change."""
    copy_edits = [(copy.where, copy.where.file.put(copy.named, values)) for copy in copies]
    edits = tuple(edit for _, found in copy_edits for edit in found)
    return edits, [where for where, found in copy_edits if found]


def _edit(change: Change, memory: Memory, context: EventContext) -> Plan:
    changed = changed_values(change, memory, EDITABLE)
    files = context.open(key_of(memory))
    values, cut = _changed_keys(change, changed, context)
    edits: tuple[Edit, ...] = ()
    warnings = ((cut,) if cut else ()) + files.warnings
    if values:
        copies = _unchanged_copies(memory, files, values.get("content"))
        edits, holding = _set_keys(copies, values)
        raised = values.get("importance") == "high" and memory.importance != "high"
        promoted = _promotion(files, copies, values) if raised else ()
        if promoted and files.own is not None:
            edits += promoted
            holding.append(files.own)
        edits += last_active_edits(holding, context.milliseconds)
        warnings += reactivation_warnings(holding, context.now)
    if "tags" in changed:
        edits += tag_edits(context.sidecar_entry(memory), changed["tags"], _native_tags(memory))
    return plan_one(change, memory, edits, warnings if edits else ())


def _promotion(
    files: ProjectFiles, copies: list[EventCopy], values: dict[str, str]
) -> tuple[Edit, ...]:
    """Write an event that becomes high to project.json too, as Ambient does on an add."""
    own = files.own
    if own is None or any(copy.where is own for copy in copies):
        return ()
    return insert_into(own, {**copies[0].named.value, **values})


def _delete(change: Change, memory: Memory, context: EventContext) -> Plan:
    forgotten = context.sidecar_entry(memory).removal()
    if is_kept(memory):
        return plan_one(change, memory, forgotten)
    files = context.open(key_of(memory))
    removals = tuple(copy.set(None) for copy in _unchanged_copies(memory, files))
    return plan_one(change, memory, (*removals, *forgotten), files.warnings)


def _retire(change: Change, memory: Memory, context: EventContext) -> Plan:
    files = context.open(key_of(memory))
    _unchanged_copies(memory, files)
    return Plan(
        changes=(change,),
        edits=retire_event(context, files, memory.id, "retired"),
        reason="removed from Ambient's files, kept by memtui",
        refs=(memory.ref,),
        supersedes=(memory.ref,),
        warnings=files.warnings,
    )


def _restore(change: Change, memory: Memory, context: EventContext) -> Plan:
    edits = restore_event(context, context.open(key_of(memory)), memory.id)
    return plan_one(change, memory, edits, successor_warnings(memory))


def restore_event(context: EventContext, files: ProjectFiles, id: str) -> tuple[Edit, ...]:
    """Put a retired event back into the files that held it, where they still exist.

    Raises Refused when none of them does.
    """
    present = {str(file.file.path): file for file in files.project.files}
    into: list[EventFile] = []
    edits: list[Edit] = []
    for place in _kept_places(context.sidecar.entry(id)):
        file = present.get(str(context.root / place["file"]))
        if file is None or any(named.id == id for named in file.records):
            continue
        index = place["index"] if place["index"] < len(file.file.records) else None
        edits += file.file.insert_raw(id, place["raw"], index)
        into.append(file)
    if not edits:
        raise Refused(
            "none of its files exists any more", where=str(files.folder), do="add it again"
        )
    return (
        *edits,
        *last_active_edits(into, context.milliseconds),
        *context.entry_edits(id, files.shard, kept=None),
    )


def _kept_places(entry: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The places of a retired event in its sidecar entry, without malformed ones."""
    kept_entry = entry.get("kept")
    places = kept_entry.get("places") if isinstance(kept_entry, dict) else None
    for place in places if isinstance(places, list) else ():
        if (
            isinstance(place, dict)
            and isinstance(place.get("file"), str)
            and isinstance(place.get("raw"), str)
            and isinstance(place.get("index"), int)
            and place["index"] >= 0
        ):
            yield place


def _successor_files(files: ProjectFiles, copies: list[EventCopy]) -> list[EventFile]:
    """The files that take the successor: those of the old event that Ambient still reads."""
    live = [copy.where for copy in copies if not copy.where.is_archived]
    if not live and files.own is not None:
        return [files.own]
    return live or [copies[0].where]


def _supersede(change: Change, memory: Memory, context: EventContext) -> Plan:
    files = context.open(key_of(memory))
    content, cut = fit_content(content_of(change), context.rules, change.force)
    copies = _unchanged_copies(memory, files, content)
    old = copies[0].named.value
    event = new_event(change, content, context)
    id = event["id"]
    event["type"] = word_of(change, "type", text_of(old.get("type")) or event["type"])
    event["importance"] = importance_of(change, memory.importance)
    into = _successor_files(files, copies)
    if event["importance"] == "high" and files.own is not None and files.own not in into:
        into = [files.own, *into]
    tags = texts_in(change, "tags")
    edits = (
        *retire_event(context, files, memory.id, "superseded", (id,)),
        *(edit for file in into for edit in insert_into(file, event)),
        *last_active_edits(into, context.milliseconds),
        *context.entry_edits(id, files.shard, supersedes=[memory.id], tags=tags),
    )
    reason, warnings = f"added {id}; memtui keeps {memory.id}", (cut,) if cut else ()
    ref = context.ref(id)
    return plan_successor(change, memory, ref, edits, reason, warnings + files.warnings)


def _merge(change: Change, memory: Memory, context: EventContext) -> Plan:
    """Keep this event, with new text if given, and retire the others as superseded."""
    others = context.others(change, memory)
    files = context.open(key_of(memory))
    edits: tuple[Edit, ...] = ()
    if change.fields.get("content") not in (None, "", memory.content):
        content, _ = fit_content(content_of(change), context.rules, change.force)
        edits, holding = _set_keys(_unchanged_copies(memory, files, content), {"content": content})
        edits += last_active_edits(holding, context.milliseconds)
    for other in others:
        why = _not_on(Act.SUPERSEDE, other)
        if why:
            raise Refused(why, where=other.ref)
        home = context.open(key_of(other))
        _unchanged_copies(other, home)
        edits += retire_event(context, home, other.id, "superseded", (memory.id,))
    edits += context.sidecar_entry(memory).superseding(others)
    return plan_merge(change, memory, others, edits)


def _branch_of(change: Change, memory: Memory, files: ProjectFiles) -> EventFile | None:
    """The branch file that an ARCHIVE means: the one named, else the memory's own."""
    entity = text_of(change.fields.get("entity")) or memory.entity
    for copy in files.copies(memory.id):
        path = f"{files.project.path}/{copy.where.branch}"
        if not copy.where.is_project and not copy.where.is_archived and path == entity:
            return copy.where
    return None


def _archive(change: Change, memory: Memory, context: EventContext) -> Plan:
    """Copy a merged branch's high decisions to the project, and move its file to `archived`.

    As processMergedBranches does (src/memory/lifecycle.ts:61-92, store.ts:737): a decision whose
    text the project has already is not copied; a copy gets an id of its own and `promotedFrom`.
    """
    files = context.open(key_of(memory))
    branch = _branch_of(change, memory, files)
    if branch is None:
        raise Refused("it is on no branch that could be archived", where=memory.ref)
    target = safe_join(files.folder / ambient.ARCHIVED, branch.file.path.name)
    if os.path.lexists(target):
        raise Refused("a branch of this name is already archived", where=str(target))
    own_records = files.own.records if files.own else ()
    known = {text_of(record.value.get("content")) for record in own_records}
    edits: list[Edit] = [
        text_edit(str(target), None, with_members(branch.file.text, {"archived": True})),
        text_edit(str(branch.file.path), branch.file.text, None),
    ]
    promoted = 0
    for named in branch.records:
        value = named.value
        is_high = value.get("type") == DECISION and value.get("importance") == "high"
        if files.own is None or not is_high or text_of(value.get("content")) in known:
            continue
        own = value.get("metadata")
        metadata = {**(own if isinstance(own, dict) else {}), "promotedFrom": branch.branch}
        edits += insert_into(files.own, {**value, "id": str(uuid.uuid4()), "metadata": metadata})
        promoted += 1
    if promoted and files.own is not None:
        edits += last_active_edits([files.own], context.milliseconds)
    moved = f"archived {branch.branch}, {len(branch.records)} events"
    return Plan(
        changes=(change,),
        edits=tuple(edits),
        reason=f"{moved}; {promoted} decisions copied to the project",
        refs=(memory.ref,),
        warnings=(*files.warnings, "Ambient deletes archived branches after 7 days"),
    )


ACTS = ActionSupport(
    editable=EDITABLE,
    add=plan_add,
    add_imported=plan_import,
    handlers={
        Act.EDIT: _edit,
        Act.RETYPE: _edit,
        Act.SUPERSEDE: _supersede,
        Act.RETIRE: _retire,
        Act.RESTORE: _restore,
        Act.DELETE: _delete,
        Act.MERGE: _merge,
        Act.ARCHIVE: _archive,
    },
    shard_of=shard_of,
    not_on=_not_on,
    native_tags=_native_tags,
)
