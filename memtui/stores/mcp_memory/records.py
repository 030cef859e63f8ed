"""Convert the graph file (`memtui.files.json.graph`) to memories.

* Each observation is a fact of its entity: the entity's name is the path, its `entityType` is the
  type.
* An entity without observations, and one that only relations name as their start, is a note with
  the entity's name as its text.
* Relations are links of the first memory of the entity that they start from.
* The format has no ids and no times. An id is a digest of entity and observation; created and
  updated are known only of what memtui wrote, from its sidecar.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memtui.dataclass import dataclass
from memtui.files.json.graph import Graph, GraphRecord
from memtui.model import Link, Memory, Place
from memtui.stores.listed_texts import ListedText, importance_in, name_texts, text_key
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import memory_name

SHARD = "graph"
_KNOWN = frozenset({"type", "name", "entityType", "observations"})


@dataclass(frozen=True, slots=True)
class EntityNote:
    """An entity of which nothing is observed, or which only relations name."""

    id: str
    name: str
    record: GraphRecord | None


def observation_key(entity: str, text: str) -> str:
    """The digest that names an observation."""
    return text_key(f"{entity}\0{text}")


def note_id(entity: str) -> str:
    return f"entity-{text_key(entity)}"


def observations(graph: Graph, sidecar: Sidecar) -> list[ListedText]:
    """The observations in order; `at` is the index of the entity and of the observation."""
    places = [
        (number, index, record.text("name"), str(text))
        for number, record in enumerate(graph.entities)
        for index, text in enumerate(record.observations)
    ]
    keys = [observation_key(name, text) for _, _, name, text in places]
    ids = name_texts(zip(keys, keys, strict=True), "", sidecar, SHARD)
    return [
        ListedText(id, text, name, (number, index))
        for id, (number, index, name, text) in zip(ids, places, strict=True)
    ]


def entity_notes(graph: Graph) -> list[EntityNote]:
    """The entities that have no observation, each once."""
    observed = {record.text("name") for record in graph.entities if record.observations}
    named = [(record.text("name"), record) for record in graph.entities]
    starts = (relation.text("from") for relation in graph.relations)
    found: dict[str, EntityNote] = {}
    for name, record in [*named, *((name, None) for name in starts if name.strip())]:
        if name not in observed:
            found.setdefault(name, EntityNote(note_id(name), name, record))
    return list(found.values())


def graph_memories(graph: Graph, file: str, sidecar: Sidecar, label: str) -> Iterator[Memory]:
    """The memories of a file: observations, then notes."""
    links = _links(graph.relations)
    array = "entities" if graph.is_document else "line"
    for item in observations(graph, sidecar):
        record = graph.entities[item.at[0]]
        where = f"{array}.{item.at[0] if graph.is_document else record.line}.{item.at[1]}"
        yield Memory(
            **memory_name(label, item.id),
            kind="fact",
            type=record.text("entityType"),
            content=item.text,
            entity=item.group,
            importance=importance_in(sidecar, item.id),
            links=links.pop(item.group, ()),
            origin=Place(file, record.line, where),
            extra=_extra(record.value),
        )
    for note in entity_notes(graph):
        known = note.record
        line = (
            known.line
            if known
            else next(each.line for each in graph.relations if each.text("from") == note.name)
        )
        yield Memory(
            **memory_name(label, note.id),
            kind="note",
            type=known.text("entityType") if known else "",
            content=note.name,
            entity=note.name,
            importance=importance_in(sidecar, note.id),
            links=links.pop(note.name, ()),
            origin=Place(file, line),
            extra=_extra(known.value) if known else {"only_in_relations": True},
        )


def _extra(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in value.items() if key not in _KNOWN}


def _links(relations: Sequence[GraphRecord]) -> dict[str, tuple[Link, ...]]:
    found: dict[str, dict[Link, None]] = {}
    for each in relations:
        link = Link(each.text("relationType"), each.text("to"))
        found.setdefault(each.text("from"), {})[link] = None
    return {name: tuple(links) for name, links in found.items()}
