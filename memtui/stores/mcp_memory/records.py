"""Parse the graph file, change single records of it, and convert it to memories.

A file has one JSON object a line, joined by line feeds without one at the end (server-memory
2026.8.31, dist/index.js, `loadGraph` and `saveGraph`). Older tools keep one JSON document
`{"entities": [...], "relations": [...]}`. The server reads the file anew for every call, fails for
a line that is no JSON, and writes all of it anew with the keys that it knows.

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

from memtui.dataclass import dataclass, field
from memtui.errors import UnreadableFile
from memtui.files.json.editing import (
    JsonStyle,
    Spelling,
    insert_records,
    new_record,
    remove_records,
    splice,
)
from memtui.files.json.locating import load_records
from memtui.model import Link, Memory, Place
from memtui.stores.listed_texts import ListedText, importance_in, name_texts, text_key
from memtui.stores.scanning import IS_EMPTY
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import memory_name, parse_json, parse_object

ENTITY, RELATION = "entity", "relation"
OBSERVATIONS = ("observations",)
_ARRAYS = {ENTITY: ("entities",), RELATION: ("relations",)}
_TIGHT = JsonStyle("", ",", ":", "")
"""As JSON.stringify writes."""


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """One entity or relation, and where it stands."""

    kind: str
    value: Mapping[str, Any]
    start: int
    end: int
    line: int
    raw: str = field(repr=False)

    def text(self, key: str) -> str:
        """A value that is a text; "" for another."""
        value = self.value.get(key)
        return value if isinstance(value, str) else ""

    @property
    def observations(self) -> Sequence[Any]:
        value = self.value.get("observations")
        return value if isinstance(value, list) else ()


@dataclass(frozen=True, slots=True)
class Graph:
    """A parsed file."""

    text: str = field(repr=False)
    entities: Sequence[GraphRecord]
    relations: Sequence[GraphRecord]
    faults: Sequence[tuple[int, str]] = ()
    """1-based line, and why it cannot be read."""
    is_document: bool = False

    # ---- changes: the whole text that the file would have ------------------------------------

    def with_record(self, record: GraphRecord, raw: str) -> str:
        return splice(self.text, [(record.start, record.end, raw)])

    def with_new(self, kind: str, value: Mapping[str, Any]) -> str:
        """With one more entity after the last entity, or relation at the end."""
        if self.is_document:
            array = _ARRAYS[kind]
            known = load_records(self.text, array)
            raw = JsonStyle.PLAIN.write_object(value, Spelling())
            if known and "\n" in known[-1].raw:
                raw = new_record(known[-1].raw, value)
            return insert_records(self.text, array, [raw])
        raw = _TIGHT.write_object({"type": kind, **value}, Spelling())
        before = self.entities if kind == ENTITY else [*self.entities, *self.relations]
        end = max((record.end for record in before), default=None)
        if end is None:
            return raw + (f"\n{self.text}" if self.text else "")
        if self.text[end : end + 1] == "\r":
            end += 1
        return f"{self.text[:end]}\n{raw}{self.text[end:]}"

    def without(self, removed: Sequence[GraphRecord]) -> str:
        """Without these records and their lines."""
        if self.is_document:
            text = self.text
            for kind, array in _ARRAYS.items():
                starts = {record.start for record in removed if record.kind == kind}
                if starts:
                    known = load_records(self.text, array)
                    indexes = [n for n, each in enumerate(known) if each.start in starts]
                    text = remove_records(text, array, indexes)
            return text
        text = self.text
        for record in sorted(removed, key=lambda each: -each.start):
            start, end = text.rfind("\n", 0, record.start) + 1, text.find("\n", record.end)
            head = text[:start] if end >= 0 else text[: max(start - 1, 0)]
            text = head + (text[end + 1 :] if end >= 0 else "")
        return text


def parse_graph(text: str) -> Graph:
    """Parse a whole file. Raises UnreadableFile if nothing of it can be read."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    if not first:
        raise UnreadableFile(IS_EMPTY)
    value = parse_json(first)
    if text.lstrip().startswith("{") and not (isinstance(value, dict) and "type" in value):
        document = _parse_document(text)
        if document is not None:
            return document
    return _parse_lines(text)


def _parse_document(text: str) -> Graph | None:
    """The document form; None if it is not that."""
    value = parse_object(text)
    if not isinstance(value.get("entities"), list):
        return None
    found: dict[str, list[GraphRecord]] = {ENTITY: [], RELATION: []}
    faults = []
    for kind, array in _ARRAYS.items():
        for record in load_records(text, array) if isinstance(value.get(array[0]), list) else ():
            why = _fault(kind, record.value)
            if why:
                faults.append((record.line, why))
            else:
                place = (record.start, record.end, record.line)
                found[kind].append(GraphRecord(kind, record.value, *place, record.raw))
    return Graph(text, found[ENTITY], found[RELATION], faults, is_document=True)


def _parse_lines(text: str) -> Graph:
    found: dict[str, list[GraphRecord]] = {ENTITY: [], RELATION: []}
    faults = []
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        raw = line.strip()
        if raw:
            value = parse_json(raw)
            kind = value.get("type") if isinstance(value, dict) else ""
            why = "it is no JSON object" if not isinstance(value, dict) else _fault(kind, value)
            if why:
                faults.append((number, why))
            else:
                at = start + line.index(raw)
                found[str(kind)].append(
                    GraphRecord(str(kind), value, at, at + len(raw), number, raw)
                )
        start += len(line) + 1
    if faults and not found[ENTITY] and not found[RELATION]:
        raise UnreadableFile(f"no line of it is an entity or a relation (line {faults[0][0]})")
    return Graph(text, found[ENTITY], found[RELATION], faults)


def _fault(kind: object, value: object) -> str:
    """Why the server could not use a record; "" if it can."""
    if not isinstance(value, dict):
        return "it is no object"
    if kind not in (ENTITY, RELATION):
        return "its type is neither entity nor relation: the server drops it with its next write"
    if kind == ENTITY:
        if not isinstance(value.get("name"), str) or not value["name"].strip():
            return "the entity has no name"
        if not isinstance(value.get("observations", []), list):
            return "its observations are no list"
        if not all(isinstance(each, str) for each in value.get("observations", [])):
            return "one of its observations is no text"
        return ""
    ends = all(isinstance(value.get(key), str) for key in ("from", "to", "relationType"))
    return "" if ends else "the relation lacks an end or its type"


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
