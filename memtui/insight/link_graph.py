"""The links of an index as a graph of numbered nodes and edges, for traversal.

Made in one pass over what the memories state, because to resolve the names of each node on its own
costs five times as much; it holds until the index changes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from memtui.insight.link_statements import UNKNOWN_END, EdgeOrigin, LinkEntry, LinkStatement


class NodeKind:
    """Kinds of node; plain texts, because nodes are hashed all the time and enum members are slow
    to hash."""

    MEMORY = "memory"
    ENTITY = "entity"
    UNKNOWN = "unknown"
    """An end that names no memory and no entity of any open store."""


class Node(NamedTuple):
    """An end of an edge."""

    kind: str
    """One of `NodeKind`."""
    name: str
    """The ref of a memory, the path of an entity (shared by all stores), or the name as written."""


class Edge(NamedTuple):
    """A directed, typed link between two nodes. Tuples are made in a third of the time of a frozen
    dataclass, and thousands are made while links are followed."""

    source: Node
    relation: str
    target: Node
    origin: EdgeOrigin
    stated_by: str
    """Ref of the memory that says so; of a replacement, one of both sides."""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    """As the store says, or when the memory that says so was taken out of use, if that was sooner;
    None if it holds, or if the end is not known."""
    note: str = ""
    since: datetime | None = None
    """`valid_from`, else the time of the memory that says so."""
    until: datetime | None = None
    """`valid_to`; `UNKNOWN_END` for an end at an unknown time."""

    def is_valid(self, at: datetime) -> bool:
        """Whether the link holds at this time. An unknown start or end does not limit it."""
        begun = self.since is None or self.since <= at
        return begun and (self.until is None or at < self.until)

    def period(self, shown: Callable[[datetime], str]) -> tuple[str, str]:
        """Start and end as text, `…` and `?` where they are not known; ("", "") if it has
        neither."""
        if self.valid_from is None and self.valid_to is None and self.until is None:
            return "", ""
        begun = "…" if self.valid_from is None else shown(self.valid_from)
        if self.valid_to is not None:
            return begun, shown(self.valid_to)
        return begun, "now" if self.until is None else "?"


Resolve = Callable[[str, str, EdgeOrigin], Node]
"""Store, name and origin -> the node; see `LinkIndex.resolve`."""
EndOf = Callable[[LinkEntry], datetime | None]
"""What a memory states -> when it was taken out of use; see `LinkIndex.end_of`."""
NO_NUMBER = -1
"""In place of the number of a node or an edge that does not exist."""
MAY_NAME_NOTHING = frozenset({EdgeOrigin.TEXT, EdgeOrigin.SOURCE})
"""Links of these origins are left out where no memory and no entity has the name."""
_ENDS_WITH_MEMORY = frozenset({EdgeOrigin.LINK, EdgeOrigin.TEXT})


def keep_unique(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """One edge for each source, relation and target: the one that says most."""
    found: dict[tuple[Node, str, Node], Edge] = {}
    for edge in edges:
        key = edge[:3]
        known = found.setdefault(key, edge)
        if known is not edge and _detail(edge) > _detail(known):
            found[key] = edge
    return tuple(found.values())


def _detail(edge: Edge) -> tuple[bool, bool, bool]:
    return edge.until is None, edge.valid_from is not None, bool(edge.note)


def make_edge(
    source: Node,
    target: Node,
    stated: LinkStatement,
    entry: LinkEntry,
    until: datetime | None,
) -> Edge:
    """The edge of a statement of a memory, which holds until a time (see `end_of_statement`)."""
    return Edge(
        source,
        stated.relation,
        target,
        stated.origin,
        entry.ref,
        stated.valid_from,
        None if until == UNKNOWN_END else until,
        stated.note,
        stated.valid_from or entry.since,
        until,
    )


def end_of_statement(stated: LinkStatement, entry: LinkEntry, end_of: EndOf) -> datetime | None:
    """Until when a link holds: what a memory says of others holds while the memory is in use.

    What it says of itself does not end with it: which one it replaced, and where it comes from.
    """
    if entry.ended is None or stated.origin not in _ENDS_WITH_MEMORY:
        return stated.valid_to
    end = end_of(entry)
    return end if stated.valid_to is None or end is None else min(end, stated.valid_to)


class LinkGraph:
    """Numbered nodes and edges, which do not change. The edges from a node, and those to it, are
    two lists in the order they were stated: `first_*[node]`, `next_*[edge]`, last `NO_NUMBER`."""

    def __init__(
        self,
        entries: Iterable[LinkEntry],
        refs: Collection[str],
        resolve: Resolve,
        end_of: EndOf,
        *,
        is_past: bool = False,
    ) -> None:
        """Number all links.

        Args:
            entries: What each memory states, the last one first.
            refs: Of all memories.
            resolve: Called for names that are no memory of the same store.
            end_of: Called for memories that are not in use.
            is_past: See `LinkIndex.is_past`.
        """
        self._numbers: dict[str, dict[str, int]] = {
            NodeKind.MEMORY: {},
            NodeKind.ENTITY: {},
            NodeKind.UNKNOWN: {},
        }
        self._nodes: list[tuple[str, str]] = []
        self.first_out, self.first_in = array("i"), array("i")
        self.next_out, self.next_in = array("i"), array("i")
        self.source, self.target = array("i"), array("i")
        self.relation: list[str] = []
        self.since: list[datetime | None] = []
        self.until: list[datetime | None] = []
        self._statements: list[LinkStatement] = []
        self._stated_by: list[LinkEntry] = []
        for entry in entries:
            if entry.statements:
                self._add(entry, refs, resolve, end_of, is_past)

    def node(self, number: int) -> Node:
        return Node(*self._nodes[number])

    def number(self, node: Node) -> int:
        """The number of a node; `NO_NUMBER` if it has no links."""
        return self._numbers[node.kind].get(node.name, NO_NUMBER)

    def edge(self, number: int) -> Edge:
        return make_edge(
            self.node(self.source[number]),
            self.node(self.target[number]),
            self._statements[number],
            self._stated_by[number],
            self.until[number],
        )

    def __len__(self) -> int:
        return len(self._nodes)

    def _add(
        self,
        entry: LinkEntry,
        refs: Collection[str],
        resolve: Resolve,
        end_of: EndOf,
        is_past: bool,
    ) -> None:
        store, id = entry.store, entry.id
        own = self._number(NodeKind.MEMORY, entry.ref)
        for stated in reversed(entry.statements):
            origin = stated.origin
            ref = f"{store}:{stated.target}"
            if stated.target == id:
                target = own
            elif ref in refs:
                target = self._number(NodeKind.MEMORY, ref)
            else:
                found = resolve(store, stated.target, origin)
                if found.kind == NodeKind.UNKNOWN and origin in MAY_NAME_NOTHING:
                    continue
                target = self._number(*found)
            source = own
            if stated.source is not None:
                stating = resolve(store, stated.source, EdgeOrigin.LINK)
                if is_past and stating.kind == NodeKind.UNKNOWN:
                    continue
                source = self._number(*stating)
            sources = [source]
            if origin is EdgeOrigin.LINK and entry.entities:
                paths = (self._number(NodeKind.ENTITY, path) for path in entry.entities)
                sources += [path for path in paths if path != target]
            until = stated.valid_to
            if entry.ended is not None:
                until = end_of_statement(stated, entry, end_of)
            for number, node in enumerate(sources):
                self._connect(node, target, is_stated=not number)
                self.relation.append(stated.relation)
                self.since.append(stated.valid_from or entry.since)
                self.until.append(until)
                self._statements.append(stated)
                self._stated_by.append(entry)

    def _number(self, kind: str, name: str) -> int:
        numbers = self._numbers[kind]
        number = numbers.get(name)
        if number is None:
            number = numbers[name] = len(self._nodes)
            self._nodes.append((kind, name))
            self.first_out.append(NO_NUMBER)
            self.first_in.append(NO_NUMBER)
        return number

    def _connect(self, source: int, target: int, *, is_stated: bool) -> None:
        edge = len(self.source)
        self.source.append(source)
        self.target.append(target)
        self.next_out.append(self.first_out[source])
        self.first_out[source] = edge
        # Backwards a link leads to the memory that states it, not to the entity of that memory.
        self.next_in.append(self.first_in[target] if is_stated else NO_NUMBER)
        if is_stated:
            self.first_in[target] = edge
