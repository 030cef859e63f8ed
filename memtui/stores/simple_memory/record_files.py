"""Read the three files, and find the record of a memory again to change it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memtui.changes import RecordEdit, SidecarEdit
from memtui.errors import Conflict, Refused, UnreadableFile
from memtui.model import Memory, Place
from memtui.stores.base import Reading, Unreadable
from memtui.stores.change_validation import UNADDRESSABLE, with_unique_ids
from memtui.stores.json_file import JsonFile, NamedRecord, named_records, read_json, read_or_new
from memtui.stores.plan_context import PlanContext
from memtui.stores.scanning import LastRead, as_unreadable
from memtui.stores.sidecar import Entry, Sidecar
from memtui.stores.sidecar_acts import SidecarEntry
from memtui.stores.simple_memory.records import (
    RECORD_KIND_OF,
    RECORD_KINDS,
    SCHEMA,
    RecordKind,
    importance,
    memory_of,
)

KEPT = "kept"
"""Key of `extra` that marks a memory only the sidecar holds (`overlay.kept_memory`)."""


@dataclass(frozen=True, slots=True)
class PartFile:
    """One of the three files, read to plan a change."""

    file: JsonFile
    by_id: Mapping[str, NamedRecord] = field(repr=False)
    """The first record of each id."""


@dataclass(frozen=True, slots=True)
class RecordContext(PlanContext):
    """The context of planning a change in one Simple Memory."""

    last: LastRead[PartFile] = field(repr=False)

    def target(self, memory: Memory) -> RecordTarget:
        """Find the record of a memory. Raises Refused, or Conflict when it is gone."""
        why = why_fixed(memory)
        if why:
            raise Refused(why, where=memory.ref)
        part = RECORD_KIND_OF[memory.kind]
        opened = self.open(part)
        named = opened.by_id.get(memory.id)
        if named is None:
            raise Conflict("another program removed this record", where=str(opened.file.path))
        return RecordTarget(memory, part, opened.file, named, self.sidecar_entry(memory))

    def open(self, part: RecordKind) -> PartFile:
        """Read one file as it is now. Raises Refused if it cannot be read."""
        path = self.root / part.file

        def read() -> PartFile:
            file = read_or_new(path, self.root)
            found, _ = named_records(file, part.file)
            return PartFile(file, {named.id: named for named in reversed(found)})

        return self.last.get([path], read)

    def record_entry_edits(self, id: str, **values: Any) -> tuple[SidecarEdit, ...]:
        """The edit that sets these keys of a record's sidecar entry; none if they are set."""
        return self.entry_edits(id, SHARD, **values)


@dataclass(frozen=True, slots=True)
class RecordTarget:
    """One record in its file, read to plan a change."""

    memory: Memory
    part: RecordKind
    file: JsonFile
    named: NamedRecord
    sidecar_entry: SidecarEntry

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
        """The edit that sets these keys and changes no other byte of the record."""
        return self.file.put(self.named, values)

    def removal(self) -> RecordEdit:
        return self.file.edit(self.named, None)


def why_fixed(memory: Memory) -> str:
    """Why this memory's record cannot be changed; empty when it can."""
    if memory.extra.get(KEPT):
        return "it is a former text that only memtui keeps"
    fault = memory.extra.get(UNADDRESSABLE)
    return str(fault) if fault else ""


SHARD = "memory"
"""Key of the only shard."""

KEPT_STATUS = "status"
"""Key of a sidecar entry: the status of a fact or an episode, which their files cannot say."""


def read(root: Path, label: str, sidecar: Sidecar) -> Reading:
    """Read the memories of all three files."""
    memories: list[Memory] = []
    faults: list[Unreadable] = []
    for part in RECORD_KINDS:
        path = root / part.file
        if not os.path.lexists(path):
            continue
        try:
            found, bad = _read_part(part, read_json(path, root), label, sidecar)
        except UnreadableFile as error:
            faults.append(as_unreadable(error, path))
        else:
            memories += found
            faults += bad
    return Reading(tuple(with_unique_ids(memories)), tuple(faults))


def _read_part(
    part: RecordKind, file: JsonFile, label: str, sidecar: Sidecar
) -> tuple[list[Memory], list[Unreadable]]:
    named, faults = named_records(file, part.file)
    memories = []
    for record in named:
        place = Place(str(file.path), record.record.line, file.key(record.index))
        memory = memory_of(part, record.value, id=record.id, label=label, place=place)
        if record.fault:
            memory = replace(memory, extra={**memory.extra, UNADDRESSABLE: record.fault})
        memories.append(_with_entry(part, memory, record.value, sidecar.entry(record.id)))
    return memories, faults


def _with_entry(part: RecordKind, memory: Memory, value: Mapping[str, Any], entry: Entry) -> Memory:
    """Apply the rating and the status of the sidecar entry to the memory."""
    if "rating" in entry:
        memory = replace(memory, importance=importance(part, value, entry["rating"]))
    status = entry.get(KEPT_STATUS)
    if part is SCHEMA or status not in ("retired", "superseded"):
        return memory
    return replace(memory, status=status)
