"""Add facts and notes: by the program's rules (ADDED, DEDUPE, SUPERSEDED, REJECTED), or imported.

The keys of a record stand in the order in which the program writes them.
"""

from __future__ import annotations

import os
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan, text_edit
from memtui.errors import Refused
from memtui.files.reading import safe_join
from memtui.model import Memory
from memtui.stores import agent_memory
from memtui.stores.agent_memory.notes import NOTES, NoteText, note_to_text
from memtui.stores.agent_memory.records import (
    ACTIVE,
    HISTORICAL,
    INDENT,
    MANUAL,
    PLURALS,
    FactContext,
    FactFile,
    edge_link,
)
from memtui.stores.agent_memory.rules import FactRules, broken_rule, contradicted, most_similar
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    converted_ids,
    converted_links,
    entity_parts,
    extra_in,
    is_import,
    kind_change,
    lost_names,
    native_keys,
    sidecar_values,
    text_with_title,
    texts_in,
    uuid_of,
)
from memtui.stores.plans import PlanContext, plan_duplicate, planned_before
from memtui.stores.values import UNADDRESSABLE, content_of, created_of, to_iso_seconds, word_of

_SINGULARS = {plural: singular for singular, plural in PLURALS.items()}
UNTYPED_FACT = "person"
"""Type of a fact about a new entity of which nobody said a type: the commonest one."""
_MAX_QUOTED = 50
"""Characters of another fact that a reason quotes."""


def slug_and_type(entity: str) -> tuple[str, str]:
    """Split `people/alice` into (alice, person), and `alice` into (alice, ''). Raises Refused."""
    parts = entity.strip().strip("/").split("/")
    if len(parts) > 2 or not all(parts):
        raise Refused(
            "an entity of agent-memory is a type and a name", do="for example: people/alice"
        )
    slug = parts[-1].strip()
    if not slug.isprintable():
        raise Refused("the entity's name holds a control character")
    return slug, _SINGULARS.get(parts[0], parts[0]) if len(parts) == 2 else ""


def new_fact(change: Change, file: FactFile, stated: str, now: datetime) -> dict[str, Any]:
    """Build the record of a new fact, keys in the program's order (add-fact.sh:43-52)."""
    return {
        "id": str(uuid.uuid4()),
        "content": content_of(change),
        "source": word_of(change, "source", MANUAL),
        "sourceRef": "",
        "entityType": _type(change, file, stated),
        "createdAt": to_iso_seconds(created_of(change, now)),
        "status": ACTIVE,
        "supersedes": None,
    }


def _type(change: Change, file: FactFile, stated: str) -> str:
    return word_of(change, "type", "") or file.type or stated or UNTYPED_FACT


def _plan_import(change: Change, context: FactContext, file: FactFile, stated: str) -> Plan:
    value = imported_fact(change, _type(change, file, stated), context.now)
    id = value["id"]
    if any(named.id == id for named in file.records):
        return plan_duplicate(change, "a fact with this id")
    edits = (
        *file.items.insert(value, INDENT),
        *context.fact_entry_edits(file.slug, id, **fact_sidecar_values(change)),
    )
    reason, warnings = _reason(id, file.slug, []), _no_importance(change)
    return Plan((change,), edits, Outcome.ADDED, reason, (context.ref(id),), warnings=warnings)


def _no_importance(change: Change) -> tuple[str, ...]:
    if change.fields.get("importance"):
        return ("agent-memory has no importance; it is derived from the fact",)
    return ()


def mark_historical(file: FactFile, id: str) -> tuple[Edit, ...]:
    return file.items.put(file.record(id), {"status": HISTORICAL})


def _quoted(memory: Memory) -> str:
    text = memory.content[:_MAX_QUOTED]
    return f'"{text}{"..." if len(memory.content) > _MAX_QUOTED else ""}"'


def _refused_by_rule(change: Change, content: str, active: list[Memory], rules: FactRules) -> Plan:
    """The plan of an add that the rules reject; a plan with outcome ADDED when they accept it."""
    broken = broken_rule(content, rules)
    if broken:
        return Plan((change,), outcome=Outcome.REJECTED, reason=broken)
    repeated = most_similar(content, active, rules)
    if repeated is not None:
        fact, score = repeated
        reason = f"New fact is {score:.2f} similar to existing: {_quoted(fact)}"
        return Plan((change,), outcome=Outcome.DEDUPE, reason=reason, refs=(fact.ref,))
    return Plan((change,), outcome=Outcome.ADDED)


