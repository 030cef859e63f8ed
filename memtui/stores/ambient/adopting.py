"""A memory of another format as an event: Ambient knows five types and 1,000 characters."""

from __future__ import annotations

from memtui.model import Memory
from memtui.stores.adopting import ids_of, links_of, lost, parts_of, told, uuid_of
from memtui.stores.ambient.rules import Rules, fitted
from memtui.stores.base import Adopted

TYPES = ("decision", "error-resolution", "task-update", "file-context", "session-summary")
_TYPE_OF = {
    "architecture": "decision",
    "bugfix": "error-resolution",
    "goal": "decision",
    "policy": "decision",
    "preference": "decision",
    "session": "session-summary",
    "session_summary": "session-summary",
    "summary": "session-summary",
    "value": "decision",
}
"""Words of other stores; what is not here becomes a task-update."""
BRANCH = "main"


def type_of(word: str) -> str:
    """One of Ambient's five types for another store's word."""
    return word if word in TYPES else _TYPE_OF.get(word, "task-update")


def adopt(memory: Memory) -> Adopted:
    """The fields of the event: the first part of the entity is the project, the rest the branch."""
    parts = parts_of(memory)
    branch = "/".join(parts[1:]) or BRANCH
    high = memory.importance == "high"
    content, cut = fitted(told(memory) or memory.headline, Rules(), True)
    said = {"source": memory.ref, "entity": memory.entity, "type": memory.type}
    fields = {
        "id": uuid_of(memory.store, memory.id),
        "content": content,
        "type": type_of(memory.type),
        "importance": memory.importance,
        "entity": parts[0] if high else f"{parts[0]}/{branch}",
        "created": memory.created or memory.updated,
        "status": "active" if memory.status == "proposed" else memory.status,
        "source": memory.ref,
        "tags": memory.tags,
        "pinned": memory.pinned,
        "supersedes": ids_of(memory, memory.supersedes),
        "superseded_by": ids_of(memory, memory.superseded_by),
        "links": links_of(memory),
        "extra": {
            "branches": [branch],
            "metadata": {key: value for key, value in said.items() if value},
        },
    }
    changed: tuple[str, ...] = (f"content ({cut})",) if cut else ()
    if type_of(memory.type) != memory.type:
        changed += (f"type (becomes {type_of(memory.type)})",)
    if memory.status == "proposed":
        changed += ("status proposed (becomes active)",)
    return Adopted(fields, (*changed, *lost(memory, "updated", "confidence", "source")))
