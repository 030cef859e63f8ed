"""A memory of another format as a fact, an episode or a schema item."""

from __future__ import annotations

from memtui.model import Memory
from memtui.stores.adopting import lost, mark_of, parts_of
from memtui.stores.base import Adopted
from memtui.stores.simple_memory.records import PART_OF_KIND, SCHEMA_KINDS

ID_DIGITS = 10
"""Of the id: two memories of a million get the same with a chance of one in two thousand or less
for decimal ids; the second is then listed as a conflict, never written over the first."""
_STATUS = {"deleted": "retired"}


def adopt(memory: Memory) -> Adopted:
    """A rule becomes a schema item, one short sentence a fact, all else an episode."""
    kind = _kind(memory)
    domain, *topic = parts_of(memory)
    fields = {
        "id": _id(kind, memory.ref),
        "kind": kind,
        "content": memory.content or memory.headline,
        "type": memory.type if kind == "schema" else "",
        "title": memory.headline[:200] if kind == "episode" else "",
        "entity": "/".join([domain, "-".join(topic)] if topic else [domain]),
        "created": memory.created or memory.updated,
        "status": _STATUS.get(memory.status, memory.status),
        "importance": memory.importance,
        "source": memory.ref,
        "confidence": memory.confidence,
        "tags": tuple(dict.fromkeys(tag for tag in (memory.type, *memory.tags) if tag)),
        "pinned": memory.pinned,
    }
    changed: tuple[str, ...] = ("type (becomes a tag)",) if memory.type and kind != "schema" else ()
    if memory.status in _STATUS:
        changed += (f"status {memory.status} (becomes {_STATUS[memory.status]})",)
    if kind == "schema":
        changed += lost(memory, "created", extra=False)
    names = ("updated", "source", "supersedes", "superseded_by", "links")
    return Adopted(fields, (*changed, *lost(memory, *names)))


def _id(kind: str, ref: str) -> str:
    """An id that follows from where the memory came from."""
    part = PART_OF_KIND[kind]
    number = int(mark_of(ref, 12), 16)
    return part.prefix + format(number, "x" if part.base == 16 else "d")[:ID_DIGITS]


def _kind(memory: Memory) -> str:
    if memory.type in SCHEMA_KINDS:
        return "schema"
    words = memory.content.split(None, 2)
    plain = len(words) == 3 and " ".join(words) == memory.content and "\n" not in memory.content
    return "fact" if plain and not memory.title else "episode"
