"""Plan changes of existing facts.

Only DELETE deletes: retiring and superseding make a fact historical, restoring makes it active
again. A note is a file: its text can be changed, or the file deleted.
"""

from __future__ import annotations

from pathlib import Path

from memtui.changes import Act, Change, Edit, Outcome, Plan
from memtui.dataclass import replace
from memtui.errors import Refused
from memtui.files.json.editing import put_member
from memtui.files.json.locating import load
from memtui.model import Memory
from memtui.stores.agent_memory import records, shard_key
from memtui.stores.agent_memory.adding import mark_historical, new_fact, plan_add, slug_and_type
from memtui.stores.agent_memory.notes import NOTE_ACTS, delete_note, edit_note
from memtui.stores.agent_memory.records import (
    ACTIVE,
    HISTORICAL,
    INDENT,
    FactContext,
    FactFile,
    edge_link,
)
from memtui.stores.agent_memory.rules import broken_rule, most_similar
from memtui.stores.importing import texts_in
from memtui.stores.json_file import NamedRecord
from memtui.stores.plans import (
    ActionSupport,
    dangling_warnings,
    ended_link_edits,
    plan_merge,
    plan_one,
    plan_sidecar_act,
    plan_successor,
    requested_link,
    successor_warnings,
    tag_edits,
)
from memtui.stores.values import (
    UNADDRESSABLE,
    changed_values,
    check_unchanged,
    content_of,
    text_of,
    word_of,
)

FACT_FIELDS = frozenset({"content", "type", "entity", "tags"})


def not_on(act: Act, memory: Memory) -> str:
    """Why this act cannot be done on this memory; empty when it can."""
    if memory.kind == "note" and act not in NOTE_ACTS:
        return "a note is a file without a status: edit its text, or delete it"
    fault = memory.extra.get(UNADDRESSABLE)
    if fault:
        return f"it cannot be changed: {fault}"
    historical = memory.extra.get("status") == HISTORICAL
    if act is Act.RETIRE and historical:
        return "it is historical already"
    if act is Act.RESTORE and not historical:
        return "it is active already"
    return ""


def slug_of(memory: Memory) -> str:
    """The entity folder that a fact lies in."""
    return Path(memory.origin.file).parent.name


def shard_of(memory: Memory) -> str:
    """Key of the shard that holds the memory."""
    if memory.kind == "note" and memory.type != "summary":
        return memory.id
    return shard_key(slug_of(memory))


def _unchanged_record(memory: Memory, file: FactFile, new_text: str | None = None) -> NamedRecord:
    named = file.record(memory.id)
    now = text_of(named.value.get("content"))
    check_unchanged(memory, now, str(file.items.path), new_text)
    return named


def _edit(change: Change, memory: Memory, context: FactContext) -> Plan:
    if memory.kind == "note":
        return edit_note(change, memory, context)
    changed = changed_values(change, memory, FACT_FIELDS)
    file = context.open(slug_of(memory))
    new_text = content_of(change) if "content" in changed else None
    named = _unchanged_record(memory, file, new_text)
    raw = named.record.raw
    warnings: list[str] = []
    if new_text is not None:
        raw = put_member(raw, "content", new_text)
        broken = broken_rule(new_text, context.rules)
        warnings += [f"agent-memory would reject this as new: {broken}"] if broken else []
    if "type" in changed:
        raw = put_member(raw, "entityType", word_of(change, "type", memory.type))
    edits: tuple[Edit, ...] = ()
    if "entity" in changed:
        edits = _move(change, memory, context, file, named, raw)
        warnings += _move_warnings(memory, file, named)
    elif raw != named.record.raw:
        edits = (file.items.edit(named, raw),)
        warnings += _path_warnings(file, named, raw)
    if "tags" in changed:
        edits += tag_edits(context.sidecar_entry(memory), changed["tags"])
    return plan_one(change, memory, edits, tuple(warnings))


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
    entry = dict(context.sidecar.entry(memory.id))
    entry.pop("shard", None)
    entry_edits = context.fact_entry_edits(slug, memory.id, **entry) if entry else ()
    return (file.items.edit(named, None), *target.items.insert_raw(memory.id, raw), *entry_edits)


def _move_warnings(memory: Memory, file: FactFile, named: NamedRecord) -> list[str]:
    warnings = _path_warnings(file, named, None)
    if memory.supersedes or memory.superseded_by:
        warnings.append("links between this fact and those it leaves now dangle")
    return warnings


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
    file = context.open(slug_of(memory))
    _unchanged_record(memory, file)
    return plan_one(change, memory, mark_historical(file, memory.id), ends=True)


def _restore(change: Change, memory: Memory, context: FactContext) -> Plan:
    file = context.open(slug_of(memory))
    edits = file.items.put(file.record(memory.id), {"status": ACTIVE})
    return plan_one(change, memory, edits, successor_warnings(memory))


