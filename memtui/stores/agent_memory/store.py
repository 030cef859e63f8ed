"""One agent-memory folder as a store: its shards, and plans of every act.

Only DELETE deletes: retiring and superseding make a fact historical, restoring makes it active
again. A note is a file: its text can be changed, or the file deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.errors import RefError, Refused, UnreadableFile
from memtui.files.json.editing import put_member
from memtui.files.json.locating import load
from memtui.model import Memory
from memtui.stores import accesses, importing, plans
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
    mark_historical,
    new_fact,
    plan_add,
    slug_and_type,
)
from memtui.stores.agent_memory.records import (
    ACTIVE,
    HISTORICAL,
    INDENT,
    NOTE_ACTS,
    FactContext,
    FactFile,
    FactRules,
    broken_rule,
    delete_note,
    edge_link,
    edit_note,
    most_similar,
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
from memtui.stores.json_file import NamedRecord, named_records, read_json
from memtui.stores.scanning import FoundShard, LastRead, as_unreadable
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import (
    UNADDRESSABLE,
    changed_values,
    check_unchanged,
    content_of,
    from_iso,
    text_of,
    word_of,
)

# ---- changing ------------------------------------------------------------------------------------

FACT_FIELDS = frozenset({"content", "type", "entity", "tags"})


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


def _open(
    memory: Memory, context: FactContext, new_text: str | None = None
) -> tuple[FactFile, NamedRecord]:
    """The file of a fact and its record, which still says the same. Raises Conflict."""
    file = context.open(_slug_of(memory))
    named = file.record(memory.id)
    now = text_of(named.value.get("content"))
    check_unchanged(memory, now, str(file.items.path), new_text)
    return file, named


def _edit(change: Change, memory: Memory, context: FactContext) -> Plan:
    if memory.kind == "note":
        return edit_note(change, memory, context)
    changed = changed_values(change, memory, FACT_FIELDS)
    new_text = content_of(change) if "content" in changed else None
    file, named = _open(memory, context, new_text)
    raw = named.record.raw
    warnings: list[str] = []
    if new_text is not None:
        raw = put_member(raw, "content", new_text)
        if broken := broken_rule(new_text, context.store.rules):
            warnings.append(f"agent-memory would reject this as new: {broken}")
    if "type" in changed:
        raw = put_member(raw, "entityType", word_of(change, "type", memory.type))
    edits: tuple[Edit, ...] = ()
    if "entity" in changed:
        edits = _move(change, memory, context, file, named, raw)
        warnings += _path_warnings(file, named, None)
        if memory.supersedes or memory.superseded_by:
            warnings.append("links between this fact and those it leaves now dangle")
    elif raw != named.record.raw:
        edits = (file.items.edit(named, raw),)
        warnings += _path_warnings(file, named, raw)
    if "tags" in changed:
        edits += plans.tag_edits(context.sidecar_entry(memory), changed["tags"])
    return plans.plan_one(change, memory, edits, tuple(warnings))


def _move(
    change: Change,
    memory: Memory,
    context: FactContext,
    file: FactFile,
    named: NamedRecord,
    raw: str,
) -> tuple[Edit, ...]:
    """Move the fact from one entity's file to another's."""
    slug, stated = slug_and_type(word_of(change, "entity", memory.entity))
    if slug == file.slug:
        raise Refused(
            "the entity's first word follows from the type of its first fact",
            do="change the type instead",
        )
    target = context.open(slug)
    if any(other.id == memory.id for other in target.records):
        raise Refused(f"{slug} already holds a fact with this id")
    if stated and not target.items.exists:
        raw = put_member(raw, "entityType", stated)
    entry = {key: v for key, v in context.sidecar.entry(memory.id).items() if key != "shard"}
    entry_edits = context.fact_entry_edits(slug, memory.id, **entry) if entry else ()
    return (file.items.edit(named, None), *target.items.insert_raw(memory.id, raw), *entry_edits)


def _path_warnings(file: FactFile, named: NamedRecord, raw: str | None) -> list[str]:
    """Warn when the path of the entity changes because this fact does (`raw` None: is removed).

    The program's own index takes the type of the first fact too (build-entity-index.sh:81), so the
    path could only be kept by not doing what is asked.
    """
    before = records.first_type(each.value for each in file.records)
    changed = [] if raw is None else [load(raw)]
    after = records.first_type(
        value for each in file.records for value in (changed if each is named else [each.value])
    )
    if before == after or len(file.records) == 1:
        return []
    was, will = (records.entity_path(word, file.slug) for word in (before, after))
    return [f"{was} becomes {will}: an entity goes by the type of its first fact"]


def _retire(change: Change, memory: Memory, context: FactContext) -> Plan:
    file, _ = _open(memory, context)
    return plans.plan_one(change, memory, mark_historical(file, memory.id), ends=True)


def _restore(change: Change, memory: Memory, context: FactContext) -> Plan:
    file = context.open(_slug_of(memory))
    edits = file.items.put(file.record(memory.id), {"status": ACTIVE})
    return plans.plan_one(change, memory, edits, plans.successor_warnings(memory))


def _supersede(change: Change, memory: Memory, context: FactContext) -> Plan:
    content = content_of(change)
    file, named = _open(memory, context, content)
    broken = broken_rule(content, context.store.rules)
    if broken and not change.force:
        return Plan((change,), outcome=Outcome.REJECTED, reason=broken, refs=(memory.ref,))
    value = new_fact(change, file, text_of(named.value.get("entityType")), context.now)
    value["supersedes"] = memory.id
    if not change.fields.get("type") and isinstance(named.value.get("entityType"), str):
        value["entityType"] = named.value["entityType"]
    others = [fact for fact in file.active if fact.id != memory.id]
    repeated = most_similar(content, others, context.store.rules)
    warnings = [f"forced: {broken}"] if broken else []
    if repeated is not None:
        warnings.append(f"it is {repeated[1]:.2f} similar to another active fact, {repeated[0].id}")
    id = value["id"]
    edits = (
        *mark_historical(file, memory.id),
        *file.items.insert(value, INDENT),
        *context.fact_entry_edits(file.slug, id, tags=importing.texts_in(change, "tags")),
    )
    reason = f"Added fact {id} to {file.slug}, marked {memory.id} historical"
    return plans.plan_successor(change, memory, context.ref(id), edits, reason, tuple(warnings))


def _delete(change: Change, memory: Memory, context: FactContext) -> Plan:
    if memory.kind == "note":
        return delete_note(change, memory, context)
    file, named = _open(memory, context)
    edits: tuple[Edit, ...] = (file.items.edit(named, None),)
    edits += context.sidecar_entry(memory).removal()
    warnings = (*plans.dangling_warnings(memory, file.memories), *_path_warnings(file, named, None))
    return plans.plan_one(change, memory, edits, warnings)


def _merge(change: Change, memory: Memory, context: FactContext) -> Plan:
    """Keep this fact, with new text if given, and make the others historical."""
    others = context.others(change, memory)
    if any(other.kind != "fact" for other in others):
        raise Refused("only facts can be merged", where=memory.ref)
    edits: tuple[Edit, ...] = ()
    if change.fields.get("content") not in (None, "", memory.content):
        file, named = _open(memory, context, content_of(change))
        edits = file.items.put(named, {"content": content_of(change)})
    edits += context.sidecar_entry(memory).superseding(others)
    for other in others:
        if why := _not_on(Act.SUPERSEDE, other):
            raise Refused(why, where=other.ref)
        file, _ = _open(other, context)
        if other.extra.get("status") != HISTORICAL:
            edits += mark_historical(file, other.id)
        edits += context.successor_edits(file.slug, other.id, memory.id)
    return plans.plan_merge(change, memory, others, edits)


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
    file = context.open(_slug_of(memory))
    edits = file.items.put(file.record(memory.id), {"edge": None})
    ended = plans.ended_link_edits(change, entry, context.now)
    return plans.plan_one(change, memory, (*edits, *ended))


ACTS = plans.ActionSupport(
    editable=FACT_FIELDS,
    add=plan_add,
    handlers={
        Act.EDIT: _edit,
        Act.RETYPE: _edit,
        Act.SUPERSEDE: _supersede,
        Act.RETIRE: _retire,
        Act.RESTORE: _restore,
        Act.DELETE: _delete,
        Act.MERGE: _merge,
        Act.LINK: _link,
        Act.UNLINK: _link,
    },
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
