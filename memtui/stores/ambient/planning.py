"""Changes of events that exist, as exact edits of every file that holds them.

Ambient knows editing the text and deleting. Type and importance can be changed in the files too.
Retiring and superseding remove the event as Ambient would, and memtui keeps it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import Refused
from memtui.files.json_spans import put_member
from memtui.model import Memory
from memtui.stores.ambient import layout
from memtui.stores.ambient.adding import Desk, new_event
from memtui.stores.ambient.events import ARCHIVED_TAG, Copy, EventFile
from memtui.stores.ambient.project_files import (
    ProjectFiles,
    insert_into,
    key_of,
    revived,
    set_copy,
    touched,
)
from memtui.stores.ambient.rules import fitted
from memtui.stores.asked import (
    asked_values,
    content_of,
    importance_of,
    same_as_seen,
    word_of,
)
from memtui.stores.base import View
from memtui.stores.json_file import text_of
from memtui.stores.outcomes import done
from memtui.stores.sidecar import edit, ids_in
from memtui.stores.sidecar_acts import BESIDE, Beside, plan_beside, tag_edits

EDITABLE = frozenset({"content", "type", "importance", "tags"})
NATIVE = frozenset(
    {Act.EDIT, Act.RETYPE, Act.SUPERSEDE, Act.RETIRE, Act.RESTORE, Act.DELETE, Act.MERGE}
)
KEPT_ACTS = frozenset({Act.RESTORE, Act.DELETE}) | BESIDE


def refusal(act: Act, memory: Memory | None) -> str:
    """Why the format cannot do this act on this memory; empty when it can."""
    if act is Act.ADD:
        return ""
    if act not in NATIVE and act not in BESIDE:
        return "Ambient has no proposals to decide on"
    if memory is None:
        return ""
    fault = memory.extra.get("unaddressable")
    if fault:
        return f"it cannot be changed: {fault}"
    kept = memory.extra.get("kept") is True
    if kept and act not in KEPT_ACTS:
        return "Ambient no longer holds it, only memtui does: restore it first"
    if act is Act.RESTORE and not kept:
        return "it is active already"
    return ""


def writable(root: Path) -> str:
    """Why nothing can be written in this folder; empty when it can."""
    return "" if os.access(root, os.W_OK | os.X_OK) else "the folder is read-only for this user"


def plan_existing(change: Change, desk: Desk, view: View) -> Plan:
    """The plan of any act on a memory that exists. Raises Refused, Conflict or RefError."""
    memory = view.get(change.ref)
    shard = f"{layout.PROJECTS}/{key_of(memory)}"
    beside = Beside(memory, desk.root, desk.sidecar, shard)
    native_tags = (ARCHIVED_TAG,) if memory.extra.get("archived") else ()
    if change.act in BESIDE:
        return plan_beside(change, beside, lambda: desk.now, native_tags)
    kept = memory.extra.get("kept") is True
    if kept and change.act is Act.DELETE:
        return done(change, memory, beside.forget())
    files = desk.open(key_of(memory))
    match change.act:
        case Act.EDIT | Act.RETYPE:
            return _plan_edit(change, memory, beside, files, desk, native_tags)
        case Act.SUPERSEDE:
            return _plan_supersede(change, memory, files, desk)
        case Act.RETIRE:
            return _plan_retire(change, memory, files, desk)
        case Act.RESTORE:
            edits = desk.archive.put_back(files, memory.id, desk.milliseconds)
            return done(change, memory, edits, _restore_warning(memory))
        case Act.DELETE:
            return _plan_delete(change, memory, beside, files)
        case Act.MERGE:
            return _plan_merge(change, memory, files, desk, view)
        case _:
            raise Refused(refusal(change.act, memory) or "this cannot be done here")


def _restore_warning(memory: Memory) -> tuple[str, ...]:
    if memory.superseded_by:
        return (f"{', '.join(memory.superseded_by)} took its place and stays active too",)
    return ()


def _seen(memory: Memory, files: ProjectFiles, wanted: str | None = None) -> list[Copy]:
    copies = files.copies(memory.id)
    now = text_of(copies[0].named.value.get("content"))
    same_as_seen(memory, now, str(copies[0].where.file.path), wanted)
    return copies


def _asked_keys(change: Change, asked: dict[str, Any], desk: Desk) -> tuple[dict[str, str], str]:
    """The event's keys that the change sets, and a warning when the text had to be cut."""
    values: dict[str, str] = {}
    cut = ""
    if "content" in asked:
        values["content"], cut = fitted(content_of(change), desk.rules, change.force)
    if "type" in asked:
        values["type"] = word_of(change, "type", "")
    if "importance" in asked:
        values["importance"] = importance_of(change, "")
    return values, cut


def _with(raw: str, values: dict[str, str]) -> str:
    for key, value in values.items():
        raw = put_member(raw, key, value)
    return raw


