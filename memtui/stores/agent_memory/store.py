"""One agent-memory folder as a store: what to read, and how each shard reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from memtui.changes import Act, Change, Edit, Plan
from memtui.errors import Refused, UnreadableFile
from memtui.model import Memory
from memtui.stores.agent_memory import facts, layout, notes, planning
from memtui.stores.agent_memory.adding import Desk, plan_add
from memtui.stores.agent_memory.fact_file import FactFile
from memtui.stores.agent_memory.rules import Rules
from memtui.stores.base import Reading, Recorder, Scan, Shard, Unreadable, View
from memtui.stores.json_file import LastRead, named_records, read_json
from memtui.stores.json_file import unreadable as as_unreadable
from memtui.stores.places import scan_of
from memtui.stores.sidecar import KEPT, SidecarReader, laid_over, read_kept

RULES = Rules()
"""The program's own constants."""

EMPTIED = "agent-memory would answer ADDED here and write nothing"
"""What its scripts do with an items.json of 0 bytes (ran): the reason why it is worth a warning."""


def _system_clock() -> datetime:
    return datetime.now(UTC)


class AgentMemory:
    """The memory of one MEMORY_HOME."""

    format = "agent-memory"

    def __init__(
        self,
        root: Path,
        label: str,
        now: Callable[[], datetime] = _system_clock,
        rules: Rules = RULES,
    ) -> None:
        self.root = root
        self.label = label
        self.now = now
        self.rules = rules
        self.sidecar = SidecarReader(root)
        self._last: LastRead[FactFile] = LastRead()

    @property
    def read_only(self) -> str:
        return planning.writable(self.root)

    @property
    def editable(self) -> frozenset[str]:
        return planning.FACT_FIELDS

    def scan(self) -> Scan:
        """A shard for each entity folder, each daily note, and MEMORY.md one level up."""
        found = (*layout.entities(self.root), *layout.notes(self.root))
        return scan_of(self.root, self.sidecar.current(), found)

    def read(self, shard: Shard) -> Reading:
        """An entity's facts and summary, or one note."""
        if shard.key == KEPT:
            others = [other for other in self.scan().shards if other.key != KEPT]
            return read_kept(self.sidecar.current(), others, self.label)
        is_entity = shard.key.startswith(f"{layout.ENTITIES}/")
        reading = self._entity(shard) if is_entity else self._note(shard)
        memories = laid_over(reading.memories, self.sidecar.current(), shard.key, self.label)
        return Reading(facts.with_successors(memories), reading.unreadable)

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

    def refusal(self, act: Act, memory: Memory | None) -> str:
        """Why this act cannot be done; empty when it can."""
        return self.read_only or planning.refusal(act, memory)

    def plan(self, change: Change, view: View) -> Plan:
        """The exact edits of a change. Raises Refused, Conflict or RefError; writes nothing."""
        memory = None if change.act is Act.ADD else view.get(change.ref)
        why = self.refusal(change.act, memory)
        if why:
            raise Refused(why, where=change.ref or str(self.root))
        sidecar = self.sidecar.current()
        desk = Desk(self.root, self.label, sidecar, self.rules, self.now, self._last)
        if change.act is Act.ADD:
            return plan_add(change, desk)
        return planning.plan_existing(change, desk, view)

    def apply(self, edits: Sequence[Edit], recorder: Recorder) -> None:
        """Make the edits. Raises Conflict or SaveError."""
        from memtui.files.commit import commit

        commit(edits, recorder)


def _with_advice(fault: Unreadable) -> Unreadable:
    try:
        emptied = fault.file.endswith(layout.ITEMS) and os.path.getsize(fault.file) == 0
    except OSError:
        emptied = False
    return Unreadable(fault.file, f"{fault.reason} (0 bytes): {EMPTIED}") if emptied else fault
