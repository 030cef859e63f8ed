"""The record a change is about, found again in its file as it is now, and its edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import RecordEdit
from memtui.errors import Conflict, Refused, UnreadableFile
from memtui.files.json_spans import Record, put_member
from memtui.model import Memory
from memtui.stores.base import View
from memtui.stores.json_file import read_json
from memtui.stores.same_ids import UNADDRESSABLE
from memtui.stores.sidecar import Sidecar
from memtui.stores.sidecar_acts import Beside
from memtui.stores.simple_memory.reading import SHARD
from memtui.stores.simple_memory.records import PART_OF_KIND, Part

KEPT = "kept"
"""Key of `extra` that marks a memory only the sidecar holds (`sidecar.kept_memory`)."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What planning needs: the store's place, what memtui keeps beside it, the other memories."""

    root: Path
    label: str
    sidecar: Sidecar
    view: View
    now: Callable[[], datetime]

    def beside(self, memory: Memory) -> Beside:
        """The memory and its entry in the sidecar."""
        return Beside(memory, self.root, self.sidecar, SHARD)

    def target(self, ref: str) -> Target:
        """The record behind a ref. Raises RefError, Refused, or Conflict when it is gone."""
        memory = self.view.get(ref)
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
        try:
            found = read_json(path, self.root).records
        except UnreadableFile as error:
            raise Refused(
                f"the file cannot be read, so it is not written: {error.what}",
                where=str(path),
                do="mend the file first",
            ) from None
        return list(found)

    def id_of(self, named: object) -> str:
        """An id of this store from an id or a ref."""
        return str(named).removeprefix(f"{self.label}:")


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
