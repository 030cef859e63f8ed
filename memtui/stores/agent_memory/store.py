"""One agent-memory folder as a store: what to read, and how each shard reads."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from memtui.errors import UnreadableFile
from memtui.files.reading import stamp
from memtui.model import Memory
from memtui.stores.agent_memory import facts, layout, notes
from memtui.stores.base import Reading, Scan, Shard, Unreadable
from memtui.stores.json_file import named_records, read_json
from memtui.stores.json_file import unreadable as as_unreadable
from memtui.stores.sidecar import SidecarReader, laid_over

EMPTIED = "agent-memory would answer ADDED here and write nothing"
"""What its scripts do with an items.json of 0 bytes (ran): the reason why it is worth a warning."""


def _system_clock() -> datetime:
    return datetime.now(UTC)


class AgentMemory:
    """The memory of one MEMORY_HOME."""

    format = "agent-memory"

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = _system_clock) -> None:
        self.root = root
        self.label = label
        self.now = now
        self.sidecar = SidecarReader(root)

    def scan(self) -> Scan:
        """A shard for each entity folder, each daily note, and MEMORY.md one level up."""
        sidecar = self.sidecar.current()
        shards: list[Shard] = []
        faults: list[Unreadable] = []
        for found in (*layout.entities(self.root), *layout.notes(self.root)):
            if isinstance(found, Unreadable):
                faults.append(found)
            else:
                mark = stamp(found.files) + sidecar.mark(found.key)
                shards.append(Shard(found.key, found.files, mark))
        return Scan(tuple(shards), tuple(faults))

    def read(self, shard: Shard) -> Reading:
        """An entity's facts and summary, or one note."""
        is_entity = shard.key.startswith(f"{layout.ENTITIES}/")
        reading = self._entity(shard) if is_entity else self._note(shard)
        memories = laid_over(reading.memories, self.sidecar.current(), shard.key, self.label)
        return Reading(memories, reading.unreadable)

    def _entity(self, shard: Shard) -> Reading:
        slug = shard.key.removeprefix(f"{layout.ENTITIES}/")
        memories: list[Memory] = []
        faults: list[Unreadable] = []
        summary: notes.Prose | None = None
        for name in shard.files:
            path = Path(name)
            try:
                if path.name == layout.ITEMS:
                    file = read_json(path, self.root)
                    records, bad = named_records(file, slug)
                    memories += facts.facts(file, records, self.label, slug)
                    faults += bad
                else:
                    summary = notes.read_prose(path, self.root)
            except UnreadableFile as error:
                faults.append(_with_advice(as_unreadable(error, path)))
        if summary is not None:
            stated = notes.stated_type(summary.content)
            entity = memories[0].entity if memories else facts.entity_path(stated, slug)
            id = f"{shard.key}/{layout.SUMMARY}"
            memories.append(notes.summary(summary, self.label, id, entity, slug))
        return Reading(tuple(memories), tuple(faults))

    def _note(self, shard: Shard) -> Reading:
        path = Path(shard.files[0])
        make = notes.tacit if shard.key == layout.TACIT else notes.daily
        try:
            prose = notes.read_prose(path, path.parent)
        except UnreadableFile as error:
            return Reading((), (as_unreadable(error, path),))
        return Reading((make(prose, self.label, shard.key),))


def _with_advice(fault: Unreadable) -> Unreadable:
    try:
        emptied = fault.file.endswith(layout.ITEMS) and os.path.getsize(fault.file) == 0
    except OSError:
        emptied = False
    return Unreadable(fault.file, f"{fault.reason} (0 bytes): {EMPTIED}") if emptied else fault
