"""One agent-memory folder as a store: lists its shards and reads them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from memtui.errors import RefError, UnreadableFile
from memtui.model import Memory
from memtui.stores import accesses
from memtui.stores.accesses import AccessFile, AccessKey
from memtui.stores.agent_memory import (
    ENTITIES,
    ITEMS,
    METRICS,
    SUMMARY,
    TACIT,
    editing,
    find_entities,
    find_notes,
    notes,
)
from memtui.stores.agent_memory import records as facts
from memtui.stores.agent_memory.adding import convert
from memtui.stores.agent_memory.records import FactContext, FactFile
from memtui.stores.agent_memory.rules import FactRules, upkeep_rules
from memtui.stores.base import LoadedText, Reading, Shard, StoreView, Unreadable, loaded_whole
from memtui.stores.file_store import FileStore
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.json_file import named_records, read_json
from memtui.stores.scanning import FoundShard, LastRead, as_unreadable
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import utc_now

EMPTIED = "agent-memory reports success here but saves nothing"
"""What its scripts do with an items.json of 0 bytes (ran): the reason why it is worth a warning."""

LOADED = "tacit knowledge, layer 3 of its README; other layers are retrieved by a query"


class AgentMemory(FileStore[FactContext]):
    """The memory of one MEMORY_HOME."""

    format = "agent-memory"
    acts = editing.ACTS
    rules = FactRules()
    """The program's own constants."""

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
        self._last: LastRead[FactFile] = LastRead()

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        """Each entity folder, each daily note, and MEMORY.md one level up."""
        yield from find_entities(self.root)
        yield from find_notes(self.root)

    def plan_context(self, view: StoreView) -> FactContext:
        return FactContext(**self.context_fields(view), rules=self.rules, last=self._last)

    def read(self, shard: Shard) -> Reading:
        """The memories, with what only the sidecar knows of their lineage said on both sides."""
        reading = super().read(shard)
        return Reading(facts.with_successors(reading.memories), reading.unreadable)

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:  # noqa: ARG002
        """An entity's facts and summary, or one note."""
        is_entity = shard.key.startswith(f"{ENTITIES}/")
        return self._entity(shard) if is_entity else self._note(shard)

    def _entity(self, shard: Shard) -> Reading:
        slug = shard.key.removeprefix(f"{ENTITIES}/")
        memories: list[Memory] = []
        faults: list[Unreadable] = []
        summary: notes.NoteText | None = None
        for name in shard.files:
            path = Path(name)
            try:
                if path.name == ITEMS:
                    file = read_json(path, self.root)
                    records, faults_of_records = named_records(file, slug)
                    memories += facts.facts(file, records, self.label, slug)
                    faults += faults_of_records
                else:
                    summary = notes.read_note(path, self.root)
            except UnreadableFile as error:
                faults.append(_with_advice(as_unreadable(error, path)))
        if summary is not None:
            stated = notes.stated_type(summary.content)
            entity = memories[0].entity if memories else facts.entity_path(stated, slug)
            id = f"{shard.key}/{SUMMARY}"
            memories.append(notes.summary(summary, self.label, id, entity, slug))
        return Reading(tuple(memories), tuple(faults))

    def access_file(self) -> AccessFile:
        """The file in which the retrieve script counts (retrieve-memory.sh:32-59)."""
        return AccessFile(self.root / METRICS / accesses.FILE, self.root)

    def access_key(self, memory: Memory) -> AccessKey | None:
        """A fact is `slug/id`, an entity's summary its slug; notes are not counted."""
        shard = editing.shard_of(memory)
        if not shard.startswith(f"{ENTITIES}/"):
            return None
        slug = shard.removeprefix(f"{ENTITIES}/")
        if memory.kind == "note":
            return AccessKey("entities", slug, shard)
        return AccessKey("facts", f"{slug}/{memory.id}", shard)

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """MEMORY.md, whole: the layer that is read without a query."""
        try:
            return (loaded_whole(view.get(f"{self.label}:{TACIT}"), LOADED),)
        except RefError:
            return ()

    def _note(self, shard: Shard) -> Reading:
        path = Path(shard.files[0])
        try:
            prose = notes.read_note(path, path.parent)
        except UnreadableFile as error:
            return Reading((), (as_unreadable(error, path),))
        make = notes.tacit if shard.key == TACIT else notes.daily
        return Reading((make(prose, self.label, shard.key),))


def _with_advice(fault: Unreadable) -> Unreadable:
    try:
        emptied = fault.file.endswith(ITEMS) and os.path.getsize(fault.file) == 0
    except OSError:
        emptied = False
    return Unreadable(fault.file, f"{fault.reason} (0 bytes): {EMPTIED}") if emptied else fault


SUPPORT = FormatSupport(
    AgentMemory,
    transfer=TransferSupport(
        belongings=(
            "entities/*",
            "metrics/*",
            "logs/*",
            "checkpoints/*",
            "pipelines/*",
            "status.json",
        ),
        convert=convert,
    ),
    upkeep=upkeep_rules(AgentMemory.rules),
)