def _plan_edit(
    change: Change,
    memory: Memory,
    beside: Beside,
    files: ProjectFiles,
    desk: Desk,
    native_tags: tuple[str, ...],
) -> Plan:
    asked = asked_values(change, memory, EDITABLE)
    values, cut = _asked_keys(change, asked, desk)
    edits: tuple[Edit, ...] = ()
    warnings = ((cut,) if cut else ()) + files.warnings
    if values:
        copies = _seen(memory, files, values.get("content"))
        changed = [(copy, _with(copy.named.record.raw, values)) for copy in copies]
        changed = [(copy, raw) for copy, raw in changed if raw != copy.named.record.raw]
        edits = tuple(set_copy(copy, raw) for copy, raw in changed)
        holding = [copy.where for copy, _ in changed]
        raised = values.get("importance") == "high" and memory.importance != "high"
        promoted = _promotion(files, copies, values) if raised else ()
        if promoted and files.own is not None:
            edits += promoted
            holding.append(files.own)
        edits += touched(holding, desk.milliseconds)
        warnings += revived(holding, desk.now)
    if "tags" in asked:
        edits += tag_edits(beside, asked["tags"], native_tags)
    return done(change, memory, edits, warnings if edits else ())


def _promotion(files: ProjectFiles, copies: list[Copy], values: dict[str, str]) -> tuple[Edit, ...]:
    """An event that becomes high is written to project.json too, as one stored high is."""
    own = files.own
    if own is None or any(copy.where is own for copy in copies):
        return ()
    return (insert_into(own, {**copies[0].named.value, **values}),)


def _plan_delete(change: Change, memory: Memory, beside: Beside, files: ProjectFiles) -> Plan:
    removals = tuple(set_copy(copy, None) for copy in _seen(memory, files))
    return done(change, memory, (*removals, *beside.forget()), files.warnings)


def _plan_retire(change: Change, memory: Memory, files: ProjectFiles, desk: Desk) -> Plan:
    _seen(memory, files)
    return Plan(
        changes=(change,),
        edits=desk.archive.remove(files, memory.id, "retired"),
        reason="removed from Ambient's files; memtui keeps it",
        refs=(memory.ref,),
        supersedes=(memory.ref,),
        warnings=files.warnings,
    )


def _successor_files(files: ProjectFiles, copies: list[Copy]) -> list[EventFile]:
    """Where the successor goes: into the files of the old one that Ambient still reads."""
    live = [copy.where for copy in copies if not copy.where.is_archived]
    if not live and files.own is not None:
        return [files.own]
    return live or [copies[0].where]


def _plan_supersede(change: Change, memory: Memory, files: ProjectFiles, desk: Desk) -> Plan:
    content, cut = fitted(content_of(change), desk.rules, change.force)
    copies = _seen(memory, files, content)
    old = copies[0].named.value
    event = new_event(change, content, desk)
    event["type"] = word_of(change, "type", text_of(old.get("type")) or event["type"])
    event["importance"] = importance_of(change, memory.importance)
    into = _successor_files(files, copies)
    if event["importance"] == "high" and files.own is not None and files.own not in into:
        into = [files.own, *into]
    beside = Beside(memory, desk.root, desk.sidecar, files.shard)
    return Plan(
        changes=(change,),
        edits=(
            *desk.archive.remove(files, memory.id, "superseded", (event["id"],)),
            *(insert_into(file, event) for file in into),
            *touched(into, desk.milliseconds),
            *_lineage(beside, event["id"], change),
        ),
        outcome=Outcome.SUPERSEDED,
        reason=f"added {event['id']}; memtui keeps {memory.id}",
        refs=(f"{desk.label}:{event['id']}", memory.ref),
        supersedes=(memory.ref,),
        warnings=((cut,) if cut else ()) + files.warnings,
    )


def _lineage(beside: Beside, id: str, change: Change) -> tuple[Edit, ...]:
    """What the sidecar says of a successor: what it replaced, and the tags it was given."""
    made = edit(
        beside.root,
        beside.sidecar,
        id,
        beside.shard,
        supersedes=[beside.memory.id],
        tags=[str(tag) for tag in change.fields.get("tags") or ()],
    )
    return () if made is None else (made,)


def _plan_merge(
    change: Change, memory: Memory, files: ProjectFiles, desk: Desk, view: View
) -> Plan:
    """Keep this event, with a new text if one is given; the others leave and are kept."""
    prefix = f"{memory.store}:"
    asked = [str(other) for other in change.fields.get("others", ())]
    others = [view.get(o if o.startswith(prefix) else prefix + o) for o in asked]
    if not others or memory in others:
        raise Refused("there is nothing to merge with")
    edits: tuple[Edit, ...] = ()
    if change.fields.get("content") not in (None, "", memory.content):
        content, _ = fitted(content_of(change), desk.rules, change.force)
        copies = _seen(memory, files, content)
        edits = tuple(
            set_copy(copy, put_member(copy.named.record.raw, "content", content)) for copy in copies
        ) + touched([copy.where for copy in copies], desk.milliseconds)
    for other in others:
        why = refusal(Act.SUPERSEDE, other)
        if why:
            raise Refused(why, where=other.ref)
        home = desk.open(key_of(other))
        _seen(other, home)
        edits += desk.archive.remove(home, other.id, "superseded", (memory.id,))
    known = ids_in(desk.sidecar.entry(memory.id), "supersedes")
    ids = list(dict.fromkeys([*known, *(other.id for other in others)]))
    beside = Beside(memory, desk.root, desk.sidecar, files.shard)
    return Plan(
        changes=(change,),
        edits=edits + beside.set(supersedes=ids),
        refs=(memory.ref, *(other.ref for other in others)),
        supersedes=tuple(other.ref for other in others),
        reason=f"merged {len(others)} into {memory.id}",
    )
