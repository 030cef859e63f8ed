"""One agent-memory folder as a store: its shards, and plans of every act.

Only DELETE deletes: retiring and superseding make a fact historical, restoring makes it active
again. A note is a file: its text can be changed, or the file deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import Conflict, RefError, Refused, UnreadableFile
from memtui.files.json.editing import put_member
from memtui.files.json.locating import load
from memtui.files.reading import safe_join
from memtui.model import Memory
from memtui.stores import accesses, plans
from memtui.stores.accesses import AccessFile, AccessKey
from memtui.stores.agent_memory import (
    ENTITIES,
    ITEMS,
    METRICS,
    SUMMARY,
    TACIT,
    find_entities,
    find_notes,
    records,
    shard_key,
)
from memtui.stores.agent_memory.adding import (
    convert,
    new_fact,
    plan_add,
    slug_and_type,
)
from memtui.stores.agent_memory.records import (
    ACTIVE,
    HISTORICAL,
    INDENT,
    FactFile,
    FactRules,
    broken_rule,
    edge_link,
    most_similar,
    parse_note,
    read_fact_file,
    upkeep_rules,
)
from memtui.stores.base import (
    LoadedText,
    Reading,
    ReadTime,
    Shard,
    StoreView,
    Unreadable,
    loaded_whole,
)
from memtui.stores.file_store import FileStore
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.json_file import named_records, read_json, with_members
from memtui.stores.markdown.document_store import OpenDocument
from memtui.stores.record_acts import (
    Members,
    RecordTarget,
    Successor,
    Target,
    member,
    record_acts,
)
from memtui.stores.scanning import FoundShard, LastRead, as_unreadable, planned_text
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import (
    UNADDRESSABLE,
    content_of,
    from_iso,
    word_of,
)

# ---- changing ------------------------------------------------------------------------------------

NOTE_ACTS = frozenset({Act.EDIT, Act.DELETE}) | plans.SIDECAR_ACTS


def _not_on(act: Act, memory: Memory) -> str:
    if memory.kind == "note" and act not in NOTE_ACTS:
        return "a note is a file without a status: edit its text, or delete it"
    if fault := memory.extra.get(UNADDRESSABLE):
        return f"it cannot be changed: {fault}"
    historical = memory.extra.get("status") == HISTORICAL
    if act is Act.RETIRE and historical:
        return "it is historical already"
    return "it is active already" if act is Act.RESTORE and not historical else ""


def _slug_of(memory: Memory) -> str:
    """The entity folder that a fact lies in."""
    return Path(memory.origin.file).parent.name


def _shard_of(memory: Memory) -> str:
    if memory.kind == "note" and memory.type != "summary":
        return memory.id
    return shard_key(_slug_of(memory))


class Fact(RecordTarget):
    """One fact of an entity's file."""

    gone = "another program removed this fact"
    context: FactContext

    def __init__(self, memory: Memory, change: Change, context: FactContext) -> None:
        self.home = context.open(_slug_of(memory))
        super().__init__(memory, change, context, self.home.items, self.home.by_id.get(memory.id))
        self.to: FactFile | None = None
        """The file of another entity that it moves to."""

    def _content(self, text: str) -> Members:
        if broken := broken_rule(text, self.context.store.rules):
            self.warnings.append(f"agent-memory would reject this as new: {broken}")
        return {"content": text}

    def _entity(self, _: object) -> Members:
        slug, stated = slug_and_type(word_of(self.change, "entity", self.memory.entity))
        if slug == self.home.slug:
            raise Refused(
                "the entity's first word follows from the type of its first fact",
                do="change the type instead",
            )
        self.to = self.context.open(slug)
        if self.memory.id in self.to.by_id:
            raise Refused(f"{slug} already holds a fact with this id")
        return {"entityType": stated} if stated and not self.to.items.exists else {}

    fields = MappingProxyType(
        {"content": _content, "type": member("entityType", "type"), "entity": _entity}
    )

    def write(self, members: Members, beside: Mapping[str, Any]) -> tuple[Edit, ...]:
        if self.to is None:
            return super().write(members, beside)
        if self.memory.supersedes or self.memory.superseded_by:
            self.warnings.append("links between this fact and those it leaves now dangle")
        raw = with_members(self.named.record.raw, members)
        entry = {**self.context.sidecar.entry(self.memory.id), **beside}
        entry.pop("shard", None)
        edits = (*self.remove(), *self.to.items.insert_raw(self.memory.id, raw))
        return (*edits, *self.context.fact_entry_edits(self.to.slug, self.memory.id, **entry))

    def put(self, members: Members) -> tuple[Edit, ...]:
        edits = super().put(members)
        for edit in edits:
            self._warn_of_path(edit.after)
        return edits

    def remove(self) -> tuple[Edit, ...]:
        self._warn_of_path(None)
        return super().remove()

    def _warn_of_path(self, raw: str | None) -> None:
        """Warn when the path of the entity changes because this fact does.

        The program's own index takes the type of the first fact too (build-entity-index.sh:81), so
        the path could only be kept by not doing what is asked.
        """
        before = records.first_type(each.value for each in self.home.records)
        changed = [] if raw is None else [load(raw)]
        after = records.first_type(
            value
            for each in self.home.records
            for value in (changed if each is self.named else [each.value])
        )
        if before != after and len(self.home.records) > 1:
            was, will = (records.entity_path(word, self.home.slug) for word in (before, after))
            self.warnings.append(
                f"{was} becomes {will}: an entity goes by the type of its first fact"
            )

    def end(self, status: str, by: str = "") -> tuple[Edit, ...]:  # noqa: ARG002
        """Make it historical; the record of a new fact names what it supersedes, that of one that
        was there does not."""
        is_named = self.change.act is Act.SUPERSEDE
        beside = {} if is_named else self.succeeded_by(by)
        return (*self.put({"status": HISTORICAL}), *self.entry.set(**beside))

    def resume(self) -> tuple[Edit, ...]:
        return self.put({"status": ACTIVE})

    def rejection(self) -> Plan | None:
        broken = broken_rule(content_of(self.change), self.context.store.rules)
        if broken and not self.change.force:
            return Plan(
                (self.change,), outcome=Outcome.REJECTED, reason=broken, refs=(self.memory.ref,)
            )
        self.warnings += [f"forced: {broken}"] if broken else []
        return None

    def successor(self) -> Successor:
        value = new_fact(self.change, self.home, "", self.context.now)
        value["supersedes"] = self.memory.id
        if not self.change.fields.get("type") and isinstance(self.value.get("entityType"), str):
            value["entityType"] = self.value["entityType"]
        others = [f for f in self.home.active(self.context.label) if f.id != self.memory.id]
        repeated = most_similar(value["content"], others, self.context.store.rules)
        if repeated is not None:
            fact, score = repeated
            self.warnings.append(f"it is {score:.2f} similar to another active fact, {fact.id}")
        id = value["id"]
        reason = f"Added fact {id} to {self.home.slug}, marked {self.memory.id} historical"
        return Successor(id, self.file.insert(value, INDENT), reason)


