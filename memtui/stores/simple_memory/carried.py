"""Records that come from elsewhere with an id: an import, or a move between stores.

They keep their id, times, status and lineage. What `extra` held of a record of this format becomes
its keys again; what the files cannot say goes into the sidecar.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan, RecordEdit, TextEdit
from memtui.errors import Refused
from memtui.files.json_spans import new_record
from memtui.model import Link, Memory
from memtui.stores.asked import content_of
from memtui.stores.sidecar import edit as sidecar_edit
from memtui.stores.sidecar import keep
from memtui.stores.simple_memory.adding import INDENT, new_value, rating
from memtui.stores.simple_memory.reading import KEPT_STATUS, SHARD
from memtui.stores.simple_memory.records import (
    EPISODES,
    FACTS,
    OUTDATED,
    PART_OF_KIND,
    SCHEMA,
    Part,
    tags_of,
)
from memtui.stores.simple_memory.targets import Desk

_NOT_KEYS = frozenset({"id", "kept", "rating", "reviewed", "unaddressable"})
"""Of `extra`: what was never a key of the record."""
_GONE = ("superseded", "retired", "deleted")


def is_carried(change: Change) -> bool:
    return bool(change.fields.get("id"))


def plan_carried(change: Change, desk: Desk) -> Plan:
    """The plan of taking in one record. Raises Refused."""
    fields = change.fields
    id, kind = str(fields["id"]), str(fields.get("kind") or "")
    extra = _extra(change)
    if kind not in PART_OF_KIND:
        raise Refused(f"Simple Memory holds no {kind or 'such'} memory", where=id)
    part = PART_OF_KIND[kind]
    if extra.get("kept"):
        return _plan_kept(change, desk, id)
    if any(record.value.get("id") == id for record in _records(part, desk)):
        return _known(change)
    record = {"id": id, **_record(part, change, desk)}
    noted = sidecar_edit(desk.root, desk.sidecar, id, SHARD, **_beside(part, record, change))
    return Plan(
        changes=(change,),
        edits=(*_inserted(part, id, record, desk), *(() if noted is None else (noted,))),
        outcome=Outcome.ADDED,
        reason=f"Added {part.noun}, {id}",
        refs=(f"{desk.label}:{id}",),
    )


def _known(change: Change) -> Plan:
    return Plan((change,), outcome=Outcome.DEDUPE, reason="a record with this id is there already")


def _extra(change: Change) -> Mapping[str, Any]:
    extra = change.fields.get("extra")
    return extra if isinstance(extra, Mapping) else {}


def _records(part: Part, desk: Desk) -> list[Any]:
    if not os.path.lexists(desk.root / part.file):
        return []
    return [record for record in desk.records(part) if isinstance(record.value, dict)]


def _record(part: Part, change: Change, desk: Desk) -> dict[str, Any]:
    extra = _extra(change)
    native = part is FACTS and {"s", "p", "o"} <= extra.keys()
    words = {key: extra[key] for key in ("s", "p", "o")} if native else None
    value = new_value(part, change, desk, words)
    if part is EPISODES and change.fields.get("source") and "start" not in extra:
        value["source_ids"] = [str(change.fields["source"])]
    links = [link for link in change.fields.get("links") or () if isinstance(link, Link)]
    own = {"fact": "facts", "evidence": "evidence"}
    for relation, key in own.items():
        targets = [link.target for link in links if link.relation == relation]
        if targets or key in value:
            value[key] = targets
    others = [
        {"rel": link.relation, "to": link.target} for link in links if link.relation not in own
    ]
    if others:
        value["links"] = others
    if change.fields.get("pinned"):
        value["pinned"] = True
    if part is SCHEMA and change.fields.get("status") in _GONE:
        value["status"] = OUTDATED
    return value | {key: item for key, item in extra.items() if key not in _NOT_KEYS}


def _beside(part: Part, record: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """What the sidecar keeps of the record."""
    fields, extra = change.fields, _extra(change)
    status = str(fields.get("status") or "")
    gone = "retired" if status == "deleted" else status
    own = tags_of(part, record)
    return {
        "rating": extra.get("rating") or rating(part, record, change),
        "reviewed": extra.get("reviewed"),
        "tags": [str(tag) for tag in fields.get("tags") or () if tag not in own],
        "supersedes": [str(id) for id in fields.get("supersedes") or ()],
        "superseded_by": [str(id) for id in fields.get("superseded_by") or ()],
        KEPT_STATUS: gone if part is not SCHEMA and status in _GONE else None,
    }


def _inserted(part: Part, id: str, value: Mapping[str, Any], desk: Desk) -> tuple[Edit, ...]:
    """At the end of the file; one that is missing is made, empty, first."""
    path = desk.root / part.file
    records = _records(part, desk)
    made = () if os.path.lexists(path) else (TextEdit(str(path), None, "[]\n"),)
    raw = new_record(records[-1].raw if records else None, value, INDENT)
    return (*made, RecordEdit(str(path), (), "id", id, None, raw))


def _plan_kept(change: Change, desk: Desk, id: str) -> Plan:
    """A former text that only memtui keeps stays with memtui."""
    if desk.sidecar.entry(id):
        return _known(change)
    fields = change.fields
    memory = Memory(
        ref=f"{desk.label}:{id}",
        id=id,
        store=desk.label,
        kind=str(fields["kind"]),
        type=str(fields.get("type") or ""),
        title=str(fields.get("title") or ""),
        content=content_of(change),
        entity=str(fields.get("entity") or ""),
        importance=str(fields.get("importance") or "medium"),
        status=str(fields.get("status") or "superseded"),
        superseded_by=tuple(str(id) for id in fields.get("superseded_by") or ()),
        extra={key: value for key, value in _extra(change).items() if key != "kept"},
    )
    made = sidecar_edit(desk.root, desk.sidecar, id, SHARD, kept=keep(memory))
    edits = () if made is None else (made,)
    return Plan((change,), edits, Outcome.ADDED, f"Kept {id}", (memory.ref,))
