"""Pins and links where the record itself has a place for them; elsewhere the sidecar has."""

from __future__ import annotations

from typing import Any

from memtui.changes import Act, Change, Edit
from memtui.errors import Refused
from memtui.files.json.editing import has_member
from memtui.model import Memory
from memtui.stores.simple_memory.records import EPISODES, SCHEMA
from memtui.stores.simple_memory.targets import RecordDesk, Target


def pin(change: Change, memory: Memory, desk: RecordDesk) -> tuple[Edit, ...]:
    """PIN and UNPIN: the record's own `pinned` where it has one."""
    target = desk.target(memory)
    wanted = change.act is Act.PIN
    if has_member(target.raw, "pinned"):
        native = target.with_members({"pinned": wanted})
        return (*native, *target.beside.set(pinned=None))
    return target.beside.set(pinned=True if wanted else None)


def native_link(change: Change, memory: Memory, desk: RecordDesk) -> tuple[Edit, ...] | None:
    """LINK and UNLINK in the record's own lists; None when the link belongs to the sidecar."""
    target = desk.target(memory)
    relation = str(change.fields.get("relation") or "")
    other = str(change.fields.get("target") or "").removeprefix(f"{desk.label}:")
    if not relation or not other:
        raise Refused("a link needs a relation and a memory to lead to", where=change.ref)
    key, item = _place(target, relation, other)
    old = target.value.get(key)
    if not isinstance(old, list):
        return None
    if change.act is Act.LINK:
        there = any(_same_link(known, item) for known in old)
        return () if there else target.with_members({key: [*old, item]})
    left = [known for known in old if not _same_link(known, item)]
    return None if len(left) == len(old) else target.with_members({key: left})


def _place(target: Target, relation: str, other: str) -> tuple[str, Any]:
    """The key of the list that holds links of this relation, and what stands there for one."""
    if relation == "evidence" and target.part is SCHEMA:
        return "evidence", other
    if relation == "fact" and target.part is EPISODES:
        return "facts", other
    return "links", {"rel": relation, "to": other}


def _same_link(known: object, item: object) -> bool:
    if isinstance(known, dict) and isinstance(item, dict):
        return (known.get("rel"), known.get("to")) == (item["rel"], item["to"])
    return known == item
