"""Plans of facts and notes that are new to an agent-memory folder: added, imported, or converted.

Facts are added by the program's rules (ADDED, DEDUPE, SUPERSEDED, REJECTED); the keys of a record
stand in the order in which the program writes them.
"""

from __future__ import annotations

import os
import uuid
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memtui.changes import Change, Outcome, Plan, text_edit
from memtui.errors import Refused
from memtui.files.json.locating import BYTE_ORDER_MARK
from memtui.files.reading import safe_join
from memtui.model import Memory
from memtui.stores import importing, plans
from memtui.stores.agent_memory import DAILY, ENTITIES, SUMMARY, TACIT
from memtui.stores.agent_memory.records import (
    ACTIVE,
    HISTORICAL,
    INDENT,
    MANUAL,
    NOTES,
    PLURALS,
    FactFile,
    FactRules,
    broken_rule,
    contradicted,
    edge_link,
    most_similar,
)
from memtui.stores.format import ConvertedMemory
from memtui.stores.values import UNADDRESSABLE, content_of, created_of, to_iso_seconds, word_of

if TYPE_CHECKING:
    from memtui.stores.agent_memory.store import FactContext

# ---- adding --------------------------------------------------------------------------------------

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
        "id": change.new_id or str(uuid.uuid4()),
        "content": content_of(change),
        "source": word_of(change, "source", MANUAL),
        "sourceRef": "",
        "entityType": word_of(change, "type", "") or file.type or stated or UNTYPED_FACT,
        "createdAt": to_iso_seconds(created_of(change, now)),
        "status": ACTIVE,
        "supersedes": None,
    }


def _quoted(memory: Memory) -> str:
    text = memory.content[:_MAX_QUOTED]
    return f'"{text}{"..." if len(memory.content) > _MAX_QUOTED else ""}"'


def _verdict(change: Change, content: str, active: list[Memory], rules: FactRules) -> Plan:
    """The plan of an add that the rules reject; a plan with outcome ADDED when they accept it."""
    if broken := broken_rule(content, rules):
        return Plan((change,), outcome=Outcome.REJECTED, reason=broken)
    repeated = most_similar(content, active, rules)
    if repeated is None:
        return Plan((change,), outcome=Outcome.ADDED)
    fact, score = repeated
    reason = f"New fact is {score:.2f} similar to existing: {_quoted(fact)}"
    return Plan((change,), outcome=Outcome.DEDUPE, reason=reason, refs=(fact.ref,))


def plan_add(change: Change, context: FactContext) -> Plan:
    """Plan the addition of a fact or a note. Raises Refused."""
    if change.fields.get("kind") == "note":
        return _add_note(change, context)
    slug, stated = slug_and_type(word_of(change, "entity", ""))
    file = context.open(slug)
    if slug == NOTES and not file.items.path.parent.exists():
        raise Refused("notes are files, not facts", do="add a note, or edit the one of that day")
    value = new_fact(change, file, stated, context.now)
    no_importance: tuple[str, ...] = ()
    if change.fields.get("importance"):
        no_importance = ("agent-memory has no importance; it is derived from the fact",)
    if importing.is_import(change):
        value |= _imported(change)
        if any(named.id == value["id"] for named in file.records):
            return plans.plan_duplicate(change, "a fact with this id")
        edits = (
            *file.items.insert(value, INDENT),
            *context.fact_entry_edits(slug, value["id"], **_sidecar_values(change)),
        )
        ref, reason = context.ref(value["id"]), f"Added fact {value['id']} to {slug}"
        return Plan((change,), edits, Outcome.ADDED, reason, (ref,), warnings=no_importance)
    content, active = content_of(change), file.active(context.label)
    coming = file.planned_facts(plans.planned_before(context.view), context.label)
    verdict = _verdict(change, content, [*active, *coming], context.store.rules)
    if verdict.outcome is not Outcome.ADDED and not change.force:
        return verdict
    replaced = [fact for fact, _ in contradicted(content, active, context.store.rules)]
    old = [fact for fact in replaced if UNADDRESSABLE not in fact.extra]
    warnings = (
        *([f"forced: {verdict.reason}"] if verdict.reason else []),
        *(
            f"{_quoted(fact)} stays: {fact.extra[UNADDRESSABLE]}"
            for fact in replaced
            if fact not in old
        ),
        *(
            f"{_quoted(fact)}, added along with it, says otherwise"
            for fact, _ in contradicted(content, coming, context.store.rules)
        ),
        *no_importance,
    )
    reason = f"Added fact {value['id']} to {slug}"
    if old:
        value["supersedes"] = old[-1].id
        reason += f", marked {', '.join(fact.id for fact in old)} historical"
    edits = (
        *(
            edit
            for fact in old
            for edit in file.items.put(file.by_id[fact.id], {"status": HISTORICAL})
        ),
        *file.items.insert(value, INDENT),
        *context.fact_entry_edits(
            slug,
            value["id"],
            supersedes=[fact.id for fact in old[:-1]],  # the record holds one id, the last
            tags=importing.texts_in(change, "tags"),
            pinned=change.fields.get("pinned") is True,
        ),
    )
    outcome = Outcome.SUPERSEDED if old else Outcome.ADDED
    superseded = tuple(fact.ref for fact in old)
    refs = (context.ref(value["id"]), *superseded)
    return Plan((change,), edits, outcome, reason, refs, superseded, warnings)


