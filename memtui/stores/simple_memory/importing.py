"""Import records that have an id already, and convert memories of other formats."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import time
from typing import Any

from memtui.changes import Change, Outcome, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.change_validation import content_of
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    entity_parts,
    extra_in,
    links_in,
    lost_fields,
    lost_kind,
    native_keys,
    short_hash,
    sidecar_values,
    text_with_title,
    texts_in,
)
from memtui.stores.plans import plan_duplicate
from memtui.stores.sidecar import kept_value
from memtui.stores.simple_memory.adding import INDENT, new_record_value, rating
from memtui.stores.simple_memory.records import (
    EPISODES,
    FACTS,
    KEPT_STATUS,
    OUTDATED,
    RECORD_KIND_OF,
    SCHEMA,
    SCHEMA_KINDS,
    RecordContext,
    RecordKind,
    tags_of,
)

_GONE = ("superseded", "retired", "deleted")
_LISTS = {"fact": "facts", "evidence": "evidence"}
"""Relations whose links stand in a list of their own."""


def plan_import(change: Change, context: RecordContext) -> Plan:
    """Plan the import of one record. Raises Refused."""
    fields = change.fields
    id, kind = str(fields["id"]), str(fields.get("kind") or "")
    if kind not in RECORD_KIND_OF:
        raise Refused(f"Simple Memory holds no {kind or 'such'} memory", where=id)
    record_kind = RECORD_KIND_OF[kind]
    if extra_in(change).get("kept"):
        return _plan_kept(change, context, id)
    opened = context.open(record_kind)
    if id in opened.by_id:
        return plan_duplicate(change, "a record with this id")
    record = {"id": id, **_record(record_kind, change, context)}
    entry_edits = context.record_entry_edits(id, **_sidecar_values(record_kind, record, change))
    return Plan(
        changes=(change,),
        edits=(*opened.file.insert(record, INDENT), *entry_edits),
        outcome=Outcome.ADDED,
        reason=f"Added {record_kind.noun}, {id}",
        refs=(context.ref(id),),
    )


def _record(record_kind: RecordKind, change: Change, context: RecordContext) -> dict[str, Any]:
    extra = extra_in(change)
    native = record_kind is FACTS and {"s", "p", "o"} <= extra.keys()
    words = {key: extra[key] for key in ("s", "p", "o")} if native else None
    value = new_record_value(record_kind, change, context, words)
    if record_kind is EPISODES and change.fields.get("source") and "start" not in extra:
        value["source_ids"] = [str(change.fields["source"])]
    value |= _links(change, value)
    if change.fields.get("pinned"):
        value["pinned"] = True
    if record_kind is SCHEMA and change.fields.get("status") in _GONE:
        value["status"] = OUTDATED
    return value | native_keys(change, ("id",))


def _links(change: Change, value: Mapping[str, Any]) -> dict[str, Any]:
    """The lists of links that are not empty or that this kind of record always has."""
    links = links_in(change)
    lists: dict[str, Any] = {
        key: [link.target for link in links if link.relation == relation]
        for relation, key in _LISTS.items()
    }
    lists["links"] = [
        {"rel": link.relation, "to": link.target} for link in links if link.relation not in _LISTS
    ]
    return {key: found for key, found in lists.items() if found or key in value}


def _sidecar_values(
    record_kind: RecordKind, record: Mapping[str, Any], change: Change
) -> dict[str, Any]:
    """The keys of the sidecar entry: what the record cannot hold."""
    values = sidecar_values(change, tags=tags_of(record_kind, record))
    status = str(change.fields.get("status") or "")
    former_status = "retired" if status == "deleted" else status
    return values | {
        "pinned": None,
        "links": None,
        "rating": values["rating"] or rating(record_kind, record, change),
        KEPT_STATUS: former_status if record_kind is not SCHEMA and status in _GONE else None,
    }


def _plan_kept(change: Change, context: RecordContext, id: str) -> Plan:
    """Plan the import of a former text, which only the sidecar keeps."""
    if context.sidecar.entry(id):
        return plan_duplicate(change, "a record with this id")
    fields = change.fields
    memory = Memory(
        ref=context.ref(id),
        id=id,
        store=context.label,
        kind=str(fields["kind"]),
        type=str(fields.get("type") or ""),
        title=str(fields.get("title") or ""),
        content=content_of(change),
        entity=str(fields.get("entity") or ""),
        importance=str(fields.get("importance") or "medium"),
        status=str(fields.get("status") or "superseded"),
        superseded_by=tuple(texts_in(change, "superseded_by")),
        extra={key: value for key, value in extra_in(change).items() if key != "kept"},
    )
    edits = context.record_entry_edits(id, kept=kept_value(memory))
    return Plan((change,), edits, Outcome.ADDED, f"Kept {id}", (memory.ref,))


ID_DIGITS = 10
"""Of the id: two memories of a million get the same with a chance of one in two thousand or less
for decimal ids; the second is then listed as a conflict, never written over the first."""
_STATUS = {"deleted": "retired", "proposed": "active"}


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory: a rule to a schema item, one short sentence to a fact, others to an
    episode."""
    kind = _kind(memory)
    domain, *topic = entity_parts(memory)
    content = memory.content or memory.headline
    fields = {
        "id": _id(kind, memory.ref),
        "kind": kind,
        "content": text_with_title(memory) if kind == "schema" else content,
        "type": memory.type if kind == "schema" else "",
        "title": memory.headline[:200] if kind == "episode" else "",
        "entity": "/".join([domain, "-".join(topic)] if topic else [domain]),
        "created": memory.created or memory.updated,
        "status": _STATUS.get(memory.status, memory.status),
        "importance": memory.importance,
        "source": memory.ref,
        "confidence": memory.confidence,
        "tags": tuple(dict.fromkeys(tag for tag in (memory.type, *memory.tags) if tag)),
        "pinned": memory.pinned,
    }
    changed: tuple[str, ...] = ("type (becomes a tag)",) if memory.type and kind != "schema" else ()
    if memory.status in _STATUS:
        changed += (f"status {memory.status} (becomes {_STATUS[memory.status]})",)
    changed += lost_kind(memory, kind)
    if memory.entity not in ("", fields["entity"]):
        changed += ("entity (becomes domain/topic)",)
    if kind == "schema":
        changed += lost_fields(memory, "created", extra=False)
    if kind == "episode":
        changed += lost_fields(memory, "confidence", extra=False)
    if kind == "fact" and memory.created and memory.created.time() != time.min:
        changed += ("created (only its day)",)
    names = ("updated", "source", "supersedes", "superseded_by", "links")
    return ConvertedMemory(fields, (*changed, *lost_fields(memory, *names)))


def _id(kind: str, ref: str) -> str:
    """An id derived from the ref of the memory."""
    record_kind = RECORD_KIND_OF[kind]
    number = int(short_hash(ref, 12), 16)
    return record_kind.prefix + format(number, "x" if record_kind.base == 16 else "d")[:ID_DIGITS]


def _kind(memory: Memory) -> str:
    if memory.type in SCHEMA_KINDS:
        return "schema"
    words = memory.content.split(None, 2)
    plain = len(words) == 3 and " ".join(words) == memory.content and "\n" not in memory.content
    return "fact" if plain and not memory.title else "episode"
