"""Memories that come from elsewhere with an id: an import, or a move between stores.

They keep their id, times, status and lineage, and no rule of adding is asked: an import must never
supersede what is there. What `extra` held of a memory of the same format becomes its keys again,
and what the files of a format cannot say goes into the sidecar.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from memtui.changes import Change
from memtui.model import Link
from memtui.stores.sidecar import link_value

NEVER_KEYS = frozenset({"kept", "rating", "reviewed", "unaddressable"})
"""Of `extra`: what memtui says there, of whatever format."""


def is_carried(change: Change) -> bool:
    """Whether an ADD brings a memory that exists elsewhere."""
    return bool(change.fields.get("id"))


def extra_of(change: Change) -> Mapping[str, Any]:
    """What no field of the memory held."""
    extra = change.fields.get("extra")
    return extra if isinstance(extra, Mapping) else {}


def native_keys(change: Change, told: Collection[str]) -> dict[str, Any]:
    """The keys of `extra` that a record gets back: all but those that are `told` otherwise."""
    items = extra_of(change).items()
    return {key: value for key, value in items if key not in told and key not in NEVER_KEYS}


def links_in(change: Change) -> list[Link]:
    return [link for link in change.fields.get("links") or () if isinstance(link, Link)]


def texts_in(change: Change, name: str) -> list[str]:
    """The ids or words of a field that is a list."""
    return [str(item) for item in change.fields.get(name) or ()]


def kept_beside(
    change: Change, tags: Collection[str] = (), links: Collection[Link | None] = ()
) -> dict[str, Any]:
    """What a sidecar entry can say of the memory, but for the tags and links it has natively."""
    extra = extra_of(change)
    return {
        "tags": [tag for tag in texts_in(change, "tags") if tag not in tags],
        "pinned": change.fields.get("pinned") is True,
        "rating": extra.get("rating"),
        "reviewed": extra.get("reviewed"),
        "links": [link_value(link) for link in links_in(change) if link not in links],
        "supersedes": texts_in(change, "supersedes"),
        "superseded_by": texts_in(change, "superseded_by"),
    }