class Note(Target):
    """One note, which is a file; MEMORY.md lies above the root."""

    fields = MappingProxyType({"content": member("content")})

    def __init__(self, memory: Memory, change: Change, context: FactContext) -> None:
        super().__init__(memory, change, context)
        file = Path(memory.origin.file)
        text = planned_text(file, file.parent, context.view)
        if text is None:
            raise Conflict("the file is gone", where=str(file))
        self.note = OpenDocument(memory, text, parse_note(file, text))

    @property
    def where(self) -> str:
        return self.note.document.file

    @property
    def text(self) -> str:
        return self.note.document.body

    def put(self, members: Members) -> tuple[Edit, ...]:
        return self.note.text_edits(self.note.document.text_of(members["content"]))

    def remove(self) -> tuple[Edit, ...]:
        return self.note.text_edits(None)


def _by_slug(change: Change, memory: Memory, context: FactContext) -> Change:
    """Replace the path of an entity in the target by its slug, which the format's edges name.

    `companies/acme` becomes `acme`; the id of a memory, and a target that a link of this memory
    has already, stay as they are.
    """
    _, target = plans.requested_link(change, memory)
    every = list(context.view.memories(context.label))
    if any(other.id == target for other in every) or any(
        link.target == target for link in memory.links
    ):
        return change
    if any(other.entity == target for other in every):
        return replace(change, fields={**change.fields, "target": slug_and_type(target)[0]})
    return change


def _link(change: Change, memory: Memory, context: FactContext) -> Plan:
    """Make a link beside the fact, or end one; a fact's own edge becomes null, which the format
    reads as none, and is kept as ended in the sidecar."""
    change = _by_slug(change, memory, context)
    edge, asked = edge_link(memory.extra.get("edge")), plans.requested_link(change, memory)
    entry = context.sidecar_entry(memory)
    if change.act is Act.LINK or edge is None or asked != (edge.relation, edge.target):
        return plans.plan_sidecar_act(change, entry, context.now)
    fact = Fact(memory, change, context)
    edit = fact.file.edit(fact.named, put_member(fact.named.record.raw, "edge", None))
    ended = plans.ended_link_edits(change, entry, context.now)
    return plans.plan_one(change, memory, (edit, *ended))