def _note_path(root: Path, id: str) -> Path:
    """The file of the note with this id. Raises Refused for an id that no note can have."""
    if id == TACIT:
        return root.parent / TACIT
    if DAILY.fullmatch(id):
        return root / id
    parts = id.split("/")
    if len(parts) == 3 and (parts[0], parts[2]) == (ENTITIES, SUMMARY):
        return safe_join(root / ENTITIES, parts[1]) / SUMMARY
    raise Refused(
        "agent-memory has no place for a note of this name",
        where=id,
        do="2026-11-21.md is a daily note, entities/NAME/summary.md a summary",
    )


def _add_note(change: Change, context: FactContext) -> Plan:
    """Plan a new daily note, summary or MEMORY.md, as its id says; without an id, today's note."""
    id = word_of(change, "id", f"{context.now:%Y-%m-%d}.md")
    path, extra = _note_path(context.root, id), importing.extra_in(change)
    if os.path.lexists(path):
        return plans.plan_duplicate(change, "this note")
    mark = BYTE_ORDER_MARK if extra.get("byte_order_mark") is True else ""
    end = "\r\n" if extra.get("line_endings") == "crlf" else "\n"
    edit = text_edit(str(path), None, mark + content_of(change).replace("\n", end))
    return Plan((change,), (edit,), Outcome.ADDED, f"Added {id}", (context.ref(id),))


# ---- importing -----------------------------------------------------------------------------------


_WRITTEN_ELSEWHERE = frozenset(
    {"id", "content", "createdAt", "entityType", "sourceRef"}
    | {"status", "supersedes", "byte_order_mark", "line_endings"}
)
"""Keys of `extra` that are stored under another key of the record, or nowhere."""


def _imported(change: Change) -> dict[str, Any]:
    """The keys in which the record of an imported fact differs from that of a new one."""
    extra = importing.extra_in(change)
    reference = str(extra.get("sourceRef") or "")
    source = word_of(change, "source", MANUAL)
    supersedes, status = importing.texts_in(change, "supersedes"), extra.get("status")
    if not isinstance(status, str) or not status:
        is_past = change.fields.get("status") in ("superseded", "retired")
        status = HISTORICAL if is_past else ACTIVE
    values: dict[str, Any] = {
        "id": str(change.fields["id"]),
        "source": source.removesuffix(f" {reference}") if reference else source,
        "sourceRef": reference,
        "status": status,
        "supersedes": supersedes[-1] if supersedes else None,
    }
    if isinstance(extra.get("createdAt"), str):
        values["createdAt"] = extra["createdAt"]
    return values | importing.native_keys(change, _WRITTEN_ELSEWHERE)


def _sidecar_values(change: Change) -> dict[str, Any]:
    """The keys of the sidecar entry: what the record of an imported fact cannot hold."""
    extra = importing.extra_in(change)
    values = importing.sidecar_values(change, links=(edge_link(extra.get("edge")),))
    is_native = "createdAt" in extra  # then the successor's own record names it
    if is_native or change.fields.get("status") != "superseded":
        values["superseded_by"] = ()
    return values | {"supersedes": values["supersedes"][:-1]}


IMPORT_SOURCE = "import"
_KINDS = {*PLURALS, *PLURALS.values()}
DEFAULT_ENTITY = "projects"
"""What an entity of another format is taken for, where its own path does not say."""
_STATUS = {"deleted": "retired", "proposed": "active"}


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a fact: `people/alice` stays, `shop-api/main` is the project shop-api."""
    parts = importing.entity_parts(memory)
    kind, name, rest = DEFAULT_ENTITY, parts[0], parts[1:]
    if len(parts) > 1 and parts[0] in _KINDS:
        kind, name, rest = parts[0], parts[1], parts[2:]
    fields = {
        "id": importing.uuid_of(memory.store, memory.id),
        "content": importing.text_with_title(memory),
        "entity": f"{kind}/{name}",
        "created": memory.created or memory.updated,
        "status": _STATUS.get(memory.status, memory.status),
        "source": IMPORT_SOURCE,
        "tags": tuple(filter(None, dict.fromkeys([memory.type, *rest, *memory.tags]))),
        "pinned": memory.pinned,
        "supersedes": importing.converted_ids(memory, memory.supersedes),
        "superseded_by": importing.converted_ids(memory, memory.superseded_by),
        "links": importing.converted_links(memory),
        "extra": {"sourceRef": memory.ref},
    }
    entity = f"{PLURALS.get(kind, kind)}/{name}"
    changes = (
        importing.kind_change(memory, "fact"),
        (memory.type not in ("", _SINGULARS.get(kind, kind)), "type (becomes a tag)"),
        (memory.entity not in ("", entity), "entity (becomes kind/name, the rest tags)"),
        (memory.status in _STATUS, f"status {memory.status} (becomes {fields['status']})"),
        (memory.superseded_by and memory.status != "superseded", "superseded_by"),
        (True, "importance (follows from age and uses)"),
    )
    return importing.converted(memory, fields, changes)
