"""Plan changes and imports of observations, entities and relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from memtui.changes import TEXTS, Act, Change, Edit, Kind, Outcome, Plan
from memtui.errors import Conflict, Refused, UnreadableFile
from memtui.files.json.editing import put_member, splice
from memtui.files.json.graph import ENTITY, RELATION, Graph, GraphRecord, parse_graph
from memtui.model import Memory
from memtui.stores import listed_texts
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    CONVERTED,
    convert_to_text,
    extra_in,
    plan_listed_import,
)
from memtui.stores.listed_texts import (
    LIST_HANDLERS,
    ListContext,
    ListedText,
    ListFile,
    plan_listed_add,
)
from memtui.stores.mcp_memory.records import (
    SHARD,
    entity_notes,
    note_id,
    observation_key,
    observations,
)
from memtui.stores.plans import (
    ActionSupport,
    ended_link_edits,
    plan_duplicate,
    plan_one,
    plan_sidecar_act,
    requested_link,
)
from memtui.stores.sidecar import Sidecar, is_kept
from memtui.stores.values import changed_values, word_of

DEFAULT_TYPE = "concept"
"""Type of an entity that memtui makes, where none is given."""
NO_GRAPH = Graph("", (), ())


class GraphFile(ListFile):
    """One graph file, opened to plan a change."""

    form = Kind.GRAPH

    def __init__(self, path: Path, before: str | None, sidecar: Sidecar) -> None:
        self.path, self.before, self.shard = path, before, SHARD
        try:
            self.graph = NO_GRAPH if before is None else parse_graph(before)
        except UnreadableFile as error:
            raise Refused(
                f"the file cannot be read, so it is not written: {error.what}", where=str(path)
            ) from None
        self.items = observations(self.graph, sidecar)

    def natural_id(self, group: str, text: str) -> str:
        return observation_key(group, text)

    def key(self, group: str, text: str) -> str:
        return observation_key(group, text)

    def group_of(self, memory: Memory) -> str:
        return memory.entity

    def other_ids(self, text: str) -> set[str]:
        return {note.id for note in entity_notes(parse_graph(text))} if text.strip() else set()

    def replace(self, item: ListedText, new_text: str) -> str:
        record = self.graph.entities[item.at[0]]
        return self.graph.with_record(record, record.with_observations({item.at[1]: new_text}))

    def remove(self, removed: Sequence[ListedText]) -> str:
        """The entity stays, as it does when the server deletes observations."""
        changed: dict[int, list[int]] = {}
        for item in removed:
            changed.setdefault(item.at[0], []).append(item.at[1])
        records = [(self.graph.entities[number], changed[number]) for number in changed]
        return splice(
            self.graph.text,
            [(each.start, each.end, each.with_observations({}, at)) for each, at in records],
        )

    def insert(self, group: str, new_text: str, type: str = "") -> str:
        """Insert at the end of the entity's observations; a new entity goes after the last one."""
        known = self.entity(group)
        if known is None:
            value = {"name": group, "entityType": type or DEFAULT_TYPE, "observations": [new_text]}
            return self.graph.with_new(ENTITY, [value])
        raw = known.with_observations({}, (), {len(known.observations): [new_text]})
        return self.graph.with_record(known, raw)

    def entity(self, name: str) -> GraphRecord | None:
        """The first entity of this name, which is the one that the server uses."""
        return next((each for each in self.graph.entities if each.text("name") == name), None)

    def related(self, name: str, relation: str, target: str) -> list[GraphRecord]:
        triple = (name, relation, target)
        return [
            each
            for each in self.graph.relations
            if (each.text("from"), each.text("relationType"), each.text("to")) == triple
        ]


def is_note(memory: Memory) -> bool:
    return memory.id == note_id(memory.entity)


def _graph(memory: Memory, context: ListContext) -> GraphFile:
    file = context.file_of(memory)
    assert isinstance(file, GraphFile)
    return file


def _entity_refs(entity: str, context: ListContext) -> tuple[str, ...]:
    """Refs of all memories of an entity."""
    every = context.view.memories(context.label)
    return tuple(memory.ref for memory in every if memory.entity == entity)


def _not_on(act: Act, memory: Memory) -> str:
    if memory.kind == "note":
        if act in (Act.EDIT, Act.SUPERSEDE, Act.RETIRE, Act.MERGE):
            return "it is an entity of which nothing is observed: add an observation"
        if act is Act.RETYPE and memory.extra.get("only_in_relations"):
            return "only relations name this entity"
    return listed_texts.not_on(act, memory)


