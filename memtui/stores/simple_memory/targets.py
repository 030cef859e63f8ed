"""The record a change is about, found again in its file as it is now, and its edit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memtui.changes import RecordEdit, SidecarEdit
from memtui.errors import Conflict, Refused, UnreadableFile
from memtui.files.json_spans import Record, put_member
from memtui.model import Memory
from memtui.stores.desk import Desk
from memtui.stores.json_file import read_json
from memtui.stores.last_read import LastRead
from memtui.stores.same_ids import UNADDRESSABLE
from memtui.stores.sidecar_acts import Beside
from memtui.stores.simple_memory.reading import SHARD
from memtui.stores.simple_memory.records import PART_OF_KIND, Part
from memtui.stores.unread import as_refused

KEPT = "kept"
"""Key of `extra` that marks a memory only the sidecar holds (`overlay.kept_memory`)."""


@dataclass(frozen=True, slots=True)
class RecordDesk(Desk):
    """One Simple Memory, while one change is planned."""

    last: LastRead[list[Record]] = field(repr=False)

    def target(self, memory: Memory) -> Target:
        """The record of a memory. Raises Refused, or Conflict when it is gone."""
        why = fixed(memory)
        if why:
            raise Refused(why, where=memory.ref)
        part = PART_OF_KIND[memory.kind]
        path = self.root / part.file
        beside = self.beside(memory)
        for index, record in enumerate(self.records(part)):
            if _id(record) == memory.id:
                return Target(memory, part, str(path), index, record.raw, record.value, beside)
        raise Conflict("another program removed this record", where=str(path))

    def records(self, part: Part) -> list[Record]:
        """The records of one file as it is now. Raises Refused: what cannot be read stays."""
        path = self.root / part.file
        return self.last.get([path], lambda: self._read(path))

    def _read(self, path: Path) -> list[Record]:
        try:
            return list(read_json(path, self.root).records)
        except UnreadableFile as error:
            raise as_refused(error, path) from None

    def noted_record(self, id: str, **values: Any) -> tuple[SidecarEdit, ...]:
        """The edit that sets these keys of one record's entry; none when it says so already."""
        return self.noted(id, SHARD, **values)


def _id(record: Record) -> object:
    return record.value.get("id") if isinstance(record.value, dict) else None


@dataclass(frozen=True, slots=True)
class Target:
    """One record as its file holds it now."""

    memory: Memory
    part: Part
    path: str
    index: int
    """Of the record in its file, so that undoing a removal puts it back where it was."""
    raw: str
    value: Mapping[str, Any]
    beside: Beside

    def written(self, raw: str) -> tuple[RecordEdit, ...]:
        """The edit that makes the record this text; none when it is so already."""
        if raw == self.raw:
            return ()
        return (RecordEdit(self.path, (), "id", self.memory.id, self.raw, raw, self.index),)

    def with_members(self, values: Mapping[str, Any]) -> tuple[RecordEdit, ...]:
        """The edit that sets these keys, and no other byte of the record."""
        raw = self.raw
        for key, value in values.items():
            raw = put_member(raw, key, value)
        return self.written(raw)

    def removed(self) -> RecordEdit:
        return RecordEdit(self.path, (), "id", self.memory.id, self.raw, None, self.index)


def fixed(memory: Memory) -> str:
    """Why nothing about this memory's record can be changed; empty when it can."""
    if memory.extra.get(KEPT):
        return "it is a former text that only memtui keeps"
    fault = memory.extra.get(UNADDRESSABLE)
    return str(fault) if fault else ""
