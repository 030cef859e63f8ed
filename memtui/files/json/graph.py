"""Parse and change a knowledge graph in one file, as MCP's reference memory server keeps it.

A file has one JSON object a line, joined by line feeds without one at the end (server-memory
2026.8.31, dist/index.js, `loadGraph` and `saveGraph`). Older tools keep one JSON document
`{"entities": [...], "relations": [...]}`. The server reads the file anew for every call, fails for
a line that is no JSON, and writes all of it anew with the keys that it knows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.files.json import editing
from memtui.files.json.locating import BYTE_ORDER_MARK, LINES, load, load_records
from memtui.files.reading import IS_EMPTY

ENTITY, RELATION = "entity", "relation"
OBSERVATIONS = ("observations",)
NOTHING: Mapping[int, Sequence[str]] = MappingProxyType({})
_ARRAYS = {ENTITY: ("entities",), RELATION: ("relations",)}
_OTHER_KEYS = {"from": "from_entity", "to": "to_entity", "relationType": "relation_type"}
"""Keys of a relation -> what servers written in Python call them."""


def _value_of(value: Mapping[str, Any], key: str) -> Any:
    """The value of a key, or of its other name."""
    return value[key] if key in value else value.get(_OTHER_KEYS.get(key, key))


class GraphRecord(Struct, frozen=True):
    """One entity or relation, and where it stands."""

    kind: str
    value: Mapping[str, Any]
    start: int
    end: int
    line: int
    raw: str

    @property
    def name(self) -> str:
        """The name of an entity."""
        return self.text("name")

    @property
    def triple(self) -> tuple[str, str, str]:
        """What a relation says: from, its type, to."""
        return self.text("from"), self.text("relationType"), self.text("to")

    def text(self, key: str) -> str:
        """A value that is a text; "" for another."""
        value = _value_of(self.value, key)
        return value if isinstance(value, str) else ""

    @property
    def observations(self) -> Sequence[Any]:
        value = self.value.get("observations")
        return value if isinstance(value, list) else ()

    def with_observations(
        self,
        replaced: Mapping[int, str],
        removed: Collection[int] = (),
        inserted: Mapping[int, Sequence[str]] = NOTHING,
    ) -> str:
        """The raw entity with other observations.

        Args:
            replaced: index -> the new text.
            removed: indexes.
            inserted: index in the list that the others leave -> new texts before it.
        """
        spelling = editing.Spelling.of(self.raw, self.raw)
        spelled = {i: spelling.string(text) for i, text in replaced.items()}
        raw = editing.replace_records(self.raw, OBSERVATIONS, spelled)
        raw = editing.remove_records(raw, OBSERVATIONS, removed)
        if len(self.observations) == len(removed):  # an empty array shows no style of its own
            texts = [text for place in sorted(inserted) for text in inserted[place]]
            return editing.put_member(raw, "observations", texts) if texts else raw
        for place in sorted(inserted, reverse=True):
            raws = [spelling.string(text) for text in inserted[place]]
            raw = editing.insert_records(raw, OBSERVATIONS, raws, place)
        return raw


class Graph(Struct, frozen=True):
    """A parsed file."""

    text: str
    entities: Sequence[GraphRecord]
    relations: Sequence[GraphRecord]
    faults: Sequence[tuple[int, str]] = ()
    """1-based line, and why it cannot be read."""
    is_document: bool = False

    # ---- changes: the whole text that the file would have ------------------------------------

    def with_record(self, record: GraphRecord, raw: str) -> str:
        return editing.splice(self.text, [(record.start, record.end, raw)])

    def with_new(self, kind: str, values: Sequence[Mapping[str, Any]]) -> str:
        """With more entities after the last entity, or relations at the end, with the keys that the
        relations of the file have."""
        last = self.relations[-1].value if kind == RELATION and self.relations else {}
        keys = {key: other for key, other in _OTHER_KEYS.items() if other in last}
        values = [{keys.get(key, key): v for key, v in each.items()} for each in values]
        if self.is_document:
            array = _ARRAYS[kind]
            known = load_records(self.text, array)
            raws = [
                editing.JsonStyle.PLAIN.write_object(value, editing.Spelling()) for value in values
            ]
            if known and "\n" in known[-1].raw:
                raws = [editing.new_record(known[-1].raw, value) for value in values]
            return editing.insert_records(self.text, array, raws)
        lines = ({"type": kind, **value} for value in values)
        raw = "\n".join(map(editing.line_of, lines))
        before = self.entities if kind == ENTITY else [*self.entities, *self.relations]
        end = max((record.end for record in before), default=None)
        if end is None:
            return raw + (f"\n{self.text}" if self.text else "")
        if self.text[end : end + 1] == "\r":
            end += 1
        return f"{self.text[:end]}\n{raw}{self.text[end:]}"

    def without(self, removed: Sequence[GraphRecord]) -> str:
        """Without these records and their lines."""
        text, starts = self.text, {record.start for record in removed}
        for array in {_ARRAYS[each.kind] if self.is_document else LINES for each in removed}:
            known = load_records(self.text, array)
            indexes = [n for n, each in enumerate(known) if each.start in starts]
            text = editing.remove_records(text, array, indexes)
        return text


def parse_graph(text: str) -> Graph:
    """Parse a whole file. Raises UnreadableFile if nothing of it can be read."""
    first = next((line for line in text.split("\n") if line.strip().strip(BYTE_ORDER_MARK)), "")
    if not first:
        raise UnreadableFile(IS_EMPTY)
    value = _load(first)
    if text.lstrip().startswith("{") and not (isinstance(value, dict) and "type" in value):
        document = _parse_document(text)
        if document is not None:
            return document
    found: dict[str, list[GraphRecord]] = {ENTITY: [], RELATION: []}
    faults = []
    for each in filter(lambda each: each.raw, load_records(text, LINES)):
        kind = each.value.get("type") if isinstance(each.value, dict) else None
        if not isinstance(each.value, dict):
            faults.append((each.line, "not a whole JSON record"))
        elif why := _fault(kind, each.value):
            faults.append((each.line, why))
        else:
            place = (each.start, each.end, each.line)
            found[str(kind)].append(GraphRecord(str(kind), each.value, *place, each.raw))
    faults.sort()
    if faults and not found[ENTITY] and not found[RELATION]:
        raise UnreadableFile(f"no line of it is an entity or a relation (line {faults[0][0]})")
    return Graph(text, found[ENTITY], found[RELATION], faults)


def _parse_document(text: str) -> Graph | None:
    """The document form; None if it is not that."""
    value = _load(text)
    if not isinstance(value, dict) or not isinstance(value.get("entities"), list):
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
    ends = all(isinstance(_value_of(value, key), str) for key in _OTHER_KEYS)
    return "" if ends else "the relation lacks an end or its type"


def _load(text: str) -> Any:
    try:
        return load(text)
    except UnreadableFile:
        return None
