"""Match memories of an imported file with an open store: the change that would add each, and the
memory that is already there.

Within a format every field is kept. Across formats the target's `TransferSupport.convert` decides.
The id is kept where possible, and a converted memory names the ref it came from, so that a second
import finds it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from memtui.bundle.open_stores import OpenStores
from memtui.changes import Act, Change
from memtui.errors import RefError
from memtui.model import Memory
from memtui.stores import registry
from memtui.stores.base import Store
from memtui.stores.registry import format_of

_NOT_IMPORTED = frozenset({"ref", "store", "origin", "also", "also_entities"})
"""Fields that say where the memory was stored."""
_COMPARED = ("content", "title", "type", "entity", "status", "created")
"""Fields in which two memories of one id must be equal to count as the same."""


@dataclass(frozen=True, slots=True)
class MappedMemory:
    """A memory of the file and the change that adds it to the target."""

    memory: Memory
    change: Change
    native: bool
    """Whether it comes from the same format, with all its fields."""
    lost: tuple[str, ...] = ()
    """Names of what the target cannot store."""


def count_lost(items: Iterable[MappedMemory]) -> dict[str, int]:
    """Name of each thing lost -> how many memories lose it, the most frequent first."""
    found = Counter(name for item in items for name in item.lost)
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def guess_format(label: str) -> str:
    """Guess the name of a store's format from its label; empty when it fits none."""
    for known in registry.formats():
        if label == known.name or label.startswith(f"{known.name}-"):
            return known.name
    return ""


def map_memory(
    memory: Memory, format: str, target: Store, document: str | None = None
) -> MappedMemory:
    """Make the change that adds a memory to the target.

    Args:
        memory: of the file.
        format: name of the format it comes from.
        target: the store that gets it.
        document: the text of its whole file, where the memory is a file.
    """
    known = format_of(target.format)
    transfer = known.transfer if known else None
    if format == target.format or transfer is None or transfer.convert is None:
        names = (field.name for field in fields(memory))
        values = {name: getattr(memory, name) for name in names if name not in _NOT_IMPORTED}
        if document is not None:
            values["document"] = document
        return MappedMemory(memory, _add(target, values), True)
    converted = transfer.convert(memory)
    return MappedMemory(memory, _add(target, converted.fields), False, converted.lost)


def _add(target: Store, values: Mapping[str, Any]) -> Change:
    return Change(Act.ADD, target.label, "", values, force=True)


class ExistingMemories:
    """Finds the memory of a store that an imported one would duplicate."""

    def __init__(self, library: OpenStores, store: Store) -> None:
        self._library = library
        self._store = store
        known = format_of(store.format)
        self._identity = known.transfer.identity if known and known.transfer else ""
        self._by_name: dict[str, Memory] = {}
        self._added: set[str] = set()
        if self._identity:
            for memory in library.memories(store.label):
                name = memory.extra.get(self._identity)
                if isinstance(name, str):
                    self._by_name[name] = memory

    def find(self, item: MappedMemory) -> Memory | None:
        """Return the memory with the id (or `TransferSupport.identity`) that this one would get."""
        values = item.change.fields
        extra = values.get("extra")
        name = extra.get(self._identity) if isinstance(extra, Mapping) else None
        if self._identity and isinstance(name, str):
            return self._by_name.get(name)
        id = str(values.get("id") or "")
        if id in self._added:
            return item.memory
        try:
            return self._library.get(f"{self._store.label}:{id}") if id else None
        except RefError:
            return None

    def add(self, item: MappedMemory) -> None:
        """Count this memory as existing: an earlier part of the import adds it."""
        self._added.add(str(item.change.fields.get("id") or ""))


def list_differences(item: MappedMemory, existing: Memory) -> tuple[str, ...]:
    """Names of the fields in which the imported memory differs from the existing one."""
    if item.memory is existing:
        return ()
    if item.native:
        return tuple(n for n in _COMPARED if getattr(item.memory, n) != getattr(existing, n))
    wanted = str(item.change.fields.get("content") or "").strip()
    return () if wanted in existing.content else ("content",)
