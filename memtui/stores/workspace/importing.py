"""Import documents with their paths, and convert memories of other formats.

Where the whole file is known it is written as it was, byte for byte; else the frontmatter is
written anew from what was read of it.
"""

from __future__ import annotations

import os
from typing import Any

from memtui.changes import Change, Plan
from memtui.files.frontmatter import set_field
from memtui.model import CURRENT, Memory
from memtui.stores.document_editing import (
    converted_document,
    imported_file,
    plan_file_import,
    titled_text,
)
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    extra_in,
    links_in,
    lost_fields,
    lost_kind,
    native_keys,
    sidecar_values,
    texts_in,
)
from memtui.stores.plans import plan_duplicate
from memtui.stores.values import content_of, created_of, from_iso, to_iso_seconds
from memtui.stores.workspace.records import FRONTMATTER, DocumentContext

_WRITTEN_ELSEWHERE = frozenset(
    {"headings", "created_from", "injections", "ignored_type", "line_endings", "byte_order_mark"}
    | {"title"}
)
"""Of `extra`: what never stood in the frontmatter, or stands in another field."""


def plan_import(change: Change, context: DocumentContext) -> Plan:
    """Plan the import of one document. Raises Refused."""
    path = str(change.fields["id"])
    file = imported_file(context.root, path)
    if os.path.lexists(file):
        return plan_duplicate(change, "a document of this name")
    document = change.fields.get("document")
    text = document if isinstance(document, str) else _text(change, context)
    return plan_file_import(change, context, file, text, **_sidecar_values(change))


def _text(change: Change, context: DocumentContext) -> str:
    title = "" if "created_from" in extra_in(change) else str(change.fields.get("title") or "")
    text = titled_text(title, content_of(change))
    for key, value in _front(change, context).items():
        text = set_field(text, key, value)
    return text


def _front(change: Change, context: DocumentContext) -> dict[str, Any]:
    """The frontmatter: the original keys, else those made of another format's fields."""
    front = {
        str(key).removeprefix(FRONTMATTER): value
        for key, value in native_keys(change, _WRITTEN_ELSEWHERE).items()
        if _is_frontmatter_value(value)
    }
    fields = change.fields
    if fields.get("created") and not {"created", "date"} & front.keys():
        created = created_of(change, context.now)
        if str(extra_in(change).get("created_from", "file time")) == "file time":
            front["created"] = to_iso_seconds(created)
    updated = fields.get("updated")
    if updated is not None and "updated" not in front and "created_from" in extra_in(change):
        changed = from_iso(updated) if isinstance(updated, str) else updated
        if changed is not None:
            front["updated"] = to_iso_seconds(changed)
    importance = str(fields.get("importance") or "")
    if importance in ("high", "low") and "priority" not in front:
        front["priority"] = importance
    tags = [tag for tag in texts_in(change, "tags") if tag.strip()]
    if tags and "tags" not in front:
        front["tags"] = tags
    return front


def _is_frontmatter_value(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, str | bool | int | float)


def _sidecar_values(change: Change) -> dict[str, Any]:
    """The keys of the sidecar entry: what the document cannot hold."""
    was_document = "created_from" in extra_in(change)
    cleared = dict.fromkeys(("tags", "supersedes", "superseded_by"))
    return sidecar_values(change, links=links_in(change) if was_document else ()) | cleared


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a document; see `converted_document`."""
    folder, id, front = converted_document(memory)
    if memory.type:
        front["type"] = memory.type
    fields = {
        "id": id,
        "content": memory.content or memory.headline,
        "title": memory.title,
        "entity": folder,
        "created": memory.created,
        "importance": memory.importance,
        "tags": memory.tags,
        "extra": front,
    }
    changed: tuple[str, ...] = ("type (stands in the frontmatter)",) if memory.type else ()
    if memory.status != "active":
        changed += (f"status {memory.status} (stands in the frontmatter)",)
    changed += lost_kind(memory, "document")
    if memory.entity not in ("", folder):
        changed += ("entity (becomes a folder)",)
    if memory.status not in CURRENT and memory.importance == "medium":
        changed += ("importance (low below archive)",)
    names = ("confidence", "source", "pinned", "supersedes", "superseded_by", "links")
    return ConvertedMemory(fields, (*changed, *lost_fields(memory, *names)))
