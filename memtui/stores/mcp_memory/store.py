"""A graph file as a store: one shard, because relations connect all of it.

Each observation is a fact of its entity, which gives the path and, by `entityType`, the type. An
entity without observations, and one that only relations name as their start, is a note with its
name as text. Relations are links of the first memory of the entity that they start from. An id is
a digest of entity and observation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from memtui.changes import TEXTS, Act, Change, Edit, Kind, Outcome, Plan
from memtui.errors import Conflict, Refused
from memtui.files.json.editing import put_member, splice
from memtui.files.json.graph import ENTITY, RELATION, Graph, GraphRecord, parse_graph
from memtui.model import Link, Memory, Place
from memtui.stores import listed_acts, listed_texts, plans
from memtui.stores.base import ReadTime, Unreadable
from memtui.stores.file_store import explain_read_only
from memtui.stores.format import ConvertedMemory, FormatSupport, TransferSupport
from memtui.stores.importing import CONVERTED, extra_in, is_import
from memtui.stores.listed_texts import ListContext, ListedText, ListFile, importance_in, text_key
from memtui.stores.mcp_memory import graph_file
from memtui.stores.scanning import listed_faults
from memtui.stores.sidecar import is_kept
from memtui.stores.values import changed_values, memory_name, word_of

SHARD = "graph"
DEFAULT_TYPE = "concept"
"""Type of an entity that memtui makes, where none is given."""
_KNOWN = frozenset({"type", "name", "entityType", "observations"})


def note_id(entity: str) -> str:
    return f"entity-{text_key(entity)}"


def entity_notes(graph: Graph) -> dict[str, GraphRecord]:
    """The entities that have no observation, or that only relations name: the record of each."""
    observed = {record.name for record in graph.entities if record.observations}
    starts = [(each.text("from"), each) for each in graph.relations]
    named = [(record.name, record) for record in graph.entities]
    found: dict[str, GraphRecord] = {}
    for name, record in [*named, *(each for each in starts if each[0].strip())]:
        if name not in observed:
            found.setdefault(name, record)
    return found


class GraphFile(ListFile):
    """One graph file: the lists are the entities, their texts the observations."""

    form = Kind.GRAPH
    prefix = ""

    def parse(self, text: str) -> Iterator[ListedText]:
        self.graph = parse_graph(text) if text or self.before is not None else Graph("", (), ())
        for number, record in enumerate(self.graph.entities):
            for index, observation in enumerate(record.observations):
                at = number, index
                yield ListedText(str(observation), 0, 0, record.line, record.name, at)

    def digest(self, group: str, text: str) -> str:
        return text_key(f"{group}\0{text}")

    def fit(self, text: str) -> str:
        return text

    def other_ids(self, text: str) -> set[str]:
        return set(map(note_id, entity_notes(parse_graph(text)))) if text.strip() else set()

    def replace(self, item: ListedText, new_text: str) -> str:
        number, index = item.native
        record = self.graph.entities[number]
        return self.graph.with_record(record, record.with_observations({index: new_text}))

    def remove(self, removed: Sequence[ListedText]) -> str:
        """The entity stays, as it does when the server deletes observations."""
        changed: dict[int, list[int]] = {}
        for item in removed:
            number, index = item.native
            changed.setdefault(number, []).append(index)
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
        return next((each for each in self.graph.entities if each.name == name), None)

    def related(self, name: str, relation: str, target: str) -> list[GraphRecord]:
        return [each for each in self.graph.relations if each.triple == (name, relation, target)]


def _graph(memory: Memory, context: ListContext) -> GraphFile:
    file = context.file_of(memory)
    assert isinstance(file, GraphFile)
    return file


def _entity_refs(memory: Memory, context: ListContext) -> tuple[str, ...]:
    """Refs of all memories of the entity of a memory, which comes first."""
    every = context.view.memories(context.label)
    refs = (each.ref for each in every if each.entity == memory.entity)
    return tuple(dict.fromkeys((memory.ref, *refs)))


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
        return listed_acts.plan_edit(replace(change, fields=fields), memory, context)
    if changed_values(replace(change, fields=fields), memory, listed_acts.EDITABLE):
        raise Refused("the type is changed by itself, for the whole entity", where=memory.ref)
    type = word_of(change, "type", "")
    if not type:
        raise Refused("an entity has a type", where=memory.ref)
    file = _graph(memory, context)
    known = file.entity(memory.entity)
    if known is None:
        raise Conflict("another program removed the entity", where=str(file.path))
    after = file.graph.with_record(known, put_member(known.raw, "entityType", type))
    plan = plans.plan_one(change, memory, file.edit(after))
    refs = _entity_refs(memory, context)
    return replace(plan, refs=refs, reason=f"of all of {memory.entity}")


def _delete(change: Change, memory: Memory, context: ListContext) -> Plan:
    if memory.id != note_id(memory.entity):
        return listed_acts.plan_delete(change, memory, context)
    file = _graph(memory, context)
    removed = [each for each in file.graph.entities if each.name == memory.entity]
    ends = ("from", "to")
    removed += [r for r in file.graph.relations if memory.entity in (r.text(end) for end in ends)]
    after = file.graph.without(removed)
    edits = (*file.edit(after), *context.sidecar_entry(memory).removal())
    refs = (memory.ref, *(r for r in context.other_refs(file, after) if r != memory.ref))
    reason = "Deletes the entity and its relations"
    return Plan((change,), edits, Outcome.DONE, reason, refs)


def _link(change: Change, memory: Memory, context: ListContext) -> Plan | None:
    """Plan a relation if it leads to an entity of the graph; else a link in the sidecar."""
    file = _graph(memory, context)
    relation, target = plans.requested_link(change, memory)
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
        ended = plans.ended_link_edits(change, context.sidecar_entry(memory), context.now)
        edits = (*file.edit(after), *ended)
    else:
        return None
    plan = plans.plan_one(change, memory, edits)
    notes = context.other_refs(file, after) if edits else ()
    refs = tuple(dict.fromkeys((*_entity_refs(memory, context), *notes)))
    return replace(plan, refs=refs, reason=plan.reason or f"A relation of {memory.entity}")


def _plan_import(change: Change, context: ListContext) -> Plan:
    if change.fields.get("kind") == "note" and "only_in_relations" in extra_in(change):
        return plans.plan_duplicate(change, "an entity without observations")
    plan = listed_acts.plan_listed_import(change, context)
    file = context.open_list(SHARD)
    assert isinstance(file, GraphFile)
    known = file.entity(str(change.fields.get("entity") or "").strip())
    type = str(change.fields.get("type") or "")
    is_written = any(edit.kind in TEXTS for edit in plan.edits)
    if is_written and CONVERTED in extra_in(change) and known is not None and type:
        has_other = known.text("entityType") != type
        return replace(plan, lost=("type (the entity has another)",) if has_other else ())
    return plan


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to an observation of its entity, or of its store if it has none."""
    return listed_acts.convert_to_text(memory, memory.entity or memory.store, type=memory.type)


