"""The record a change is about, found again in its file as it is now, and its edit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memtui.changes import RecordEdit, SidecarEdit
from memtui.errors import Conflict, Refused
from memtui.model import Memory
from memtui.stores.desk import Desk
from memtui.stores.json_file import JsonFile, Named, named_records, read_to_change
from memtui.stores.last_read import LastRead
from memtui.stores.same_ids import UNADDRESSABLE
from memtui.stores.sidecar_acts import Beside
from memtui.stores.simple_memory.reading import SHARD
from memtui.stores.simple_memory.records import PART_OF_KIND, Part

KEPT = "kept"
"""Key of `extra` that marks a memory only the sidecar holds (`overlay.kept_memory`)."""


@dataclass(frozen=True, slots=True)
class PartFile:
    """One of the three files as it is at this moment."""

    file: JsonFile
    by_id: Mapping[str, Named] = field(repr=False)
    """The first record of each id."""


@dataclass(frozen=True, slots=True)
class RecordDesk(Desk):
    """One Simple Memory, while one change is planned."""

    last: LastRead[PartFile] = field(repr=False)

    def target(self, memory: Memory) -> Target:
        """The record of a memory. Raises Refused, or Conflict when it is gone."""
        why = fixed(memory)
        if why:
            raise Refused(why, where=memory.ref)
        part = PART_OF_KIND[memory.kind]
        opened = self.open(part)
        named = opened.by_id.get(memory.id)
        if named is None:
            raise Conflict("another program removed this record", where=str(opened.file.path))
        return Target(memory, part, opened.file, named, self.beside(memory))

    def open(self, part: Part) -> PartFile:
        """One file as it is now. Raises Refused: what cannot be read is not written."""
        path = self.root / part.file

        def read() -> PartFile:
            file = read_to_change(path, self.root)
            found, _ = named_records(file, part.file)
            return PartFile(file, {named.id: named for named in reversed(found)})

        return self.last.get([path], read)

    def noted_record(self, id: str, **values: Any) -> tuple[SidecarEdit, ...]:
        """The edit that sets these keys of one record's entry; none when it says so already."""
        return self.noted(id, SHARD, **values)


@dataclass(frozen=True, slots=True)
class Target:
    """One record as its file holds it now."""

    memory: Memory
    part: Part
    file: JsonFile
    named: Named
    beside: Beside

    @property
    def path(self) -> str:
        return str(self.file.path)

    @property
    def raw(self) -> str:
        return self.named.record.raw

    @property
    def value(self) -> Mapping[str, Any]:
        return self.named.value

    def with_members(self, values: Mapping[str, Any]) -> tuple[RecordEdit, ...]:
        """The edit that sets these keys, and no other byte of the record."""
        return self.file.put(self.named, values)

    def removed(self) -> RecordEdit:
        return self.file.edit(self.named, None)


def fixed(memory: Memory) -> str:
    """Why nothing about this memory's record can be changed; empty when it can."""
    if memory.extra.get(KEPT):
        return "it is a former text that only memtui keeps"
    fault = memory.extra.get(UNADDRESSABLE)
    return str(fault) if fault else ""
