"""Plans of records that are new to a Simple Memory: added, in another's place, or imported.

What a person writes is certain and confirmed: confidence 1, status confirmed, version 1. A new
record is laid out like its neighbour and goes to the end of its file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, time
from typing import TYPE_CHECKING, Any

from memtui.changes import Change, Outcome, Plan
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores import importing, plans
from memtui.stores.format import ConvertedMemory
from memtui.stores.sidecar import kept_value
from memtui.stores.simple_memory.records import (
    CONFIRMED,
    EPISODES,
    FACTS,
    KEPT_STATUS,
    LISTS,
    OUTDATED,
    PROPOSED,
    RECORD_KIND_OF,
    SCHEMA,
    SCHEMA_KINDS,
    RecordKind,
    importance_of,
    parse_schema_kind,
    tags_of,
)
from memtui.stores.values import RATING_OF, content_of, created_of

if TYPE_CHECKING:
    from memtui.stores.simple_memory.store import RecordContext

# ---- adding --------------------------------------------------------------------------------------

ID_DIGITS = 6
"""Digits of a new id. The white paper's examples have two or three, counted up by their program."""
INDENT = "  "
"""Before a record in a file that memtui makes."""
CERTAIN = 1.0
DEFAULT_KIND = "preference"
"""Kind of a schema item that is added without one."""


def plan_add(change: Change, context: RecordContext) -> Plan:
    """Plan an ADD. Raises Refused."""
    named = change.fields.get("kind")
    if named in RECORD_KIND_OF:
        kind = RECORD_KIND_OF[str(named)]
    elif change.fields.get("type") in SCHEMA_KINDS:
        kind = SCHEMA
    else:
        kind = EPISODES if change.fields.get("title") else FACTS
    value = _new_value(kind, change, context)
    record = {"id": _new_id(kind, change, context), **value}
    record |= _links(change, record)
    entry = {"rating": rating_of(kind, record, change), "tags": importing.texts_in(change, "tags")}
    return _plan_added(change, context, kind, record, entry)


def _plan_added(
    change: Change,
    context: RecordContext,
    kind: RecordKind,
    record: Mapping[str, Any],
    entry: Mapping[str, Any],
) -> Plan:
    id = str(record["id"])
    insertion = context.open(kind).file.insert(record, INDENT)
    edits = (*insertion, *context.record_entry_edits(id, **entry))
    return Plan((change,), edits, Outcome.ADDED, f"Added {kind.noun}, {id}", (context.ref(id),))


def successor_value(
    kind: RecordKind, old: Mapping[str, Any], text: str, change: Change, context: RecordContext
) -> dict[str, Any]:
    """The record that takes another's place with this text. Raises Refused."""
    dropped = {"hits", "pinned", "importance"}
    value = {key: item for key, item in old.items() if key not in dropped}
    if kind is SCHEMA:
        value |= {"text": text, "status": CONFIRMED, "version": 1}
    else:
        today = context.now.date().isoformat()
        value |= {**_fact_words(text), "time": today, "source_ids": [], "confidence": CERTAIN}
    return {**value, "id": _new_id(kind, change, context)}


