"""Import memories that have an id already, from the same format or converted from another.

An imported memory keeps its id, times, status and lineage, and the rules for adding are not
applied: an import never supersedes a memory of the store. The keys in `extra` of a memory of the
same format become keys of its record again; what the format cannot hold goes into the sidecar.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
import uuid
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from memtui.changes import Change
from memtui.model import FILE_TIME_KEY, FRONTMATTER_FAULT, HIDDEN, LOCAL_TIMES, Link, Memory
from memtui.stores.format import ConvertedMemory
from memtui.stores.sidecar import link_to_json
from memtui.stores.values import to_iso_seconds

MEMTUI_KEYS = frozenset(
    {"kept", "rating", "reviewed", "unaddressable"}
    | {HIDDEN, FILE_TIME_KEY, FRONTMATTER_FAULT, LOCAL_TIMES}
)
"""Keys of `extra` that memtui itself sets, for every format."""


def is_import(change: Change) -> bool:
    """Whether an ADD imports a memory, which has an id already."""
    return bool(change.fields.get("id"))


def extra_in(change: Change) -> Mapping[str, Any]:
    """The `extra` of the imported memory."""
    extra = change.fields.get("extra")
    return extra if isinstance(extra, Mapping) else {}


def native_keys(change: Change, handled: Collection[str]) -> dict[str, Any]:
    """The keys of `extra` that become keys of the record: all but those `handled` elsewhere."""
    items = extra_in(change).items()
    return {key: value for key, value in items if key not in handled and key not in MEMTUI_KEYS}


def links_in(change: Change) -> list[Link]:
    """The links of a change; one may be written as a pair of relation and target."""
    given = change.fields.get("links") or ()
    return [link if isinstance(link, Link) else Link(str(link[0]), str(link[1])) for link in given]


def texts_in(change: Change, name: str) -> list[str]:
    """The texts of a field that is a list."""
    return [str(item) for item in change.fields.get(name) or ()]


def sidecar_values(
    change: Change, tags: Collection[str] = (), links: Collection[Link | None] = ()
) -> dict[str, Any]:
    """The keys of the sidecar entry, without tags and links that the record itself holds."""
    extra = extra_in(change)
    return {
        "tags": [tag for tag in texts_in(change, "tags") if tag not in tags],
        "pinned": change.fields.get("pinned") is True,
        "rating": extra.get("rating"),
        "reviewed": extra.get("reviewed"),
        "status": change.fields.get("status") if HIDDEN in extra else None,
        "links": [link_to_json(link) for link in links_in(change) if link not in links],
        "supersedes": texts_in(change, "supersedes"),
        "superseded_by": texts_in(change, "superseded_by"),
    }


def sidecar_times(change: Change) -> dict[str, Any]:
    """The times of an imported memory, as a sidecar entry has them where the store has none."""
    times = {name: change.fields.get(name) for name in ("created", "updated")}
    return {
        name: to_iso_seconds(time) if isinstance(time, datetime) else time or None
        for name, time in times.items()
    }


CONVERTED = "converted"
"""Key of `extra` of an ADD that was converted from another format."""


def described_memory(change: Change, ref: str, kind: str, content: str) -> Memory:
    """The memory that an ADD describes, for the sidecar to keep where the store cannot."""
    label, _, id = ref.partition(":")
    names = ("type", "title", "entity")
    type, title, entity = (str(change.fields.get(name) or "") for name in names)
    extra = {k: v for k, v in extra_in(change).items() if k not in (CONVERTED, "kept")}
    return Memory(
        ref=ref,
        id=id,
        store=label,
        kind=kind,
        type=type,
        title=title,
        content=content,
        entity=entity,
        importance=str(change.fields.get("importance") or "medium"),
        status=str(change.fields.get("status") or "superseded"),
        superseded_by=tuple(texts_in(change, "superseded_by")),
        extra=extra,
    )


_NAMESPACE = uuid.UUID("6d656d74-7569-5000-8000-000000000000")
"""For ids of memories whose own id is no uuid: the same memory gets the same id each time."""
_NO_NAME = re.compile(r"[^\w]+")
_REPEATED_WORDS = """
    createdAt created_at created date timestamp time start started_at updated updated_at
    modified last_updated last_modified status state priority source_ids sourceRef session_id
    tool_name project scope topic_key s p o edge branches archived projectKey remote sync_id id
    deleted_at expires expired differs headings created_from injections ignored_type kept
    normalized_hash line_endings byte_order_mark unaddressable frontmatter.title tags
    updated_from load_limit cut_line loaded_at_start