def plan_add(change: Change, context: FactContext) -> Plan:
    """Plan the addition of a fact or a note. Raises Refused."""
    if change.fields.get("kind") == "note":
        return plan_add_note(change, context)
    slug, stated = slug_and_type(word_of(change, "entity", ""))
    file = context.open(slug)
    if slug == NOTES and not file.items.path.parent.exists():
        raise Refused("notes are files, not facts", do="add a note, or edit the one of that day")
    if is_import(change):
        return _plan_import(change, context, file, stated)
    content = content_of(change)
    active = file.active
    coming = file.planned_facts(planned_before(context.view), context.label)
    verdict = _refused_by_rule(change, content, [*active, *coming], context.rules)
    if verdict.outcome is not Outcome.ADDED and not change.force:
        return verdict
    value = new_fact(change, file, stated, context.now)
    replaced = contradicted(content, active, context.rules)
    blocked = [fact for fact, _ in replaced if UNADDRESSABLE in fact.extra]
    old = [fact for fact, _ in replaced if fact not in blocked]
    warnings = [f"forced: {verdict.reason}"] if verdict.reason else []
    warnings += [f"{_quoted(fact)} stays: {fact.extra[UNADDRESSABLE]}" for fact in blocked]
    warnings += [
        f"{_quoted(fact)}, added along with it, says otherwise"
        for fact, _ in contradicted(content, coming, context.rules)
    ]
    warnings += _no_importance(change)
    if old:
        value["supersedes"] = old[-1].id
    ref = context.ref(value["id"])
    return Plan(
        changes=(change,),
        edits=_edits(change, context, file, value, old),
        outcome=Outcome.SUPERSEDED if old else Outcome.ADDED,
        reason=_reason(value["id"], slug, old),
        refs=(ref, *(fact.ref for fact in old)),
        supersedes=tuple(fact.ref for fact in old),
        warnings=tuple(warnings),
    )


def _reason(id: str, slug: str, old: list[Memory]) -> str:
    added = f"Added fact {id} to {slug}"
    return f"{added}, marked {', '.join(fact.id for fact in old)} historical" if old else added


def _edits(
    change: Change, context: FactContext, file: FactFile, value: dict[str, Any], old: list[Memory]
) -> tuple[Edit, ...]:
    """The edits of an add: old facts first, then the new one, then its sidecar entry.

    `supersedes` holds one id, the last; the others are kept in the sidecar.
    """
    edits = [edit for fact in old for edit in mark_historical(file, fact.id)]
    edits += file.items.insert(value, INDENT)
    earlier = [fact.id for fact in old[:-1]]
    edits += context.fact_entry_edits(
        file.slug,
        value["id"],
        supersedes=earlier,
        tags=texts_in(change, "tags"),
        pinned=change.fields.get("pinned") is True,
    )
    return tuple(edits)


# ---- importing -----------------------------------------------------------------------------------


_WRITTEN_ELSEWHERE = frozenset(
    {"id", "content", "createdAt", "entityType", "sourceRef"}
    | {"status", "supersedes", "byte_order_mark", "line_endings"}
)
"""Of `extra`: what stands in another key of the record, or was never in one."""


def _status(change: Change) -> str:
    native = extra_in(change).get("status")
    if isinstance(native, str) and native:
        return native
    return HISTORICAL if change.fields.get("status") in ("superseded", "retired") else ACTIVE


def _source(change: Change) -> tuple[str, str]:
    """Split the source that a memory shows into `source` and `sourceRef`."""
    reference = str(extra_in(change).get("sourceRef") or "")
    source = word_of(change, "source", MANUAL)
    return source.removesuffix(f" {reference}") if reference else source, reference


