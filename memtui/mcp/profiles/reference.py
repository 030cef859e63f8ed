"""Tools of the reference memory server, `@modelcontextprotocol/server-memory` 2026.8.31."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from typing_extensions import TypedDict

from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.mcp.call import Call, Reply
from memtui.mcp.framing import length, shown
from memtui.mcp.profiles.answers import Said, carry_out, reading, store_label, storing
from memtui.mcp.tools import find_by, retiring
from memtui.model import Memory
from memtui.query import Query

_ROOM = 16_000
"""Characters of a graph."""


class NewEntity(TypedDict):
    name: str
    entityType: str
    observations: list[str]


class NewObservations(TypedDict):
    entityName: str
    contents: list[str]


class OldObservations(TypedDict):
    entityName: str
    observations: list[str]


Relation = TypedDict("Relation", {"from": str, "to": str, "relationType": str})


class Graph(Reply):
    """Entities with their observations, and relations."""

    entities: list[dict[str, Any]]
    relations: list[dict[str, str]]
    left_out: int
    """Entities that did not fit the result."""


def _graph(memories: Iterable[Memory]) -> Graph:
    by_entity: dict[str, list[Memory]] = {}
    for memory in memories:
        by_entity.setdefault(memory.entity, []).append(memory)
    graph: Graph = {"entities": [], "relations": [], "left_out": 0}
    room = _ROOM
    for name, about in by_entity.items():
        entity = {
            "name": name,
            "entityType": Counter(each.shown_type for each in about).most_common(1)[0][0],
            "observations": [each.full_text for each in about if each.full_text],
        }
        relations = {
            (name, link.target, link.relation): None for each in about for link in each.links
        }
        records = shown(
            [{"from": a, "to": b, "relationType": relation} for a, b, relation in relations]
        )
        room -= length(record := shown(entity)) + length(records)
        if room < 0:
            graph["left_out"] = len(by_entity) - len(graph["entities"])
            break
        graph["entities"].append(record)
        graph["relations"] += records
    return graph


def read_graph(call: Call) -> Graph:
    """Read the graph, as much of it as fits a result; search_nodes finds the rest."""
    found = call.library.find(Query())
    return _graph(found.rows[slot] for slot in found.slots)


def search_nodes(call: Call, query: str) -> Graph:
    """Search entities by their names, types and observations."""
    found = call.find(query)
    return _graph(found.rows[slot] for slot in found.slots[:200])


def open_nodes(call: Call, names: list[str]) -> Graph:
    """Read the entities with these names."""
    return _graph(memory for name in names for memory in find_by(call.library, name))


def _observations(call: Call, items: Iterable[tuple[str, str, Sequence[str]]]) -> Iterable[Change]:
    label = store_label(call.library, "mcp-memory")
    for name, type, contents in items:
        for content in contents:
            fields = {"content": content, "entity": name, "type": type}
            yield Change(Act.ADD, label, "", {key: each for key, each in fields.items() if each})


def create_entities(call: Call, entities: list[NewEntity]) -> Said:
    """Create entities with their observations."""
    items = ((each["name"], each["entityType"], each["observations"]) for each in entities)
    return carry_out(call, _observations(call, items), "asked by create_entities", "Created.")


def add_observations(call: Call, observations: list[NewObservations]) -> Said:
    """Add observations to entities."""
    items = ((each["entityName"], "", each["contents"]) for each in observations)
    return carry_out(call, _observations(call, items), "asked by add_observations", "Added.")


def _linked(call: Call, act: Act, relations: Iterable[Relation]) -> Iterable[Change]:
    for each in relations:
        start = next(iter(find_by(call.library, each["from"])), None)
        if start is None:
            raise Refused(f"there is no entity {each['from']!r}")
        target = call.library.link_target(start, each["to"])
        fields = {"relation": each["relationType"], "target": target}
        yield Change(act, start.store, start.ref, fields)


def create_relations(call: Call, relations: list[Relation]) -> Said:
    """Create relations between entities."""
    return carry_out(
        call, _linked(call, Act.LINK, relations), "asked by create_relations", "Created."
    )


def delete_relations(call: Call, relations: list[Relation]) -> Said:
    """Remove relations; this can be undone."""
    return carry_out(
        call, _linked(call, Act.UNLINK, relations), "asked by delete_relations", "Removed."
    )


def delete_entities(call: Call, entityNames: list[str]) -> Said:
    """Retire all that is known of entities; it can be restored."""
    memories = [memory for name in entityNames for memory in find_by(call.library, name)]
    changes = (retiring(call.library, memory) for memory in memories)
    return carry_out(call, changes, "asked by delete_entities", "Retired.")


def delete_observations(call: Call, deletions: list[OldObservations]) -> Said:
    """Retire observations of entities; they can be restored."""
    memories = [
        memory
        for each in deletions
        for memory in find_by(call.library, each["entityName"])
        if memory.content in each["observations"]
    ]
    changes = (retiring(call.library, memory) for memory in memories)
    return carry_out(call, changes, "asked by delete_observations", "Retired.")


TOOLS = (
    *reading(read_graph, search_nodes, open_nodes),
    *storing(create_entities, create_relations, add_observations),
    *storing(
        delete_entities, delete_observations, delete_relations, replaces=True, repeatable=True
    ),
)
