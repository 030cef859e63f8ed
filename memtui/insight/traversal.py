"""Follow links from a node breadth-first, with the path that led to each node."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct

from memtui.insight.link_statements import FROM_SOURCE
from memtui.insight.links import Edge, LinkIndex, Node, keep_unique
from memtui.model import format_time
from memtui.text import one_line

MAX_NODES = 10_000
"""Default maximum number of nodes."""
MAX_GUIDE = 200
"""Width of the lines before a row of a tree, in cells."""


COMPANY = frozenset(
    {FROM_SOURCE, "about", "contains", "holds", "in", "in_session", "member_of", "part_of"}
)
"""Relations that only say that memories lie together."""


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


class Neighbourhood(Struct, frozen=True):
    """What was reached from a node, nearest first, and the edges between these nodes."""

    start: Node
    reached: Sequence[Reached]
    """The start is the first."""
    edges: Sequence[Edge]
    left_out: int = 0
    """Nodes that were found but not followed, because there were too many."""


def paths(found: Neighbourhood) -> dict[Node, tuple[Step, ...]]:
    """The steps from the start to each node that was reached; () for the start."""
    ways: dict[Node, tuple[Step, ...]] = {}
    for each in found.reached:
        ways[each.node] = (*ways[each.step.start], each.step) if each.step is not None else ()
    return ways


def traverse(
    index: LinkIndex,
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

    Mere company, such as coming from the same session, is shown of the start only: nothing is
    reached through it unless that relation is asked for.

    Args:
        index: The links of all memories.
        start: Where to begin.
        depth: Edges from the start at most.
        direction: Follow edges from source to target, backwards, or both.
        relations: Only edges of these relations; all if empty.
        at: Only edges that hold at this time; all if None.
        most: Nodes to reach at most.
        further: Edges from the start that the index lacks.
    """
    outgoing, _, incoming = index.edges
    reached = {start: Reached(start, 0, None)}
    edges: list[Edge] = []
    beyond: set[Node] = set()
    front = [start]
    for distance in range(1, depth + 1):
        met: list[Node] = []
        for node in front:
            steps: list[Step] = []
            if direction is not Direction.IN:
                steps += [Step(edge, True) for edge in outgoing.get(node, ())]
            if direction is not Direction.OUT:
                steps += [Step(edge, False) for edge in incoming.get(node, ())]
            if node == start:
                steps += [Step(edge, True) for edge in further]
            for step in steps:
                if relations and step.edge.relation not in relations:
                    continue
                if not relations and node != start and step.edge.relation in COMPANY:
                    continue
                came = reached[node].step
                if came is not None and _statement(came.edge) == _statement(step.edge):
                    continue  # back along the same statement
                if at is not None and not step.edge.is_valid(at):
                    continue
                end = step.end
                if end not in reached:
                    if len(reached) >= most:
                        beyond.add(end)
                        continue
                    reached[end] = Reached(end, distance, step)
                    met.append(end)
                edges.append(step.edge)
        front = met
        if not front:
            break
    return Neighbourhood(start, tuple(reached.values()), keep_unique(edges), len(beyond))


def _statement(edge: Edge) -> tuple[str, Node, str]:
    return edge.relation, edge.target, edge.stated_by


class TreeRow(NamedTuple):
    """A node as a row of a tree below the start."""

    reached: Reached
    parent: int
    """Row of the node it was reached from; -1 at the start."""
    guide: str = ""
    """The lines that lead to it."""

    @property
    def relation(self) -> str:
        """How it is linked to its parent, as an arrow."""
        step = self.reached.step
        if step is None:
            return ""
        relation = one_line(step.edge.relation)
        return f"─{relation}▶ " if step.is_forward else f"◀{relation}─ "


def tree_rows(found: Neighbourhood) -> list[TreeRow]:
    """Return what was reached as a tree, each node below the one it was reached from."""
    children: dict[Node, list[Reached]] = {}
    for each in found.reached:
        if each.step is not None:
            children.setdefault(each.step.start, []).append(each)
    rows: list[TreeRow] = []
    waiting = [(TreeRow(found.reached[0], -1), "")]
    while waiting:
        row, lines = waiting.pop()
        rows.append(row)
        below = children.get(row.reached.node, [])[::-1]  # the last one is drawn last
        for at, each in enumerate(below):
            corner, line = ("├─", "│ ") if at else ("└─", "  ")
            child = TreeRow(each, len(rows) - 1, lines + corner)
            waiting.append((child, (lines + line)[-MAX_GUIDE:]))
    return rows


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