class FactContext(plans.PlanContext):
    """The context of planning a change in one MEMORY_HOME."""

    store: AgentMemory

    def target(self, memory: Memory, change: Change) -> Target:
        return (Note if memory.kind == "note" else Fact)(memory, change, self)

    def open(self, slug: str) -> FactFile:
        """Read an entity's facts as they are now. Raises Refused."""
        folder = safe_join(self.root / ENTITIES, slug)
        files = (folder / ITEMS, folder / SUMMARY)
        return self.store.last.get(files, lambda: read_fact_file(self.root, slug), slug)

    def fact_entry_edits(self, slug: str, id: str, **values: Any) -> tuple[Edit, ...]:
        """The edit that sets these keys of a fact's sidecar entry; none when they are set."""
        return self.entry_edits(id, shard_key(slug), **values)


ACTS = record_acts(
    Fact,
    Note,
    add=plan_add,
    handlers={Act.LINK: _link, Act.UNLINK: _link},
    shard_of=_shard_of,
    not_on=_not_on,
)

# ---- the store -----------------------------------------------------------------------------------

EMPTIED = "agent-memory reports success here but saves nothing"
"""What its scripts do with an items.json of 0 bytes (ran): the reason why it is worth a warning."""
DAYS_READ = 7
"""Days of daily notes that its retrieval reads (retrieve-memory.sh, stage 4)."""
LOADED = "tacit knowledge, layer 3 of its README; other layers are retrieved by a query"


class AgentMemory(FileStore):
    """The memory of one MEMORY_HOME."""

    format = "agent-memory"
    acts = ACTS
    context = FactContext
    rules = FactRules()
    """The program's own constants."""
    last: LastRead[FactFile]

    @property
    def boundary(self) -> Path:
        """MEMORY.md lies beside the root."""
        return self.root.parent

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        """Each entity folder, each daily note, and MEMORY.md one level up."""
        yield from find_entities(self.root)
        yield from find_notes(self.root)

    def read(self, shard: Shard) -> Reading:
        """The memories, with what only the sidecar knows of their lineage said on both sides."""
        reading = super().read(shard)
        return Reading(records.with_successors(reading.memories), reading.unreadable)

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:  # noqa: ARG002
        """An entity's facts and summary, or one note."""
        slug = shard.key.removeprefix(f"{ENTITIES}/")
        is_entity = slug != shard.key
        memories: list[Memory] = []
        faults: list[Unreadable] = []
        for path in map(Path, shard.files):
            try:
                if not is_entity:
                    make = records.tacit if shard.key == TACIT else records.daily
                    memories.append(
                        make(records.read_note(path, path.parent), self.label, shard.key)
                    )
                elif path.name == ITEMS:
                    file = read_json(path, self.root)
                    named, record_faults = named_records(file, slug)
                    memories += records.facts(file, named, self.label, slug)
                    faults += record_faults
                else:
                    summary = records.read_note(path, self.root)
                    stated = records.entity_path(records.stated_type(summary.body), slug)
                    entity = memories[0].entity if memories else stated
                    id = f"{shard.key}/{SUMMARY}"
                    memories.append(records.summary(summary, self.label, id, entity, slug))
            except UnreadableFile as error:
                faults.append(_with_advice(as_unreadable(error, path)))
        return Reading(tuple(memories), tuple(faults))

    def access_file(self) -> AccessFile:
        """The file in which the retrieve script counts (retrieve-memory.sh:32-59)."""
        return AccessFile(self.root / METRICS / accesses.FILE, self.root)

    def access_key(self, memory: Memory) -> AccessKey | None:
        """A fact is `slug/id`, an entity's summary its slug; notes are not counted."""
        shard = _shard_of(memory)
        slug = shard.removeprefix(f"{ENTITIES}/")
        if slug == shard:
            return None
        if memory.kind == "note":
            return AccessKey("entities", slug, shard)
        return AccessKey("facts", f"{slug}/{memory.id}", shard)

    def read_time(self, path: str) -> ReadTime:
        """MEMORY.md is read when a session starts, all else by retrieve-memory.sh at each query:
        entities, and the notes of today and six days back (its stages 1 to 4)."""
        if path.endswith(TACIT):
            return ReadTime.NEXT_SESSION
        day = None if "/" in path else from_iso(path.removesuffix(".md"))
        is_old = day is not None and (self.now().date() - day.date()).days >= DAYS_READ
        return ReadTime.NEVER if is_old else ReadTime.SEARCHED

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """MEMORY.md, whole: the layer that is read without a query."""
        try:
            return (loaded_whole(view.get(f"{self.label}:{TACIT}"), LOADED),)
        except RefError:
            return ()


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
