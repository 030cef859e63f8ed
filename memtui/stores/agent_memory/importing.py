"""Import facts and notes that have an id already, and convert those of other formats.

The keys of a record stand in the order in which the program writes them.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan, TextEdit
from memtui.errors import Refused
from memtui.files.reading import safe_join
from memtui.model import Memory
from memtui.stores.agent_memory import layout
from memtui.stores.agent_memory.notes import NoteText, note_to_text
from memtui.stores.agent_memory.records import ACTIVE, HISTORICAL, MANUAL, PLURALS, edge_link
from memtui.stores.change_validation import content_of, created_of, word_of
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    converted_ids,
    converted_links,
    entity_parts,
    extra_in,
    lost_fields,
    lost_kind,
    native_keys,
    sidecar_values,
    text_with_title,
    texts_in,
    uuid_of,
)
from memtui.stores.plans import PlanContext, plan_duplicate
from memtui.stores.values import to_iso_seconds

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
    return values | {
        "supersedes": values["supersedes"][:-1],
        "superseded_by": values["superseded_by"] if _is_succeeded_elsewhere(change) else (),
    }


def _is_succeeded_elsewhere(change: Change) -> bool:
    """Whether no other fact's record will name the successor."""
    return change.fields.get("status") == "superseded" and "createdAt" not in extra_in(change)


def _note_path(root: Path, id: str) -> Path:
    """The file of the note with this id. Raises Refused for an id that no note can have."""
    if id == layout.TACIT:
        return root.parent / layout.TACIT
    if layout.DAILY.fullmatch(id):
        return root / id
    parts = id.split("/")
    if len(parts) == 3 and (parts[0], parts[2]) == (layout.ENTITIES, layout.SUMMARY):
        return safe_join(root / layout.ENTITIES, parts[1]) / layout.SUMMARY
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
    edits: tuple[Edit, ...] = (TextEdit(str(path), None, note_to_text(content_of(change), like)),)
    return Plan((change,), edits, Outcome.ADDED, f"Added {id}", (context.ref(id),))


SOURCE = "import"
_TYPE_OF = {plural: type for type, plural in PLURALS.items()}
_KINDS = {**dict.fromkeys(PLURALS), **dict.fromkeys(PLURALS.values())}
ENTITY = "projects"
"""What an entity of another format is taken for, where its own path does not say."""
_STATUS = {"deleted": "retired", "proposed": "active"}


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a fact: `people/alice` stays, `shop-api/main` is the project shop-api."""
    parts = entity_parts(memory)
    kind, name, rest = ENTITY, parts[0], parts[1:]
    if len(parts) > 1 and parts[0] in _KINDS:
        kind, name, rest = parts[0], parts[1], parts[2:]
    tags = dict.fromkeys([memory.type, *rest, *memory.tags])
    fields = {
        "id": uuid_of(memory.store, memory.id),
        "content": text_with_title(memory),
        "entity": f"{kind}/{name}",
        "created": memory.created or memory.updated,
        "status": _STATUS.get(memory.status, memory.status),
        "source": SOURCE,
        "tags": tuple(tag for tag in tags if tag),
        "pinned": memory.pinned,
        "supersedes": converted_ids(memory, memory.supersedes),
        "superseded_by": converted_ids(memory, memory.superseded_by),
        "links": converted_links(memory),
        "extra": {"sourceRef": memory.ref},
    }
    changed = lost_kind(memory, "fact")
    if memory.type not in ("", _TYPE_OF.get(kind, kind)):
        changed += ("type (becomes a tag)",)
    if memory.entity not in ("", f"{PLURALS.get(kind, kind)}/{name}"):
        changed += ("entity (becomes kind/name, the rest tags)",)
    if memory.status in _STATUS:
        changed += (f"status {memory.status} (becomes {_STATUS[memory.status]})",)
    changed += ("importance (follows from age and uses)",)
    return ConvertedMemory(
        fields, (*changed, *lost_fields(memory, "updated", "confidence", "source"))
    )
