"""A memory of one store as the change that adds it to another, and what that loses.

Within a format every field comes along. Across formats the target's own `adopt` says what the
memory becomes. The source is always kept: the id stays where it can, and the new memory names the
ref it came from, so that a second import finds it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from memtui.changes import Act, Change
from memtui.model import Memory
from memtui.stores import registry
from memtui.stores.base import Store
from memtui.stores.registry import format_of

_NOT_CARRIED = frozenset({"ref", "store", "origin", "also", "also_entities"})
"""Where a memory lay says nothing about where it goes."""


@dataclass(frozen=True, slots=True)
class MappedMemory:
    """One memory and what it becomes."""

    memory: Memory
    change: Change
    native: bool
    """It comes from the same format, with all its fields."""
    lost: tuple[str, ...] = ()


def count_lost(mapped: Iterable[MappedMemory]) -> dict[str, int]:
    found = Counter(name for item in mapped for name in item.lost)
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def guess_format(label: str) -> str:
    """The format that a store of this label most likely has; empty when nothing says so."""
    for known in registry.formats():
        if label == known.name or label.startswith(f"{known.name}-"):
            return known.name
    return ""


def map_memory(
    memory: Memory, format: str, target: Store, document: str | None = None
) -> MappedMemory:
    """The change that adds the memory to the target. `document`: the text of its whole file."""
    known = format_of(target.format)
    transfer = known.transfer if known else None
    if format == target.format or transfer is None or transfer.convert is None:
        values = _fields(memory)
        if document is not None:
            values["document"] = document
        return MappedMemory(memory, _add(target, values), True)
    converted = transfer.convert(memory)
    return MappedMemory(memory, _add(target, converted.fields), False, converted.lost)


def _fields(memory: Memory) -> dict[str, Any]:
    names = (field.name for field in fields(memory))
    return {name: getattr(memory, name) for name in names if name not in _NOT_CARRIED}


def _add(target: Store, values: Mapping[str, Any]) -> Change:
    return Change(Act.ADD, target.label, "", values, force=True)
