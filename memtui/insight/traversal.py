"""Follow links from a node breadth-first, with the path that led to each node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, overload

from memtui.dataclass import dataclass
from memtui.insight.link_graph import NO_NUMBER, Edge, LinkGraph, Node, keep_unique
from memtui.model import format_time

MAX_NODES = 10_000
"""Nodes that are followed unless another number is given."""


_Item = TypeVar("_Item")


class Direction(StrEnum):
    OUT = "out"
    IN = "in"
    BOTH = "both"


class Step(NamedTuple):
    """One edge as it is walked."""

    edge: Edge
    is_forward: bool
    """From source to target."""

    @property
    def end(self) -> Node:
        return self.edge.target if self.is_forward else self.edge.source

    @property
    def start(self) -> Node:
        return self.edge.source if self.is_forward else self.edge.target


class Reached(NamedTuple):
    """A node that was reached, on one of the shortest paths to it."""

    node: Node
    distance: int
    """Edges from the start."""
    step: Step | None
    """The last edge of the path; None at the start."""


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What was reached from a node, nearest first, and the edges between these nodes."""

    start: Node
    reached: Sequence[Reached]
    """The start is the first."""
    edges: Sequence[Edge]
    left_out: int = 0
    """Nodes that were seen and not followed, because there were too many."""


def paths(found: Neighbourhood) -> dict[Node, tuple[Step, ...]]:
    """The steps from the start to each node that was reached; () for the start."""
    ways: dict[Node, tuple[Step, ...]] = {}
    for each in found.reached:
        ways[each.node] = (*ways[each.step.start], each.step) if each.step is not None else ()
    return ways


class _MadeLater(Sequence[_Item]):
    """Values that are made when one of them is asked for; often only their number is."""

    def __init__(self, make: Callable[[], tuple[_Item, ...]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> tuple[_Item, ...]:
        return self._make()

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_Item]: ...
    def __getitem__(self, index: int | slice) -> _Item | Sequence[_Item]:
        return self._made[index]


class _Walk:
    """Nodes and edges as numbers: those of the graph, then those of the further edges."""

    def __init__(self, graph: LinkGraph, start: Node, further: Sequence[Edge]) -> None:
        self.graph = graph
        self.further = further
        self._others: dict[Node, int] = {}
        self.start = self._number(start)
        self.ends = [self._number(edge.target) for edge in further]
        self.ways: dict[int, int] = {}
        """Node that was reached -> edge that led there, as `~edge` if it was walked backwards."""
        self.levels: list[int] = []
        """How many nodes had been reached after each step."""
        self.edges: dict[int, None] = {}
        self.beyond: set[int] = set()

    def _number(self, node: Node) -> int:
        number = self.graph.number(node)
        if number == NO_NUMBER:
            number = self._others.setdefault(node, len(self.graph) + len(self._others))
        return number

    def reached(self) -> tuple[Reached, ...]:
        others = list(self._others)
        made = [Reached(self._node(self.start, others), 0, None)]
        levels = iter(self.levels)
        distance, last = 0, 0
        for number, (node, way) in enumerate(self.ways.items()):
            while number >= last:
                distance, last = distance + 1, next(levels)
            edge = way if way >= 0 else ~way
            step = Step(self._edge(edge), way >= 0)
            made.append(Reached(self._node(node, others), distance, step))
        return tuple(made)

    def _node(self, number: int, others: Sequence[Node]) -> Node:
        size = len(self.graph)
        return self.graph.node(number) if number < size else others[number - size]

    def _edge(self, number: int) -> Edge:
        size = len(self.graph.source)
        return self.graph.edge(number) if number < size else self.further[number - size]

    def all_edges(self) -> tuple[Edge, ...]:
        return keep_unique(map(self._edge, self.edges))


def traverse(
    graph: LinkGraph,
    start: Node,
    *,
    depth: int = 1,
    direction: Direction = Direction.BOTH,
    relations: Collection[str] = (),
    at: datetime | None = None,
    most: int = MAX_NODES,
    further: Sequence[Edge] = (),
) -> Neighbourhood:
    """Walk breadth-first from a node; circles are walked once.

    Args:
        graph: See `LinkIndex.graph`.
        start: Where to begin.
        depth: Edges from the start at most.
        direction: Follow edges from source to target, backwards, or both.
        relations: Only edges of these relations; all if empty.
        at: Only edges that hold at this time; all if None.
        most: Nodes to reach at most.
        further: Edges from the start that the graph lacks.
    """
    walk = _Walk(graph, start, further)
    arms = []
    if direction is not Direction.IN:
        arms.append((graph.first_out, graph.next_out, graph.target, True))
    if direction is not Direction.OUT:
        arms.append((graph.first_in, graph.next_in, graph.source, False))
    since, until, relation_of = graph.since, graph.until, graph.relation
    size, first, ways, edges = len(graph), walk.start, walk.ways, walk.edges
    room = most - 1
    front = [first]
    while front and len(walk.levels) < depth:
        met: list[int] = []
        for node in front:
            for heads, following, ends, is_forward in arms if node < size else ():
                edge = heads[node]
                while edge >= 0:
                    current, edge = edge, following[edge]
                    if relations and relation_of[current] not in relations:
                        continue
                    if at is not None:
                        begun, ended = since[current], until[current]
                        if (begun is not None and begun > at) or (
                            ended is not None and ended <= at
                        ):
                            continue
                    end = ends[current]
                    if end not in ways and end != first:
                        if len(ways) >= room:
                            walk.beyond.add(end)
                            continue
                        ways[end] = current if is_forward else ~current
                        met.append(end)
                    edges[current] = None
            if node == first:
                _follow_further(walk, relations, at, room, met)
        front = met
        walk.levels.append(len(ways))
    return Neighbourhood(
        start, _MadeLater(walk.reached), _MadeLater(walk.all_edges), len(walk.beyond)
    )


def _follow_further(
    walk: _Walk, relations: Collection[str], at: datetime | None, room: int, met: list[int]
) -> None:
    for number, edge in enumerate(walk.further, len(walk.graph.source)):
        if relations and edge.relation not in relations:
            continue
        if at is not None and not edge.is_valid(at):
            continue
        end = walk.ends[number - len(walk.graph.source)]
        if end not in walk.ways and end != walk.start:
            if len(walk.ways) >= room:
                walk.beyond.add(end)
                continue
            walk.ways[end] = number
            met.append(end)
        walk.edges[number] = None


def edge_record(edge: Edge) -> dict[str, Any]:
    """An edge as a JSON object; times are ISO 8601 in UTC."""
    return {
        "from": node_record(edge.source),
        "relation": edge.relation,
        "to": node_record(edge.target),
        "origin": str(edge.origin),
        "stated_by": edge.stated_by,
        "valid_from": format_time(edge.valid_from),
        "valid_to": format_time(edge.valid_to),
        "note": edge.note,
    }


def node_record(node: Node) -> dict[str, str]:
    """A node as a JSON object."""
    return {"kind": str(node.kind), "name": node.name}
