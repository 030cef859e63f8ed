"""Add records: new ones, successors, imported ones, those of other formats.

What a person writes is certain and confirmed: confidence 1, status confirmed, version 1. A new
record is laid out like its neighbour and goes to the end of its file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, time
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    described_memory,
    entity_parts,
    extra_in,
    kind_change,
    links_in,
    lost_names,
    native_keys,
    short_hash,
    sidecar_values,
    text_with_title,
    texts_in,
)
from memtui.stores.plans import plan_duplicate, plan_successor
from memtui.stores.sidecar import kept_value
from memtui.stores.simple_memory.records import (
    CONFIRMED,
    EPISODES,
    FACTS,
    KEPT_STATUS,
    OUTDATED,
    PROPOSED,
    RECORD_KIND_OF,
    SCHEMA,
    SCHEMA_KINDS,
    RecordContext,
    RecordKind,
    RecordTarget,
    importance,
    parse_schema_kind,
    tags_of,
)
from memtui.stores.values import RATING_OF, content_of, created_of, tag_words

ID_DIGITS = 6
"""Of a new id. The white paper's examples have two or three, counted up by their program."""

INDENT = "  "
"""Before a record in a file that memtui makes."""

CERTAIN = 1.0
DEFAULT_KIND = "preference"
"""Of a schema item that is added without one."""


def add(change: Change, context: RecordContext) -> Plan:
    """Plan an ADD. Raises Refused."""
    record_kind = _kind_for(change)
    value = new_record_value(record_kind, change, context)
    id = new_id(record_kind, content_of(change), context)
    record = {"id": id, **value}
    entry = {"rating": rating(record_kind, record, change), "tags": texts_in(change, "tags")}
    return _plan_added(change, context, record_kind, record, entry)


def _plan_added(
    change: Change,
    context: RecordContext,
    record_kind: RecordKind,
    record: Mapping[str, Any],
    entry: Mapping[str, Any],
) -> Plan:
    id = str(record["id"])
    edits = (
        *context.open(record_kind).file.insert(record, INDENT),
        *context.record_entry_edits(id, **entry),
    )
    reason = f"Added {record_kind.noun}, {id}"
    return Plan((change,), edits, Outcome.ADDED, reason, (context.ref(id),))


def supersede(change: Change, memory: Memory, context: RecordContext) -> Plan:
    """Plan a SUPERSEDE: a successor is added, and the old memory is no longer current."""
    old = context.target(memory)
    text = content_of(change)
    id = new_id(old.record_kind, text, context)
    successor = {**_inherited(old), **_new_values(old, text, context), "id": id}
    edits: list[Edit] = [*old.file.insert(successor, INDENT)]
    native = (*tags_of(old.record_kind, old.value), *tags_of(old.record_kind, successor))
    tags = tag_words(change.fields.get("tags", memory.tags))
    entry = {
        "rating": rating(old.record_kind, successor, change),
        "tags": [tag for tag in tags if tag not in native],
    }
    edits += context.record_entry_edits(id, supersedes=[memory.id], **entry)
    if old.record_kind is SCHEMA:
        edits += [
            *old.with_members({"status": OUTDATED}),
            *old.sidecar_entry.set(superseded_by=[id]),
        ]
    else:
        edits += old.sidecar_entry.set(**{KEPT_STATUS: "superseded", "superseded_by": [id]})
    reason = f"Added {old.record_kind.noun}, {id}, in place of {memory.id}"
    return plan_successor(change, memory, context.ref(id), tuple(edits), reason)


def _inherited(old: RecordTarget) -> dict[str, Any]:
    """The keys the successor takes over: all but counts, pin and importance."""
    dropped = {"hits", "pinned", "importance"}
    return {key: item for key, item in old.value.items() if key not in dropped}


def _new_values(old: RecordTarget, text: str, context: RecordContext) -> dict[str, Any]:
    if old.record_kind is SCHEMA:
        return {"text": text, "status": CONFIRMED, "version": 1}
    words = {**_fact_words(text), "time": _today(context.now), "source_ids": []}
    return {**words, "confidence": CERTAIN}


def _kind_for(change: Change) -> RecordKind:
    """The kind of a new record: the stated one, else what type or title imply."""
    kind = change.fields.get("kind")
    if kind in RECORD_KIND_OF:
        return RECORD_KIND_OF[str(kind)]
    if change.fields.get("type") in SCHEMA_KINDS:
        return SCHEMA
    return EPISODES if change.fields.get("title") else FACTS


