"""Facts and notes that come from elsewhere with an id: an import, or a move between stores.

They keep their id, times, status and lineage, and no rule of adding is asked: an import must never
supersede what is there. What `extra` held of a fact of this format becomes its keys again, in the
order in which the program writes them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan, TextEdit
from memtui.errors import Refused
from memtui.files.reading import safe_join
from memtui.model import Link
from memtui.stores.agent_memory import layout
from memtui.stores.agent_memory.facts import ACTIVE, HISTORICAL, MANUAL, edge_link
from memtui.stores.agent_memory.notes import Prose, to_text
from memtui.stores.asked import content_of, created_of, word_of
from memtui.stores.sidecar import link_value
from memtui.stores.timestamps import to_iso_seconds

_NOT_KEYS = frozenset(
    {"id", "content", "createdAt", "entityType", "kept", "rating", "reviewed", "sourceRef"}
    | {"status", "supersedes", "unaddressable", "byte_order_mark", "line_endings"}
)
"""Of `extra`: what stands in another key of the record, or was never in one."""


def extra_of(change: Change) -> Mapping[str, Any]:
    extra = change.fields.get("extra")
    return extra if isinstance(extra, Mapping) else {}


def is_carried(change: Change) -> bool:
    return bool(change.fields.get("id"))


def _status(change: Change) -> str:
    native = extra_of(change).get("status")
    if isinstance(native, str) and native:
        return native
    return HISTORICAL if change.fields.get("status") in ("superseded", "retired") else ACTIVE


def _source(change: Change) -> tuple[str, str]:
    """`source` and `sourceRef`, which a memory shows as one text."""
    reference = str(extra_of(change).get("sourceRef") or "")
    source = word_of(change, "source", MANUAL)
    return source.removesuffix(f" {reference}") if reference else source, reference


def carried_fact(change: Change, entity_type: str, now: datetime) -> dict[str, Any]:
    """The fact's record."""
    extra = extra_of(change)
    source, reference = _source(change)
    written = extra.get("createdAt")
    created = to_iso_seconds(created_of(change, now))
    supersedes = [str(id) for id in change.fields.get("supersedes") or ()]
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
    return record | {key: value for key, value in extra.items() if key not in _NOT_KEYS}


def beside_fact(change: Change) -> dict[str, Any]:
    """What the sidecar keeps of the fact: all that its record cannot hold."""
    extra = extra_of(change)
    edge = edge_link(extra.get("edge"))
    links = [link for link in change.fields.get("links") or () if isinstance(link, Link)]
    supersedes = [str(id) for id in change.fields.get("supersedes") or ()]
    return {
        "tags": [str(tag) for tag in change.fields.get("tags") or ()],
        "pinned": change.fields.get("pinned") is True,
        "rating": extra.get("rating"),
        "reviewed": extra.get("reviewed"),
        "links": [link_value(link) for link in links if link != edge],
        "supersedes": supersedes[:-1],
        "superseded_by": _successors(change),
    }


def _successors(change: Change) -> list[str]:
    """Who took its place, where no other fact's record will say so: it comes from elsewhere."""
    if change.fields.get("status") != "superseded" or "createdAt" in extra_of(change):
        return []
    return [str(id) for id in change.fields.get("superseded_by") or ()]


def _note_path(root: Path, id: str) -> Path:
    """Where the note with this id lies. Raises Refused for an id that is no note's."""
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


def plan_add_note(change: Change, root: Path, label: str, now: datetime) -> Plan:
    """A new daily note, summary or MEMORY.md; its id says which. Without one: today's note."""
    id = word_of(change, "id", f"{now:%Y-%m-%d}.md")
    path = _note_path(root, id)
    if os.path.lexists(path):
        return Plan((change,), outcome=Outcome.DEDUPE, reason="this note is there already")
    extra = extra_of(change)
    like = Prose(
        path,
        "",
        marked=extra.get("byte_order_mark") is True,
        crlf=extra.get("line_endings") == "crlf",
    )
    edits: tuple[Edit, ...] = (TextEdit(str(path), None, to_text(content_of(change), like)),)
    return Plan((change,), edits, Outcome.ADDED, f"Added {id}", refs=(f"{label}:{id}",))
