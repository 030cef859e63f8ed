"""The three files of a Simple Memory read together: they refer to each other by id."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memtui.errors import UnreadableFile
from memtui.model import Memory, Place
from memtui.stores.base import Reading, Unreadable
from memtui.stores.json_file import JsonFile, named_records, read_json
from memtui.stores.same_ids import UNADDRESSABLE, told_apart
from memtui.stores.sidecar import Entry, Sidecar
from memtui.stores.simple_memory.records import PARTS, SCHEMA, Part, importance, memory_of
from memtui.stores.unread import as_unreadable

SHARD = "memory"
"""Key of the only shard."""

KEPT_STATUS = "status"
"""Key of a sidecar entry: the status of a fact or an episode, which their files cannot say."""


def read(root: Path, label: str, sidecar: Sidecar) -> Reading:
    """The memories of all three files."""
    memories: list[Memory] = []
    faults: list[Unreadable] = []
    for part in PARTS:
        path = root / part.file
        if not os.path.lexists(path):
            continue
        try:
            found, bad = _part(part, read_json(path, root), label, sidecar)
        except UnreadableFile as error:
            faults.append(as_unreadable(error, path))
        else:
            memories += found
            faults += bad
    return Reading(tuple(told_apart(memories)), tuple(faults))


def _part(
    part: Part, file: JsonFile, label: str, sidecar: Sidecar
) -> tuple[list[Memory], list[Unreadable]]:
    named, faults = named_records(file, part.file)
    memories = []
    for record in named:
        place = Place(str(file.path), record.record.line, file.key(record.index))
        memory = memory_of(part, record.value, id=record.id, label=label, place=place)
        if record.fault:
            memory = replace(memory, extra={**memory.extra, UNADDRESSABLE: record.fault})
        memories.append(_judged(part, memory, record.value, sidecar.entry(record.id)))
    return memories, faults


def _judged(part: Part, memory: Memory, value: Mapping[str, Any], entry: Entry) -> Memory:
    """The memory with the person's rating, and the status that its file cannot say."""
    if "rating" in entry:
        memory = replace(memory, importance=importance(part, value, entry["rating"]))
    status = entry.get(KEPT_STATUS)
    if part is SCHEMA or status not in ("retired", "superseded"):
        return memory
    return replace(memory, status=status)
