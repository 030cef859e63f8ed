"""A memory of another format as an observation."""

from __future__ import annotations

from typing import Any

from memtui.model import CURRENT, Memory
from memtui.stores.adopting import lost, mark_of, parts_of
from memtui.stores.base import Adopted
from memtui.stores.engram import rules
from memtui.stores.engram.rows import is_whole

_CUT = "\n[cut]"


def adopt(memory: Memory) -> Adopted:
    """The fields of the observation: the first part of the entity is the project.

    Engram knows no retired memory: what is not current becomes soft-deleted.
    """
    content, changed = _content(memory)
    when = memory.created or memory.updated
    extra: dict[str, Any] = {
        "sync_id": f"obs-{mark_of(memory.ref, 16)}",
        "tool_name": _plain(memory.ref),
        "project": rules.project_name(parts_of(memory)[0]),
        "scope": "project",
    }
    if when:
        extra["created_at"] = rules.timestamp(when)
        extra["updated_at"] = rules.timestamp(memory.updated or when)
    if memory.status not in CURRENT:
        extra["deleted_at"] = extra.get("updated_at")
        changed += (f"status {memory.status} (becomes deleted)",)
    elif memory.status != "active":
        changed += (f"status {memory.status} (becomes active)",)
    fields = {
        "id": memory.ref,
        "content": content,
        "title": _plain(memory.headline),
        "type": _plain(memory.type) or rules.DEFAULT_TYPE,
        "status": memory.status,
        "pinned": memory.pinned,
        "extra": extra,
    }
    if len(parts_of(memory)) > 1:
        changed += ("entity (only its first part)",)
    names = ("importance", "confidence", "tags", "source", "supersedes", "superseded_by", "links")
    return Adopted(fields, (*changed, *lost(memory, *names)))


def _plain(text: str) -> str:
    """Text that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode()


def _content(memory: Memory) -> tuple[str, tuple[str, ...]]:
    """The text as Engram can hold it, and what that cost."""
    text = memory.content or memory.headline
    changed: tuple[str, ...] = ()
    if not is_whole(text):
        text, changed = _plain(text), ("content (half characters become ?)",)
    data = text.encode()
    if len(data) <= rules.CONTENT_BYTES:
        return text, changed
    kept = data[: rules.CONTENT_BYTES - len(_CUT)].decode("utf-8", "ignore") + _CUT
    return kept, (*changed, f"content (cut to {rules.CONTENT_BYTES:,} bytes)")