def new_record_value(
    record_kind: RecordKind,
    change: Change,
    context: RecordContext,
    words: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Build the keys of a new record; `words` are a fact's s, p and o if known."""
    text = content_of(change)
    domain, _, topic = str(change.fields.get("entity") or "").strip("/").partition("/")
    place = {"domain": domain, "topic": topic}
    source = change.fields.get("source")
    created_at = created_of(change, context.now)
    if record_kind is FACTS:
        confidence = change.fields.get("confidence")
        return {
            **(_fact_words(text) if words is None else words),
            "time": _today(created_at),
            "source_ids": [str(source)] if source else [],
            "confidence": CERTAIN if confidence is None else confidence,
            **place,
        }
    if record_kind is EPISODES:
        # Without a zone, as the white paper writes the start of an episode, and read as UTC.
        start = created_at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
        title = str(change.fields.get("title") or text.strip().partition("\n")[0])
        new = {"title": title, "summary": text, "start": start, "end": start}
        return {**new, "participants": [], "facts": [], **place}
    kind = parse_schema_kind(change.fields.get("type") or DEFAULT_KIND)
    proposed = change.fields.get("status") == PROPOSED
    status = PROPOSED if proposed else CONFIRMED
    return {"kind": kind, "text": text, "status": status, "evidence": [], **place, "version": 1}


def _fact_words(text: str) -> dict[str, str]:
    """Split a text into subject, predicate and object, at `|` or else at blanks."""
    words = (
        [word.strip() for word in text.split("|")] if text.count("|") == 2 else text.split(None, 2)
    )
    if len(words) != 3 or not all(any(map(str.isalnum, word)) for word in words):
        raise Refused(
            "a fact needs a subject, a predicate and an object",
            do="for example: Louis | sleeps on average | 6.2 hours; or choose a type for a rule",
        )
    return dict(zip(("s", "p", "o"), words, strict=True))


def rating(record_kind: RecordKind, record: Mapping[str, Any], change: Change) -> int | None:
    requested = change.fields.get("importance")
    if not requested or requested == importance(record_kind, record, None):
        return None
    return RATING_OF.get(str(requested))


def _today(now: datetime) -> str:
    return now.date().isoformat()


def new_id(record_kind: RecordKind, text: str, context: RecordContext) -> str:
    """An id that the store neither has nor names, dangling references included.

    It follows from the text and the time, not from what is there, so that several new memories can
    be planned side by side.
    """
    used = {
        name
        for memory in context.view.memories(context.label)
        for name in (memory.id, *(link.target for link in memory.links))
    }
    used |= {ref.removeprefix(f"{context.label}:") for ref in context.planned_refs}
    seed = f"{text}\0{context.now.isoformat()}".encode("utf-8", "surrogatepass")
    number = int.from_bytes(hashlib.blake2b(seed, digest_size=16).digest(), "big")
    ids = (record_kind.id_of(number, length) for length in range(ID_DIGITS, 33))
    return next(id for id in ids if id not in used)


# ---- importing -----------------------------------------------------------------------------------


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
    if id in context.open(record_kind).by_id:
        return plan_duplicate(change, "a record with this id")
    record = {"id": id, **_record(record_kind, change, context)}
    entry = _sidecar_values(record_kind, record, change)
    return _plan_added(change, context, record_kind, record, entry)


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
    kind = str(change.fields["kind"])
    memory = described_memory(change, context.ref(id), kind, content_of(change))
    edits = context.record_entry_edits(id, kept=kept_value(memory))
    return Plan((change,), edits, Outcome.ADDED, f"Kept {id}", (memory.ref,))


CONVERTED_ID_DIGITS = 10
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
    has_time = memory.created is not None and memory.created.time() != time.min
    changes = (
        (memory.type and kind != "schema", "type (becomes a tag)"),
        (memory.status in _STATUS, f"status {memory.status} (becomes {fields['status']})"),
        kind_change(memory, kind),
        (memory.entity not in ("", fields["entity"]), "entity (becomes domain/topic)"),
        (kind == "schema" and memory.created, "created"),
        (kind == "episode" and memory.confidence, "confidence"),
        (kind == "fact" and has_time, "created (only its day)"),
    )
    names = ("updated", "source", "supersedes", "superseded_by", "links")
    return ConvertedMemory(fields, lost_names(memory, changes, *names))


def _id(kind: str, ref: str) -> str:
    """An id derived from the ref of the memory."""
    return RECORD_KIND_OF[kind].id_of(int(short_hash(ref, 12), 16), CONVERTED_ID_DIGITS)


def _kind(memory: Memory) -> str:
    if memory.type in SCHEMA_KINDS:
        return "schema"
    words = memory.content.split(None, 2)
    plain = len(words) == 3 and " ".join(words) == memory.content and "\n" not in memory.content
    return "fact" if plain and not memory.title else "episode"
