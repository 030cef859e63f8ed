"""A memory of another format as a document: its entity is the folder, the rest frontmatter."""

from __future__ import annotations

from typing import Any

from memtui.model import CURRENT, Memory
from memtui.stores.adopting import lost, mark_of, parts_of, slug
from memtui.stores.base import Adopted
from memtui.stores.timestamps import to_iso_seconds

ARCHIVE = "archive"
"""Folder of what is no longer current: a document has no status of its own."""


def adopt(memory: Memory) -> Adopted:
    """The fields of the document; its name ends in a mark of where it came from."""
    folder = "/".join(parts_of(memory))
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
        "id": f"{folder}/{name}-{mark_of(memory.ref, 6)}.md",
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
    names = ("confidence", "source", "pinned", "supersedes", "superseded_by", "links")
    return Adopted(fields, (*changed, *lost(memory, *names)))
