"""A memory of one format on its way into another: what every format does alike."""

from __future__ import annotations

import hashlib
import re
import unicodedata
import uuid
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from memtui.model import Link, Memory

_NAMESPACE = uuid.UUID("6d656d74-7569-5000-8000-000000000000")
"""For ids of memories whose own id is no uuid: the same memory gets the same id each time."""
_NO_NAME = re.compile(r"[^\w]+")
_TOLD_WORDS = """
    createdAt created_at created date timestamp time start started_at updated updated_at
    modified last_updated last_modified status state priority source_ids sourceRef session_id
    tool_name project scope topic_key s p o edge branches archived projectKey remote sync_id id
    deleted_at expires expired differs headings created_from injections ignored_type kept
    normalized_hash line_endings byte_order_mark unaddressable frontmatter.title tags
"""
_TOLD = frozenset(_TOLD_WORDS.split())
"""Keys of `extra` that say again, raw, what a field says, or that an adapter works out anew."""
LONGEST_SLUG = 60
"""Characters of a name that is made from a text."""


def uuid_of(store: str, id: str) -> str:
    """The id itself where it is a uuid, else one that follows from store and id."""
    try:
        return str(uuid.UUID(id))
    except ValueError:
        return str(uuid.uuid5(_NAMESPACE, _clean(f"{store}:{id}")))


def mark_of(ref: str, digits: int) -> str:
    """Hex digits that follow from a ref."""
    return hashlib.sha256(_clean(ref).encode()).hexdigest()[:digits]


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def ids_of(memory: Memory, ids: Iterable[str]) -> tuple[str, ...]:
    """Ids of other memories of the same store, as they are called once adopted."""
    return tuple(uuid_of(memory.store, id) for id in ids)


def links_of(memory: Memory) -> tuple[Link, ...]:
    return tuple(replace(link, target=uuid_of(memory.store, link.target)) for link in memory.links)


def slug(text: str) -> str:
    """A name of letters, digits and hyphens; empty when nothing is left."""
    plain = unicodedata.normalize("NFC", text.partition("\n")[0]).lower()
    plain = "".join(letter for letter in plain if letter.isprintable())
    return _NO_NAME.sub("-", plain)[:LONGEST_SLUG].strip("-_")


def parts_of(memory: Memory) -> list[str]:
    """The entity's parts as plain names; the store's label where there is none."""
    parts = [slug(part) for part in memory.entity.split("/")]
    return [part for part in parts if part] or [slug(memory.store) or "imported"]


def told(memory: Memory) -> str:
    """Title and content as one text, for a format without titles."""
    if not memory.title or memory.title.strip() in memory.content:
        return memory.content or memory.title
    glue = "\n\n" if "\n" in memory.content.strip() else ": "
    return f"{memory.title}{glue}{memory.content}" if memory.content.strip() else memory.title


def lost(memory: Memory, *names: str, extra: bool = True) -> tuple[str, ...]:
    """Those of these fields that say something, and the keys that only its own format knows."""
    found = [name for name in names if _says(memory, name)]
    keys = [f"extra.{key}" for key in memory.extra if key not in _TOLD] if extra else []
    return (*found, *keys)


def _says(memory: Memory, name: str) -> bool:
    value: Any = getattr(memory, name)
    if name == "updated":
        return value is not None and value != memory.created
    if name == "importance":
        return bool(value != "medium")
    if name == "status":
        return bool(value != "active")
    return value not in (None, "", (), False)
