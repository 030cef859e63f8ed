"""A memory of another format as a fact: what kind of word its type was becomes a tag."""

from __future__ import annotations

from memtui.model import Memory
from memtui.stores.adopting import ids_of, links_of, lost, parts_of, told, uuid_of
from memtui.stores.agent_memory.facts import PLURALS
from memtui.stores.base import Adopted

SOURCE = "import"
_KINDS = {**dict.fromkeys(PLURALS), **dict.fromkeys(PLURALS.values())}
ENTITY = "projects"
"""What an entity of another format is taken for, where its own path does not say."""
_STATUS = {"deleted": "retired", "proposed": "active"}


def adopt(memory: Memory) -> Adopted:
    """The fields of the fact: `people/alice` stays so, `shop-api/main` is the project shop-api."""
    parts = parts_of(memory)
    kind, name, rest = ENTITY, parts[0], parts[1:]
    if len(parts) > 1 and parts[0] in _KINDS:
        kind, name, rest = parts[0], parts[1], parts[2:]
    tags = dict.fromkeys([memory.type, *rest, *memory.tags])
    fields = {
        "id": uuid_of(memory.store, memory.id),
        "content": told(memory),
        "entity": f"{kind}/{name}",
        "created": memory.created or memory.updated,
        "status": _STATUS.get(memory.status, memory.status),
        "source": SOURCE,
        "tags": tuple(tag for tag in tags if tag),
        "pinned": memory.pinned,
        "supersedes": ids_of(memory, memory.supersedes),
        "superseded_by": ids_of(memory, memory.superseded_by),
        "links": links_of(memory),
        "extra": {"sourceRef": memory.ref},
    }
    changed: tuple[str, ...] = ("type (becomes a tag)",) if memory.type else ()
    if memory.status in _STATUS:
        changed += (f"status {memory.status} (becomes {_STATUS[memory.status]})",)
    names = ("importance", "updated", "confidence", "source")
    return Adopted(fields, (*changed, *lost(memory, *names)))