def _new_value(
    kind: RecordKind,
    change: Change,
    context: RecordContext,
    words: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Build the keys of a new record; `words` are a fact's s, p and o if known."""
    text, fields = content_of(change), change.fields
    domain, _, topic = str(fields.get("entity") or "").strip("/").partition("/")
    place = {"domain": domain, "topic": topic}
    created_at = created_of(change, context.now)
    if kind is FACTS:
        source, confidence = fields.get("source"), fields.get("confidence")
        return {
            **(_fact_words(text) if words is None else words),
            "time": created_at.date().isoformat(),
            "source_ids": [str(source)] if source else [],
            "confidence": CERTAIN if confidence is None else confidence,
            **place,
        }
    if kind is EPISODES:
        # The local time without a zone, as the white paper writes the start of an episode.
        local = created_at.astimezone().replace(tzinfo=None)
        is_day = created_at.astimezone(UTC).time() == time.min
        start = created_at.date().isoformat() if is_day else local.isoformat(timespec="seconds")
        title = str(fields.get("title") or text.strip().partition("\n")[0])
        new = {"title": title, "summary": text, "start": start, "end": start}
        return {**new, "participants": [], "facts": [], **place}
    word = parse_schema_kind(fields.get("type") or DEFAULT_KIND)
    status = PROPOSED if fields.get("status") == PROPOSED else CONFIRMED
    return {"kind": word, "text": text, "status": status, "evidence": [], **place, "version": 1}


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


def rating_of(kind: RecordKind, record: Mapping[str, Any], change: Change) -> int | None:
    requested = change.fields.get("importance")
    if not requested or requested == importance_of(kind, record, None):
        return None
    return RATING_OF.get(str(requested))


def _new_id(kind: RecordKind, change: Change, context: RecordContext) -> str:
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
    if change.new_id and change.new_id not in used:
        return change.new_id
    seed = f"{content_of(change)}\0{context.now.isoformat()}".encode("utf-8", "surrogatepass")
    number = int.from_bytes(hashlib.blake2b(seed, digest_size=16).digest(), "big")
    ids = (kind.id_of(number, length) for length in range(ID_DIGITS, 33))
    return next(id for id in ids if id not in used)


# ---- importing -----------------------------------------------------------------------------------

_GONE = ("superseded", "retired", "deleted")


def plan_import(change: Change, context: RecordContext) -> Plan:
    """Plan the import of one record; of a former text only into the sidecar. Raises Refused."""
    fields, extra = change.fields, importing.extra_in(change)
    id, named, status = str(fields["id"]), str(fields.get("kind") or ""), fields.get("status")
    if named not in RECORD_KIND_OF:
        raise Refused(f"Simple Memory holds no {named or 'such'} memory", where=id)
    kind = RECORD_KIND_OF[named]
    is_kept = bool(extra.get("kept"))
    if context.sidecar.entry(id) if is_kept else id in context.open(kind).by_id:
        return plans.plan_duplicate(change, "a record with this id")
    if is_kept:
        memory = importing.described_memory(change, context.ref(id), named, content_of(change))
        edits = context.record_entry_edits(id, kept=kept_value(memory))
        return Plan((change,), edits, Outcome.ADDED, f"Kept {id}", (memory.ref,))
    native = kind is FACTS and {"s", "p", "o"} <= extra.keys()
    words = {key: extra[key] for key in ("s", "p", "o")} if native else None
    record = {"id": id, **_new_value(kind, change, context, words)}
    if kind is EPISODES and fields.get("source") and "start" not in extra:
        record["source_ids"] = [str(fields["source"])]
    record |= _links(change, record)
    if fields.get("pinned"):
        record["pinned"] = True
    if kind is SCHEMA and status in _GONE:
        record["status"] = OUTDATED
    record |= importing.native_keys(change, ("id",))
    entry = importing.sidecar_values(change, tags=tags_of(kind, record))
    former_status = "retired" if status == "deleted" else status
    entry |= {
        "pinned": None,
        "links": None,
        "rating": entry["rating"] or rating_of(kind, record, change),
        KEPT_STATUS: former_status if kind is not SCHEMA and status in _GONE else None,
    }
    return _plan_added(change, context, kind, record, entry)


def _links(change: Change, value: Mapping[str, Any]) -> dict[str, Any]:
    """The lists of links that are not empty or that this kind of record always has."""
    links = importing.links_in(change)
    lists: dict[str, Any] = {
        key: [link.target for link in links if link.relation == relation]
        for relation, key in LISTS.items()
    }
    lists["links"] = [
        {"rel": link.relation, "to": link.target} for link in links if link.relation not in LISTS
    ]
    return {key: found for key, found in lists.items() if found or key in value}


CONVERTED_ID_DIGITS = 10
"""Digits of the id: two memories of a million collide with a chance of one in two thousand or less
for decimal ids; the second is then listed as a conflict, never written over the first."""
_STATUS = {"deleted": "retired", "proposed": "active"}


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory: a rule to a schema item, one short sentence to a fact, others to an
    episode."""
    words = memory.content.split(None, 2)
    plain = len(words) == 3 and " ".join(words) == memory.content and "\n" not in memory.content
    kind = "fact" if plain and not memory.title else "episode"
    if memory.type in SCHEMA_KINDS:
        kind = "schema"
    domain, *topic = importing.entity_parts(memory)
    content = memory.content or memory.headline
    number = int(importing.short_hash(memory.ref, 12), 16)
    fields = {
        "id": RECORD_KIND_OF[kind].id_of(number, CONVERTED_ID_DIGITS),
        "kind": kind,
        "content": importing.text_with_title(memory) if kind == "schema" else content,
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
        importing.kind_change(memory, kind),
        (memory.entity not in ("", fields["entity"]), "entity (becomes domain/topic)"),
        (kind == "schema" and memory.created, "created"),
        (kind != "fact" and memory.confidence, "confidence"),
        (kind == "fact" and has_time, "created (only its day)"),
    )
    return importing.converted(memory, fields, changes)