def _supersede(change: Change, memory: Memory, context: FactContext) -> Plan:
    file = context.open(slug_of(memory))
    content = content_of(change)
    named = _unchanged_record(memory, file, content)
    broken = broken_rule(content, context.rules)
    if broken and not change.force:
        return Plan((change,), outcome=Outcome.REJECTED, reason=broken, refs=(memory.ref,))
    value = new_fact(change, file, text_of(named.value.get("entityType")), context.now)
    value["supersedes"] = memory.id
    if not change.fields.get("type") and isinstance(named.value.get("entityType"), str):
        value["entityType"] = named.value["entityType"]
    others = [fact for fact in file.active if fact.id != memory.id]
    repeated = most_similar(content, others, context.rules)
    warnings = [f"forced: {broken}"] if broken else []
    if repeated is not None:
        warnings.append(f"it is {repeated[1]:.2f} similar to another active fact, {repeated[0].id}")
    id = value["id"]
    edits = (
        *mark_historical(file, memory.id),
        *file.items.insert(value, INDENT),
        *context.fact_entry_edits(file.slug, id, tags=texts_in(change, "tags")),
    )
    reason = f"Added fact {id} to {file.slug}, marked {memory.id} historical"
    return plan_successor(change, memory, context.ref(id), edits, reason, tuple(warnings))


def _delete(change: Change, memory: Memory, context: FactContext) -> Plan:
    if memory.kind == "note":
        return delete_note(change, memory, context)
    file = context.open(slug_of(memory))
    named = _unchanged_record(memory, file)
    edits: tuple[Edit, ...] = (
        file.items.edit(named, None),
        *context.sidecar_entry(memory).removal(),
    )
    warnings = (*dangling_warnings(memory, file.memories), *_path_warnings(file, named, None))
    return plan_one(change, memory, edits, warnings)


def _merge(change: Change, memory: Memory, context: FactContext) -> Plan:
    """Keep this fact, with new text if given, and make the others historical."""
    others = context.others(change, memory)
    if any(other.kind != "fact" for other in others):
        raise Refused("only facts can be merged", where=memory.ref)
    file = context.open(slug_of(memory))
    edits: tuple[Edit, ...] = ()
    if change.fields.get("content") not in (None, "", memory.content):
        named = _unchanged_record(memory, file, content_of(change))
        edits = file.items.put(named, {"content": content_of(change)})
    edits += context.sidecar_entry(memory).superseding(others)
    for other in others:
        edits += _supersede_by_merge(other, memory, context)
    return plan_merge(change, memory, others, edits)


def _supersede_by_merge(other: Memory, into: Memory, context: FactContext) -> tuple[Edit, ...]:
    why = not_on(Act.SUPERSEDE, other)
    if why:
        raise Refused(why, where=other.ref)
    file = context.open(slug_of(other))
    _unchanged_record(other, file)
    edits: tuple[Edit, ...] = ()
    if other.extra.get("status") != HISTORICAL:
        edits = mark_historical(file, other.id)
    return edits + context.successor_edits(file.slug, other.id, into.id)


def _by_slug(change: Change, memory: Memory, context: FactContext) -> Change:
    """Replace the path of an entity in the target by its slug, which the format's edges name.

    `companies/acme` becomes `acme`; the id of a memory, and a target that a link of this memory
    has already, stay as they are.
    """
    _, target = requested_link(change, memory)
    known = {other.id for other in context.view.memories(context.label)}
    if target in known or any(link.target == target for link in memory.links):
        return change
    if any(other.entity == target for other in context.view.memories(context.label)):
        return replace(change, fields={**change.fields, "target": slug_and_type(target)[0]})
    return change


def _link(change: Change, memory: Memory, context: FactContext) -> Plan:
    change = _by_slug(change, memory, context)
    return plan_sidecar_act(change, context.sidecar_entry(memory), context.now)


def _unlink(change: Change, memory: Memory, context: FactContext) -> Plan:
    """End a link; a fact's own edge becomes null, which the format reads as none, and is kept as
    ended in the sidecar."""
    change = _by_slug(change, memory, context)
    edge = edge_link(memory.extra.get("edge"))
    if edge is None or requested_link(change, memory) != (edge.relation, edge.target):
        return plan_sidecar_act(change, context.sidecar_entry(memory), context.now)
    file = context.open(slug_of(memory))
    edits = file.items.put(file.record(memory.id), {"edge": None})
    ended = ended_link_edits(change, context.sidecar_entry(memory), context.now)
    return plan_one(change, memory, (*edits, *ended))


ACTS = ActionSupport(
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
        Act.UNLINK: _unlink,
    },
    shard_of=shard_of,
    not_on=not_on,
)
