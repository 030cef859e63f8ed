"""Follow links from a node breadth-first, with the path that led to each node."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from memtui.insight.links import Edge, Node

MOST_NODES = 10_000
"""Nodes that are followed unless another number is given."""


class Direction(StrEnum):
    OUT = "out"
    IN = "in"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Step:
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


@dataclass(frozen=True, slots=True)
class Reached:
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
    reached: tuple[Reached, ...]
    """The start is the first."""
    edges: tuple[Edge, ...]
    left_out: int = 0
    """Nodes that were seen and not followed, because there were too many."""


def paths(found: Neighbourhood) -> dict[Node, tuple[Step, ...]]:
    """The steps from the start to each node that was reached; () for the start."""
    ways: dict[Node, tuple[Step, ...]] = {}
    for each in found.reached:
        ways[each.node] = (*ways[each.step.start], each.step) if each.step is not None else ()
    return ways


FindEdges = Callable[[Node], Iterable[Edge]]


def traverse(
    start: Node,
    outgoing: FindEdges,
    incoming: FindEdges,
    *,
    depth: int = 1,
    direction: Direction = Direction.BOTH,
    relations: Collection[str] = (),
    at: datetime | None = None,
    most: int = MOST_NODES,
) -> Neighbourhood:
    """Walk breadth-first from a node; circles are walked once.

    Args:
        start: Where to begin.
        outgoing, incoming: The edges of a node; see `LinkIndex`.
        depth: Edges from the start at most.
        direction: Follow edges from source to target, backwards, or both.
        relations: Only edges of these relations; all if empty.
        at: Only edges that hold at this time; all if None.
        most: Nodes to reach at most.
    """
    reached: dict[Node, Reached] = {start: Reached(start, 0, None)}
    edges: dict[tuple[Node, str, Node], Edge] = {}
    beyond: set[Node] = set()
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        distance = reached[node].distance
        if distance >= depth:
            continue
        for step in _steps(node, outgoing, incoming, direction):
            edge = step.edge
            if relations and edge.relation not in relations:
                continue
            if at is not None and not edge.is_valid(at):
                continue
            if step.end not in reached:
                if len(reached) >= most:
                    beyond.add(step.end)
                    continue
                reached[step.end] = Reached(step.end, distance + 1, step)
                waiting.append(step.end)
            edges[edge.source, edge.relation, edge.target] = edge
    return Neighbourhood(start, tuple(reached.values()), tuple(edges.values()), len(beyond))


def _steps(
    node: Node, outgoing: FindEdges, incoming: FindEdges, direction: Direction
) -> Iterable[Step]:
    if direction is not Direction.IN:
        for edge in outgoing(node):
            yield Step(edge, True)
    if direction is not Direction.OUT:
        for edge in incoming(node):
            if edge.source != edge.target:  # a loop is walked forwards
                yield Step(edge, False)


def edge_record(edge: Edge) -> dict[str, Any]:
    """An edge as a JSON object; times are ISO 8601 in UTC."""
    return {
        "from": node_record(edge.source),
        "relation": edge.relation,
        "to": node_record(edge.target),
        "origin": str(edge.origin),
        "stated_by": edge.stated_by,
        "valid_from": _iso(edge.valid_from),
        "valid_to": _iso(edge.valid_to),
        "note": edge.note,
    }


def node_record(node: Node) -> dict[str, str]:
    """A node as a JSON object."""
    return {"kind": str(node.kind), "name": node.name}


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat().replace("+00:00", "Z")