def imported_fact(change: Change, entity_type: str, now: datetime) -> dict[str, Any]:
    """Build the record of an imported fact."""
    extra = extra_in(change)
    source, reference = _source(change)
    written = extra.get("createdAt")
    created = to_iso_seconds(created_of(change, now))
    supersedes = texts_in(change, "supersedes")
    record: dict[str, Any] = {
        "id": str(change.fields["id"]),
        "content": content_of(change),
        "source": source,
        "sourceRef": reference,
        "entityType": entity_type,
        "createdAt": written if isinstance(written, str) else created,
        "status": _status(change),
        "supersedes": supersedes[-1] if supersedes else None,
    }
    return record | native_keys(change, _WRITTEN_ELSEWHERE)


def fact_sidecar_values(change: Change) -> dict[str, Any]:
    """The keys of the sidecar entry: what the record of the fact cannot hold."""
    values = sidecar_values(change, links=(edge_link(extra_in(change).get("edge")),))
    is_native = "createdAt" in extra_in(change)  # then the successor's own record names it
    if is_native or change.fields.get("status") != "superseded":
        values["superseded_by"] = ()
    return values | {"supersedes": values["supersedes"][:-1]}


def _note_path(root: Path, id: str) -> Path:
    """The file of the note with this id. Raises Refused for an id that no note can have."""
    if id == agent_memory.TACIT:
        return root.parent / agent_memory.TACIT
    if agent_memory.DAILY.fullmatch(id):
        return root / id
    parts = id.split("/")
    if len(parts) == 3 and (parts[0], parts[2]) == (agent_memory.ENTITIES, agent_memory.SUMMARY):
        return safe_join(root / agent_memory.ENTITIES, parts[1]) / agent_memory.SUMMARY
    raise Refused(
        "agent-memory has no place for a note of this name",
        where=id,
        do="2026-11-21.md is a daily note, entities/NAME/summary.md a summary",
    )


def plan_add_note(change: Change, context: PlanContext) -> Plan:
    """Plan a new daily note, summary or MEMORY.md, as its id says; without an id, today's note."""
    id = word_of(change, "id", f"{context.now:%Y-%m-%d}.md")
    path = _note_path(context.root, id)
    if os.path.lexists(path):
        return plan_duplicate(change, "this note")
    extra = extra_in(change)
    like = NoteText(
        path,
        "",
        has_bom=extra.get("byte_order_mark") is True,
        crlf=extra.get("line_endings") == "crlf",
    )
    edits: tuple[Edit, ...] = (text_edit(str(path), None, note_to_text(content_of(change), like)),)
    return Plan((change,), edits, Outcome.ADDED, f"Added {id}", (context.ref(id),))


IMPORT_SOURCE = "import"
_KINDS = {**dict.fromkeys(PLURALS), **dict.fromkeys(PLURALS.values())}
DEFAULT_ENTITY = "projects"
"""What an entity of another format is taken for, where its own path does not say."""
_STATUS = {"deleted": "retired", "proposed": "active"}


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a fact: `people/alice` stays, `shop-api/main` is the project shop-api."""
    parts = entity_parts(memory)
    kind, name, rest = DEFAULT_ENTITY, parts[0], parts[1:]
    if len(parts) > 1 and parts[0] in _KINDS:
        kind, name, rest = parts[0], parts[1], parts[2:]
    tags = dict.fromkeys([memory.type, *rest, *memory.tags])
    fields = {
        "id": uuid_of(memory.store, memory.id),
        "content": text_with_title(memory),
        "entity": f"{kind}/{name}",
        "created": memory.created or memory.updated,
        "status": _STATUS.get(memory.status, memory.status),
        "source": IMPORT_SOURCE,
        "tags": tuple(tag for tag in tags if tag),
        "pinned": memory.pinned,
        "supersedes": converted_ids(memory, memory.supersedes),
        "superseded_by": converted_ids(memory, memory.superseded_by),
        "links": converted_links(memory),
        "extra": {"sourceRef": memory.ref},
    }
    entity = f"{PLURALS.get(kind, kind)}/{name}"
    changes = (
        kind_change(memory, "fact"),
        (memory.type not in ("", _SINGULARS.get(kind, kind)), "type (becomes a tag)"),
        (memory.entity not in ("", entity), "entity (becomes kind/name, the rest tags)"),
        (memory.status in _STATUS, f"status {memory.status} (becomes {fields['status']})"),
        (True, "importance (follows from age and uses)"),
    )
    return ConvertedMemory(fields, lost_names(memory, changes, "updated", "confidence", "source"))