class McpMemoryStore(listed_texts.ListStore):
    """One graph file."""

    format = "mcp-memory"
    has_no_times = True
    acts = listed_acts.list_acts(
        {},
        {
            Act.EDIT: _edit,
            Act.RETYPE: _edit,
            Act.DELETE: _delete,
            Act.LINK: _link,
            Act.UNLINK: _link,
        },
        editable=listed_acts.EDITABLE | {"type"},
        add_imported=_plan_import,
        shard_of=lambda _: SHARD,
        not_on=_not_on,
    )
    reads = ReadTime.AT_ONCE  # the server reads the file again for every call
    syntax = GraphFile

    def entity_levels(self, entity: str) -> tuple[str, ...]:
        """The name alone: the server knows no paths."""
        return (entity,)

    def list_files(self, faults: list[Unreadable]) -> tuple[str, ...]:  # noqa: ARG002
        return (SHARD,)

    def file_of(self, key: str) -> Path:  # noqa: ARG002
        return graph_file(self.root)

    @property
    def read_only(self) -> str:
        """Why nothing can be written; the server writes by renaming, so the folder counts too."""
        return explain_read_only(graph_file(self.root).parent)

    def place_new(self, change: Change, context: ListContext) -> tuple[str, str]:  # noqa: ARG002
        entity = str(change.fields.get("entity") or "").strip()
        if not entity:
            where = str(change.fields["id"]) if is_import(change) else ""
            do = "" if where else "name the entity"
            raise Refused("an observation belongs to an entity", where=where, do=do)
        return SHARD, entity

    def faults(self, file: ListFile) -> Sequence[Unreadable]:
        assert isinstance(file, GraphFile)
        reasons = [f"line {number}: {why}" for number, why in file.graph.faults]
        return listed_faults(file.path, reasons, "lines cannot be read")

    def memories(self, file: ListFile) -> Iterator[Memory]:
        """Observations, then notes."""
        assert isinstance(file, GraphFile)
        graph, sidecar = file.graph, file.sidecar
        links = _links(graph.relations)
        for item in file.items:
            number, index = item.native
            record = graph.entities[number]
            place = f"entities.{number}" if graph.is_document else f"line.{record.line}"
            yield Memory(
                **memory_name(self.label, item.id),
                kind="fact",
                type=record.text("entityType"),
                content=item.text,
                entity=item.group,
                importance=importance_in(sidecar, item.id),
                links=links.pop(item.group, ()),
                origin=Place(str(file.path), record.line, f"{place}.{index}"),
                extra=_extra(record.value),
            )
        for name, known in entity_notes(graph).items():
            is_entity = known.kind == ENTITY
            yield Memory(
                **memory_name(self.label, note_id(name)),
                kind="note",
                type=known.text("entityType") if is_entity else "",
                content=name,
                entity=name,
                importance=importance_in(sidecar, note_id(name)),
                links=links.pop(name, ()),
                origin=Place(str(file.path), known.line),
                extra=_extra(known.value) if is_entity else {"only_in_relations": True},
            )


def _extra(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in value.items() if key not in _KNOWN}


def _links(relations: Sequence[GraphRecord]) -> dict[str, tuple[Link, ...]]:
    found: dict[str, dict[Link, None]] = {}
    for each in relations:
        start, relation, end = each.triple
        found.setdefault(start, {})[Link(relation, end)] = None
    return {name: tuple(links) for name, links in found.items()}


SUPPORT = FormatSupport(McpMemoryStore, transfer=TransferSupport(convert=convert))
