"""Import documents with their paths, and convert memories of other formats.

Where the whole file is known it is written as it was, byte for byte; else the frontmatter is
written anew from what was read of it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan, TextEdit
from memtui.errors import Refused
from memtui.files.frontmatter import set_field
from memtui.files.reading import real_path, safe_join
from memtui.model import CURRENT, Memory
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
    slug,
    texts_in,
)
from memtui.stores.markdown_documents import SKIPPED, SUFFIX, outline
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
    file = _file(context.root, path)
    if os.path.lexists(file):
        return plan_duplicate(change, "a document of this name")
    document = change.fields.get("document")
    text = document if isinstance(document, str) else _text(change, context)
    creation = TextEdit(str(file), None, text)
    edits: tuple[Edit, ...] = (
        creation,
        *context.entry_edits(path, path, **_sidecar_values(change)),
    )
    return Plan((change,), edits, Outcome.ADDED, f"Added {path}", (context.ref(path),))


def _file(root: Path, path: str) -> Path:
    """The path of the document. Raises Refused if it leads elsewhere."""
    file = root
    for name in path.split("/"):
        if name in SKIPPED:
            raise Refused("documents in hidden folders are not memory", where=path)
        file = safe_join(file, name)
    if not path.endswith(SUFFIX) or not real_path(file).is_relative_to(real_path(root)):
        raise Refused("documents cannot be added here", where=path)
    return file


def _text(change: Change, context: DocumentContext) -> str:
    body = content_of(change)
    title = str(change.fields.get("title") or "")
    parsed = outline(body)
    if title and "created_from" not in extra_in(change) and parsed.title != title:
        body = f"# {title}\n\n{body}"
    text = body if body.endswith("\n") else body + "\n"
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


ARCHIVE = "archive"
"""Folder of what is no longer current: a document has no status of its own."""


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to a document; its file name ends in a hash of the original ref."""
    folder = "/".join(entity_parts(memory))
    current = memory.status in CURRENT
    if not current:
        folder = f"{ARCHIVE}/{folder}"
    name = slug(memory.headline) or "memory"
    front: dict[str, Any] = {"source": memory.ref}
    if memory.type:
        front["type"] = memory.type
    if memory.status != "active":
        front["status"] = memory.status
    if memory.updated and memory.updated != memory.created:
        front["updated"] = to_iso_seconds(memory.updated)
    fields = {
        "id": f"{folder}/{name}-{short_hash(memory.ref, 6)}.md",
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
    if not current and memory.importance == "medium":
        changed += ("importance (low below archive)",)
    names = ("confidence", "source", "pinned", "supersedes", "superseded_by", "links")
    return ConvertedMemory(fields, (*changed, *lost_fields(memory, *names)))