"""
_REPEATED = frozenset({*_REPEATED_WORDS.split(), FRONTMATTER_FAULT, LOCAL_TIMES})
"""Keys of `extra` that say again, raw, what a field says, or that an adapter works out anew."""
LONGEST_SLUG = 60
"""Characters of a name that is made from a text."""


def uuid_of(store: str, id: str) -> str:
    """The id itself if it is a uuid, else a uuid derived from store and id."""
    try:
        return str(uuid.UUID(id))
    except ValueError:
        return str(uuid.uuid5(_NAMESPACE, encodable(f"{store}:{id}")))


def short_hash(ref: str, digits: int) -> str:
    """Hex digits derived from a ref."""
    return hashlib.sha256(encodable(ref).encode()).hexdigest()[:digits]


def encodable(text: str) -> str:
    """Replace what UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode()


def converted_ids(memory: Memory, ids: Iterable[str]) -> tuple[str, ...]:
    """The ids that memories of the same store get when they are converted."""
    return tuple(uuid_of(memory.store, id) for id in ids)


def converted_links(memory: Memory) -> tuple[Link, ...]:
    return tuple(replace(link, target=uuid_of(memory.store, link.target)) for link in memory.links)


def slug(text: str) -> str:
    """Make a file name of letters, digits and hyphens; empty when nothing is left."""
    plain = unicodedata.normalize("NFC", text.partition("\n")[0]).lower()
    if not plain.isprintable():
        plain = "".join(letter for letter in plain if letter.isprintable())
    return _NO_NAME.sub("-", plain)[:LONGEST_SLUG].strip("-_")


def entity_parts(memory: Memory) -> list[str]:
    """The parts of the entity as slugs; the store's label if there is none."""
    parts = [slug(part) for part in memory.entity.split("/")]
    return [part for part in parts if part] or [slug(memory.store) or "imported"]


def text_with_title(memory: Memory) -> str:
    """Title and content as one text, for a format without titles."""
    if not memory.title or memory.title.strip() in memory.content:
        return memory.content or memory.title
    glue = "\n\n" if "\n" in memory.content.strip() else ": "
    return f"{memory.title}{glue}{memory.content}" if memory.content.strip() else memory.title


_LOSABLE = (
    *("updated", "importance", "confidence", "tags", "source", "pinned"),
    *("supersedes", "superseded_by", "links", "type"),
)
"""Fields of a memory that a format may not hold."""


def converted(
    memory: Memory,
    fields: Mapping[str, Any],
    changes: Collection[tuple[object, str]] = (),
    held: Collection[str] = (),
) -> ConvertedMemory:
    """A memory of another format as its new format holds it, and what that loses.

    Args:
        memory: The memory.
        fields: Of the ADD. A `source` there says where the memory comes from, which is another.
        changes: What becomes something else, each with whether it does: the field, and how.
        held: What another field says, such as a key of the frontmatter.

    Returns:
        The fields; lost are the changes that are made, the fields that have a value and are not
        held, and the keys of `extra` that only the memory's own format knows.
    """
    kept = {*fields, *held, *(name.split()[0] for _, name in changes)} - {"source"}
    changed = [name for is_made, name in changes if is_made]
    lost = [name for name in _LOSABLE if name not in kept and _has_value(memory, name)]
    own = [f"extra.{key}" for key in memory.extra if key not in _REPEATED]
    return ConvertedMemory(fields, (*changed, *lost, *own))


def kind_change(memory: Memory, kind: str) -> tuple[bool, str]:
    """The change, for `converted`, of a memory that becomes one of this kind."""
    return memory.kind != kind, f"kind {memory.kind} (becomes {kind})"


def _has_value(memory: Memory, name: str) -> bool:
    value: Any = getattr(memory, name)
    if name == "updated":
        return value is not None and value != memory.created
    if name == "importance":
        return bool(value != "medium")
    return value not in (None, "", (), False)
