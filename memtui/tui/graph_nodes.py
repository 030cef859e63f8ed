"""The links that the graph screen shows, what their nodes are called, and their styles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from rich.segment import Segment
from rich.style import Style

from memtui import text
from memtui.dataclass import dataclass
from memtui.errors import RefError
from memtui.insight.graph_layout import PlacedNode
from memtui.insight.link_graph import Edge, Node, NodeKind
from memtui.insight.link_statements import EdgeOrigin
from memtui.insight.traversal import Direction, Neighbourhood, traverse
from memtui.library import Library
from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.query import Condition, Query, TimeCondition
from memtui.tui import appearance
from memtui.tui.appearance import Palette, wrapped
from memtui.tui.memory_detail import Reference

UNKNOWN_GLYPH, ENTITY_GLYPH = "∅", "□"
MAX_LISTED = 500
"""Nodes that are not drawn, of which the names are listed."""
LONGEST_NAME = 400
"""Characters of a name."""


MEMBER = "holds"
"""Relation that is drawn from an entity in the middle to its memories. It is no link of a store."""
ABOUT = "about"
"""Relation that is drawn from a memory in the middle to its entity, likewise."""
MAX_MEMBERS = 300


@dataclass(frozen=True, slots=True)
class GraphFilter:
    """Which links the graph follows."""

    depth: int = 2
    direction: Direction = Direction.BOTH
    relations: tuple[str, ...] = ()
    """All if empty."""
    at: TimeCondition | None = None
    """None: now."""

    def words(self) -> list[str]:
        """Describe the filter, as parts of a heading."""
        phrases = [f"depth {self.depth}"]
        if self.direction is not Direction.BOTH:
            phrases.append(f"{self.direction} only")
        if self.relations:
            phrases.append(", ".join(map(text.one_line, self.relations)))
        if self.at is not None:
            phrases.append(f"as of {text.date(self.at.time)}")
        return phrases


@dataclass(frozen=True, slots=True)
class FoundLinks:
    """A neighbourhood, and the relations to choose from."""

    neighbourhood: Neighbourhood
    relations: Mapping[str, int]
    """Relation -> links of it, those that are filtered out included."""


def find_links(
    library: Library,
    start: Node,
    link_filter: GraphFilter,
    now: datetime,
    cancelled: IsCancelled = never,
) -> FoundLinks:
    """Follow the links of a node; from an entity also to the memories that it holds.

    A note, such as the summary of an entity, leads to its entity and so to the links of that, and
    so does a memory without links of its own. A memory that is not in use any more has the links
    that it had to its end. The first question builds the index of the links.
    """
    time = link_filter.at.time if link_filter.at is not None else now
    members = _find_members(library, start, time)
    counts: Counter[str] = Counter()
    with library.links.reading(cancelled) as index:
        further: list[Edge] = []
        if link_filter.direction is not Direction.IN:
            further += [edge._replace(until=None) for edge in index.last_links(start, time)]
            further += members
        if link_filter.direction is not Direction.IN and not members:
            of_start = (*index.outgoing(start), *index.incoming(start))
            is_linked = bool(further) or any(edge.is_valid(time) for edge in of_start)
            further += _find_entities(library, start, is_linked=is_linked)

        def follow(relations: tuple[str, ...]) -> Neighbourhood:
            return traverse(
                index.graph,
                start,
                depth=link_filter.depth,
                direction=link_filter.direction,
                relations=relations,
                at=time,
                further=further,
            )

        every = follow(())
        counts.update(edge.relation for edge in every.edges)
        found = follow(link_filter.relations) if link_filter.relations else every
    return FoundLinks(found, counts)


def _find_members(library: Library, start: Node, at: datetime) -> list[Edge]:
    """Edges from an entity to the memories in use that it holds, newest first."""
    if start.kind != NodeKind.ENTITY:
        return []
    in_entity = Condition("entity", (start.name.casefold(),))
    found = library.find(Query(conditions=(in_entity,)))
    edges = []
    for slot in found.slots[:MAX_MEMBERS]:
        memory = found.rows[slot]
        node = Node(NodeKind.MEMORY, memory.ref)
        since = memory.created or memory.updated
        if since is None or since <= at:
            edges.append(Edge(start, MEMBER, node, EdgeOrigin.LINK, memory.ref, since=since))
    return edges


def _find_entities(library: Library, start: Node, *, is_linked: bool) -> list[Edge]:
    """Edges from a memory to the entities it is about, if it is a note or has no links."""
    try:
        memory = library.get(start.name) if start.kind == NodeKind.MEMORY else None
    except RefError:
        return []
    if memory is None or (is_linked and memory.kind != "note"):
        return []
    return [
        Edge(start, ABOUT, Node(NodeKind.ENTITY, path), EdgeOrigin.LINK, memory.ref)
        for path in dict.fromkeys((memory.entity, *memory.also_entities))
        if path
    ]


class NodeTexts:
    """Names nodes, and looks up the memories they stand for."""

    def __init__(self, library: Library, start: Node) -> None:
        """`start` is the node in the middle: memories of other stores are named with theirs."""
        self._library = library
        self.start = start
        self._memories: dict[str, Memory | None] = {}

    def memory(self, node: Node) -> Memory | None:
        """The memory that a node stands for; None for entities and unknown ends."""
        if node.kind != NodeKind.MEMORY:
            return None
        if node.name not in self._memories:
            try:
                self._memories[node.name] = self._library.get(node.name)
            except RefError:
                self._memories[node.name] = None
        return self._memories[node.name]

    def name(self, node: Node) -> str:
        """A headline, a path or an id in one line, safe to show."""
        memory = self.memory(node)
        words = text.one_line(memory.headline, LONGEST_NAME) if memory is not None else ""
        return words or text.one_line(node.name)

    def label(self, node: Node) -> str:
        """Kind or status and name, with the store of a memory that is not in the start's."""
        name = self.name(node)
        if node.kind == NodeKind.ENTITY:
            return f"{ENTITY_GLYPH} {name}"
        memory = self.memory(node)
        if memory is None:
            return f"{UNKNOWN_GLYPH} {name}"
        glyph = appearance.VISIBLE_STATUS_GLYPHS.get(memory.status, "●")
        start_memory = self.memory(self.start)
        elsewhere = start_memory is not None and start_memory.store != memory.store
        return f"{glyph} {text.one_line(memory.store)}: {name}" if elsewhere else f"{glyph} {name}"

    def style(self, placed: PlacedNode, palette: Palette) -> Style:
        """Return the style of a drawn label; memories that agents are not given are faint."""
        if placed.node is None or placed.node.kind == NodeKind.UNKNOWN:
            return palette.faint
        if placed.node.kind == NodeKind.ENTITY:
            return palette.heading
        memory = self.memory(placed.node)
        if memory is None or memory.status in appearance.INACTIVE_STATUSES:
            return palette.faint
        return palette.text + Style(bold=placed.parent < 0)

    def reference(self, edge: Edge, node: Node) -> Reference:
        """Convert an edge to a reference of the detail, seen from one of its ends."""
        forward = edge.source == node
        other = edge.target if forward else edge.source
        relation = edge.relation.replace("_", " ")
        begun, ended = edge.period(_day)
        period = f"{begun} – {ended}" if begun else ""
        return Reference(
            relation if forward else _BACKWARD.get(relation, f"linked from: {relation}"),
            self.name(other),
            other.name if other.kind == NodeKind.MEMORY else "",
            " · ".join(filter(None, (period, edge.note))),
            is_missing=other.kind == NodeKind.UNKNOWN,
        )

    def describe_node(
        self, node: Node, edges: Sequence[Edge], palette: Palette, width: int
    ) -> list[list[Segment]]:
        """An entity or an unknown end as lines: its name, and what it is linked to."""
        kind = "entity" if node.kind == NodeKind.ENTITY else "not in the open stores"
        lines = wrapped(self.name(node), palette.heading, width)
        lines += [*wrapped(kind, palette.dim, width), []]
        for edge in edges:
            reference = self.reference(edge, node)
            note = f"  ({text.one_line(reference.note)})" if reference.note else ""
            words = f"{text.one_line(reference.relation)}: {reference.words}{note}"
            lines += wrapped(words, palette.text, width)
        return lines

    def list_nodes(
        self, nodes: Sequence[Node], palette: Palette, width: int
    ) -> list[list[Segment]]:
        """The names of nodes that are not drawn, one per line."""
        lines = [
            [Segment(f" {text.cut(self.label(node), width)}", palette.text)]
            for node in nodes[:MAX_LISTED]
        ]
        if len(nodes) > MAX_LISTED:
            words = f" +{text.number(len(nodes) - MAX_LISTED)} more"
            lines.append([Segment(words, palette.faint)])
        return lines


_BACKWARD = {"supersedes": "superseded by"}
"""Relations that have a word of their own for the other direction."""


def _day(time: datetime) -> str:
    return text.date(time)[:10]