def _edit(change: Change, memory: Memory, context: ListContext) -> Plan:
    """Plan an edit of the text, the sidecar's values and the type of the whole entity."""
    fields = dict(change.fields)
    new_type = fields.pop("type", memory.type)
    if new_type == memory.type:
        return listed_texts.plan_edit(replace(change, fields=fields), memory, context)
    if changed_values(replace(change, fields=fields), memory, listed_texts.EDITABLE):
        raise Refused("the type is changed by itself, for the whole entity", where=memory.ref)
    type = word_of(change, "type", "")
    if not type:
        raise Refused("an entity has a type", where=memory.ref)
    file = _graph(memory, context)
    known = file.entity(memory.entity)
    if known is None:
        raise Conflict("another program removed the entity", where=str(file.path))
    after = file.graph.with_record(known, put_member(known.raw, "entityType", type))
    plan = plan_one(change, memory, file.edit(after))
    others = (ref for ref in _entity_refs(memory.entity, context) if ref != memory.ref)
    return replace(plan, refs=(memory.ref, *others), reason=f"of all of {memory.entity}")


def _delete(change: Change, memory: Memory, context: ListContext) -> Plan:
    if not is_note(memory):
        return listed_texts.plan_delete(change, memory, context)
    file = _graph(memory, context)
    removed = [each for each in file.graph.entities if each.text("name") == memory.entity]
    ends = ("from", "to")
    removed += [r for r in file.graph.relations if memory.entity in (r.text(end) for end in ends)]
    after = file.graph.without(removed)
    edits = (*file.edit(after), *context.sidecar_entry(memory).removal())
    refs = (memory.ref, *(r for r in context.other_refs(file, after) if r != memory.ref))
    reason = "Deletes the entity and its relations"
    return Plan((change,), edits, Outcome.DONE, reason, refs)


def _link(change: Change, memory: Memory, context: ListContext) -> Plan:
    """Plan a relation if it leads to an entity of the graph; else a link in the sidecar."""
    file = _graph(memory, context)
    relation, target = requested_link(change, memory)
    to_entity = file.entity(target) is not None and not is_kept(memory)
    existing = file.related(memory.entity, relation, target)
    edits: tuple[Edit, ...] = ()
    if change.act is Act.LINK and to_entity:
        if not relation.strip() or "\n" in relation:
            raise Refused("a relation is one line of text")
        if not existing:
            value = {"from": memory.entity, "to": target, "relationType": relation}
            after = file.graph.with_new(RELATION, [value])
            edits = file.edit(after)
    elif change.act is Act.UNLINK and existing:
        after = file.graph.without(existing)
        ended = ended_link_edits(change, context.sidecar_entry(memory), context.now)
        edits = (*file.edit(after), *ended)
    else:
        return plan_sidecar_act(change, context.sidecar_entry(memory), context.now)
    plan = plan_one(change, memory, edits)
    others = (ref for ref in _entity_refs(memory.entity, context) if ref != memory.ref)
    notes = context.other_refs(file, after) if edits else ()
    refs = tuple(dict.fromkeys((memory.ref, *others, *notes)))
    return replace(plan, refs=refs, reason=plan.reason or f"A relation of {memory.entity}")


def _add(change: Change, context: ListContext) -> Plan:
    file = context.open_list(SHARD, context.view)
    entity = str(change.fields.get("entity") or "").strip()
    if not entity:
        raise Refused("an observation belongs to an entity", do="name the entity")
    return plan_listed_add(change, context, file, entity, word_of(change, "type", ""))


def plan_import(change: Change, context: ListContext) -> Plan:
    """Plan the import of one observation. Raises Refused."""
    file = context.open_list(SHARD, context.view)
    entity = str(change.fields.get("entity") or "").strip()
    if not entity:
        raise Refused("an observation belongs to an entity", where=str(change.fields["id"]))
    if change.fields.get("kind") == "note" and "only_in_relations" in extra_in(change):
        return plan_duplicate(change, "an entity without observations")
    plan = plan_listed_import(change, context, file, entity)
    known = file.entity(entity) if isinstance(file, GraphFile) else None
    type = str(change.fields.get("type") or "")
    is_written = any(edit.kind in TEXTS for edit in plan.edits)
    if is_written and CONVERTED in extra_in(change) and known is not None and type:
        has_other = known.text("entityType") != type
        return replace(plan, lost=("type (the entity has another)",) if has_other else ())
    return plan


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to an observation of its entity, or of its store if it has none."""
    return convert_to_text(memory, memory.entity or memory.store, type=memory.type)


ACTS = ActionSupport(
    editable=listed_texts.EDITABLE | {"type"},
    add=_add,
    add_imported=plan_import,
    handlers={
        **LIST_HANDLERS,
        Act.EDIT: _edit,
        Act.RETYPE: _edit,
        Act.DELETE: _delete,
        Act.LINK: _link,
        Act.UNLINK: _link,
    },
    shard_of=lambda _: SHARD,
    not_on=_not_on,
)
