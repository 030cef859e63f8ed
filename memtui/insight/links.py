"""The links of many memories as one index: who links to whom, in which store, from when until when.

An edge is one of these (`Edge.origin`):

* `link`: what `Memory.links` holds: an edge of the store's own format, a relation with its verdict,
  evidence, a document's links and wikilinks, or a link in the sidecar, which may lead to another
  store (`label:id`).
* `supersedes`: a replacement, whichever side of it the store wrote down.
* `text`: a wikilink (`[[name]]`) or a Markdown link in the text of a memory, if it names something.
* `source`: the session or episode that the store gives as the memory's source, if it is a memory.

All names are resolved in one pass when edges are first asked for after a change. `LinkIndex` is
mutable and not thread-safe; `memtui.library.links` holds the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from memtui.insight.link_statements import (
    SUPERSEDES,
    UNKNOWN_END,
    EdgeOrigin,
    LinkEntry,
    LinkStatement,
    source_refs,
    stem_of,
)


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


class Names(NamedTuple):
    """The memories and entities there are, whether they state something or not."""

    refs: Collection[str]
    """Refs of all memories."""
    entities: Mapping[str, Collection[str]]
    """Path of an entity that memories are about -> labels of their stores."""
    labels: Collection[str]
    """Labels of the stores with memories."""


class _Paths(NamedTuple):
    stores: Mapping[str, set[str]]
    """Path of an entity, and of those above it -> labels of the stores with memories there."""
    called: Mapping[str, list[str]]
    """Last part of a path -> paths."""
    labels: Collection[str]

    @staticmethod
    def of(names: Names) -> _Paths:
        above: dict[str, set[str]] = {}
        for path, stores in names.entities.items():
            parts = path.split("/")
            for depth in range(1, len(parts) + 1):
                above.setdefault("/".join(parts[:depth]), set()).update(stores)
        called: dict[str, list[str]] = {}
        for path in above:
            called.setdefault(path.rpartition("/")[2], []).append(path)
        return _Paths(above, called, names.labels)


class LinkIndex:
    """All links of many memories, by either end."""

    def __init__(self) -> None:
        self._entries: dict[int, LinkEntry] = {}
        self._key_of: dict[str, int] = {}
        """Ref -> key of its entry."""
        self._names: Names | None = None
        """None: those of the entries."""
        self._paths: _Paths | None = None
        self._stems: Mapping[str, list[str]] = {}
        """Stem of a document's file name, folded -> refs."""
        self._edges: _Edges | None = None
        self.is_past = False
        """The memories are those of a time before: a successor that is not there did not exist."""

    def __len__(self) -> int:
        """How many links memories state; the two sides of a replacement count twice."""
        return sum(len(entry.statements) for entry in self._entries.values())

    # ---- updating ---------------------------------------------------------------------------

    def add_entry(self, key: int, entry: LinkEntry) -> None:
        """Add what a memory states, under a key of the caller's that no other memory has."""
        self._forget()
        self._entries[key] = entry
        self._key_of[entry.ref] = key

    def remove(self, key: int) -> None:
        """Remove the memory with this key; nothing if there is none."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._forget()
            if self._key_of.get(entry.ref) == key:
                del self._key_of[entry.ref]

    def set_names(self, names: Names) -> None:
        """Set the names there are; the names of the entries must be among them."""
        self._forget()
        self._names = names

    def has_entry(self, ref: str) -> bool:
        """Whether what the memory with this ref states was added."""
        return ref in self._key_of

    def _forget(self) -> None:
        self._edges = self._paths = None

    # ---- names ------------------------------------------------------------------------------

    @property
    def _refs(self) -> Collection[str]:
        return self._key_of if self._names is None else self._names.refs

    @property
    def _entities(self) -> _Paths:
        if self._paths is None:
            names = self._names
            if names is None:
                stores: dict[str, set[str]] = {}
                for entry in self._entries.values():
                    for path in entry.entities:
                        stores.setdefault(path, set()).add(entry.store)
                labels = {entry.store for entry in self._entries.values()}
                names = Names(self._key_of, stores, labels)
            self._paths = _Paths.of(names)
            stems: dict[str, list[str]] = {}
            for entry in self._entries.values():
                if entry.ref.endswith(".md"):
                    stems.setdefault(stem_of(entry.id), []).append(entry.ref)
            self._stems = stems
        return self._paths

    def has(self, node: Node) -> bool:
        """Whether the node is a memory or an entity of the open stores."""
        if node.kind == NodeKind.MEMORY:
            return node.name in self._refs
        return node.kind == NodeKind.ENTITY and node.name in self._entities.stores

    def knows(self, store: str, name: str) -> bool:
        """Whether a name means a memory or an entity in a store."""
        return self.resolve(store, name).kind != NodeKind.UNKNOWN

    def resolve(self, store: str, name: str, origin: EdgeOrigin = EdgeOrigin.LINK) -> Node:
        """Return the node that a name means in a store.

        Tried in this order: the id of a memory of the store; `label:id` of another one; the path
        of an entity, or its last part if only one of the store, or of all, has it; for links in
        texts, the stem of a file's name; for sources, the id of a session.
        """
        own_ref, any_ref, session = source_refs(store, name)
        for ref in (own_ref, any_ref):
            if ref in self._refs:
                return Node(NodeKind.MEMORY, ref)
        if origin is EdgeOrigin.SOURCE:
            kind = NodeKind.MEMORY if session in self._refs else NodeKind.UNKNOWN
            return Node(kind, session)
        label, colon, rest = name.partition(":")
        path = rest if colon and label in self._entities.labels else name
        if path in self._entities.stores:
            return Node(NodeKind.ENTITY, path)
        named = self.entities_called(path)
        own_paths = [known for known in named if store in self._entities.stores[known]]
        for paths in (own_paths, named):
            if len(paths) == 1:
                return Node(NodeKind.ENTITY, paths[0])
        if origin is EdgeOrigin.TEXT:
            refs = self._stems.get(stem_of(name) or name.casefold(), [])
            own = [ref for ref in refs if ref.startswith(f"{store}:")] or refs
            if len(own) == 1:
                return Node(NodeKind.MEMORY, own[0])
        return Node(NodeKind.UNKNOWN, name)

    def entities_called(self, name: str) -> list[str]:
        """Paths of the entities with this last part, sorted."""
        return sorted(self._entities.called.get(name, ()))

    def find_folded(self, name: str) -> list[Node]:
        """The nodes that a name in lower case means: all memories whose ref or id it is, else whose
        id begins so, and all entities of which it is the path or the last part."""
        ids = {
            ref: ref.partition(":")[2].casefold() for ref in self._refs if name in ref.casefold()
        }
        exact = [ref for ref, id in ids.items() if name in (ref.casefold(), id)]
        refs = exact or [ref for ref, id in ids.items() if id.startswith(name)]
        nodes = [Node(NodeKind.MEMORY, ref) for ref in refs]
        nodes += [
            Node(NodeKind.ENTITY, path)
            for path in self._entities.stores
            if path.casefold() == name or path.rpartition("/")[2].casefold() == name
        ]
        return nodes

    # ---- edges ------------------------------------------------------------------------------

    def outgoing(self, node: Node) -> tuple[Edge, ...]:
        """Edges that start at a node.

        Those of an entity are the links that its memories state, with the entity as their source.
        """
        return keep_unique(self.edges.outgoing.get(node, ()))

    def incoming(self, node: Node) -> tuple[Edge, ...]:
        """Edges that lead to a node, from the memories that state them."""
        return keep_unique(self.edges.incoming.get(node, ()))

    def last_links(self, node: Node, at: datetime) -> list[Edge]:
        """Return the links that a memory stated until it was taken out of use, if before a time."""
        key = self._key_of.get(node.name)
        end = None if key is None else self.end_of(self._entries[key])
        if end is None or end > at:
            return []
        return [edge for edge in self.outgoing(node) if edge.until == end]

    @property
    def edges(self) -> _Edges:
        """All edges by their ends, as they are stated: one may be stated twice."""
        if self._edges is None:
            self._edges = _Edges({}, {})
            known: dict[tuple[str, str, EdgeOrigin], Node] = {}
            for key in sorted(self._entries):
                entry = self._entries[key]
                for stated in entry.statements:
                    self._add(entry, stated, self._edges, known)
        return self._edges

    def _add(
        self,
        entry: LinkEntry,
        stated: LinkStatement,
        edges: _Edges,
        known: dict[tuple[str, str, EdgeOrigin], Node],
    ) -> None:
        """Add the edges of a statement; none for one in a text or a source that names nothing."""
        own = Node(NodeKind.MEMORY, entry.ref)

        def resolve(name: str, origin: EdgeOrigin) -> Node:
            key = entry.store, name, origin
            if (node := known.get(key)) is None:
                node = known[key] = self.resolve(*key)
            return node

        target = own if stated.target == entry.id else resolve(stated.target, stated.origin)
        if target.kind == NodeKind.UNKNOWN and stated.origin in MAY_NAME_NOTHING:
            return
        source = own if stated.source is None else resolve(stated.source, EdgeOrigin.LINK)
        if self.is_past and source.kind == NodeKind.UNKNOWN:
            return
        until = self._end_of_statement(stated, entry)
        edge = Edge(
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
        edges.outgoing.setdefault(source, []).append(edge)
        edges.incoming.setdefault(target, []).append(edge)
        for path in entry.entities if stated.origin is EdgeOrigin.LINK else ():
            entity = Node(NodeKind.ENTITY, path)
            if entity not in (source, target):
                edges.outgoing.setdefault(entity, []).append(edge._replace(source=entity))

    def _end_of_statement(self, stated: LinkStatement, entry: LinkEntry) -> datetime | None:
        """Until when a link holds: what a memory says of others holds while the memory is in use.

        What it says of itself does not end with it: which one it replaced, and where it comes from.
        """
        if entry.ended is None or stated.origin not in _ENDS_WITH_MEMORY:
            return stated.valid_to
        end = self.end_of(entry)
        return end if stated.valid_to is None or end is None else min(end, stated.valid_to)

    def end_of(self, entry: LinkEntry) -> datetime | None:
        """When the memory of an entry was taken out of use, as `versions.find_end` says: when its
        first successor came, else as it says itself."""
        times = [
            time
            for name in entry.successors
            if (key := self._key_of.get(f"{entry.store}:{name}")) is not None
            and (time := _replaced_at(entry, self._entries[key])) is not None
        ]
        if entry.ended is not None and entry.is_end_stated:
            times.append(entry.ended)
        return min(times) if times else entry.ended


class _Edges(NamedTuple):
    outgoing: dict[Node, list[Edge]]
    incoming: dict[Node, list[Edge]]


def _replaced_at(old: LinkEntry, newer: LinkEntry) -> datetime | None:
    begun = newer.since
    for stated in newer.statements:
        if (
            stated.relation == SUPERSEDES
            and stated.target == old.id
            and stated.source is None
            and stated.valid_from is not None
        ):
            return max(stated.valid_from, begun) if begun is not None else stated.valid_from
    return begun
