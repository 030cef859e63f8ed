"""The links of many memories as one index: who links to whom, in which store, from when until when.

An edge is one of these (`Edge.origin`):

* `link`: what `Memory.links` holds: an edge of the store's own format, a relation with its verdict,
  evidence, a document's links and wikilinks, or a link in the sidecar, which may lead to another
  store (`label:id`).
* `supersedes`: a replacement, whichever side of it the store wrote down.
* `text`: a wikilink (`[[name]]`) or a Markdown link in the text of a memory, if it names something.
* `source`: the session or episode that the store gives as the memory's source, if it is a memory.

Names are resolved when they are asked for, so a memory that comes or goes changes only its own
entries. `LinkIndex` is mutable and not thread-safe; `memtui.library.links` holds the lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, TypeVar

from memtui.insight.link_statements import (
    SESSION,
    EdgeOrigin,
    LinkStatement,
    source_links,
    stated_links,
    stem_of,
)
from memtui.model import Memory

_Item = TypeVar("_Item")


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


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed, typed link between two nodes."""

    source: Node
    relation: str
    target: Node
    origin: EdgeOrigin
    stated_by: str
    """Ref of the memory that says so; of a replacement, one of both sides."""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    note: str = ""
    since: datetime | None = None
    """`valid_from`, else the time of the memory that says so."""

    def is_valid(self, at: datetime) -> bool:
        """Whether the link holds at this time. An unknown start or end does not limit it."""
        begun = self.since is None or self.since <= at
        return begun and (self.valid_to is None or at < self.valid_to)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What the index holds of one memory."""

    ref: str
    store: str
    id: str
    entities: tuple[str, ...]
    statements: tuple[LinkStatement, ...] = ()
    since: datetime | None = None


class LinkIndex:
    """All links of many memories, by either end."""

    def __init__(self) -> None:
        self._entries: dict[int, _Entry] = {}
        self._key_of: dict[str, int] = {}
        """Ref -> key of its entry."""
        self._outgoing: dict[str, dict[tuple[int, int], None]] = {}
        """Name of the source -> (entry, number of the statement)."""
        self._incoming: dict[str, dict[tuple[int, int], None]] = {}
        """Name of the target -> the same."""
        self._entities: dict[str, Counter[str]] = {}
        """Path of an entity, and of those above it -> store -> memories."""
        self._last_parts: dict[str, dict[str, None]] = {}
        """Last part of a path -> paths."""
        self._of_entity: dict[str, dict[int, None]] = {}
        """Entity -> entries with statements."""
        self._stems: dict[str, dict[str, None]] = {}
        """Stem of a document's file name, folded -> refs."""
        self._stores: Counter[str] = Counter()
        self._known: dict[tuple[Node, bool], tuple[Edge, ...]] = {}
        """Edges that were asked for since the last change."""

    def __len__(self) -> int:
        """How many links memories state; the two sides of a replacement count twice."""
        return sum(len(entry.statements) for entry in self._entries.values())

    # ---- updating ---------------------------------------------------------------------------

    def add(self, key: int, memory: Memory) -> None:
        """Add a memory under a key of the caller's that no other memory has."""
        entities = (memory.entity, *memory.also_entities)
        self._add(
            key,
            _Entry(
                memory.ref,
                memory.store,
                memory.id,
                tuple(path for path in entities if path),
                stated_links(memory),
                memory.created or memory.updated,
            ),
        )

    def add_unlinked(
        self, key: int, ref: str, entity: str, source: str = "", since: datetime | None = None
    ) -> None:
        """Add a memory that states no links but its source, without decoding it."""
        store, _, id = ref.partition(":")
        stated = source_links(id, source)
        self._add(key, _Entry(ref, store, id, (entity,) if entity else (), stated, since))

    def _add(self, key: int, entry: _Entry) -> None:
        self._known.clear()
        self._entries[key] = entry
        self._key_of[entry.ref] = key
        self._stores[entry.store] += 1
        for path in entry.entities:
            self._count_entity(path, entry.store, 1)
        if stem := stem_of(entry.id):
            self._stems.setdefault(stem, {})[entry.ref] = None
        if entry.statements:
            for path in entry.entities:
                self._of_entity.setdefault(path, {})[key] = None
        for number, stated in enumerate(entry.statements):
            self._outgoing.setdefault(stated.source, {})[key, number] = None
            self._incoming.setdefault(_folded(stated), {})[key, number] = None

    def remove(self, key: int) -> None:
        """Remove the memory with this key; nothing if there is none."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        self._known.clear()
        if self._key_of.get(entry.ref) == key:
            del self._key_of[entry.ref]
            if stem := stem_of(entry.id):
                _discard(self._stems, stem, entry.ref)
        self._stores[entry.store] -= 1
        for path in entry.entities:
            self._count_entity(path, entry.store, -1)
            _discard(self._of_entity, path, key)
        for number, stated in enumerate(entry.statements):
            _discard(self._outgoing, stated.source, (key, number))
            _discard(self._incoming, _folded(stated), (key, number))

    def _count_entity(self, path: str, store: str, change: int) -> None:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[:depth])
            stores = self._entities.setdefault(above, Counter())
            stores[store] += change
            if stores[store] <= 0:
                del stores[store]
            if stores:
                self._last_parts.setdefault(parts[depth - 1], {})[above] = None
            else:
                del self._entities[above]
                _discard(self._last_parts, parts[depth - 1], above)

    # ---- names ------------------------------------------------------------------------------

    def has(self, node: Node) -> bool:
        """Whether the node is a memory or an entity of the open stores."""
        if node.kind == NodeKind.MEMORY:
            return node.name in self._key_of
        return node.kind == NodeKind.ENTITY and node.name in self._entities

    def resolve(self, store: str, name: str, origin: EdgeOrigin = EdgeOrigin.LINK) -> Node:
        """Return the node that a name means in a store.

        Tried in this order: the id of a memory of the store; `label:id` of another one; the path
        of an entity, or its last part if only one of the store, or of all, has it; for links in
        texts, the stem of a file's name; for sources, the id of a session.
        """
        for ref in (f"{store}:{name}", name):
            if ref in self._key_of:
                return Node(NodeKind.MEMORY, ref)
        if origin is EdgeOrigin.SOURCE:
            ref = f"{store}:{SESSION}{name}"
            return Node(NodeKind.MEMORY if ref in self._key_of else NodeKind.UNKNOWN, ref)
        label, colon, rest = name.partition(":")
        path = rest if colon and self._stores.get(label, 0) > 0 else name
        if path in self._entities:
            return Node(NodeKind.ENTITY, path)
        named = self.entities_called(path)
        own_paths = [known for known in named if store in self._entities[known]]
        for paths in (own_paths, named):
            if len(paths) == 1:
                return Node(NodeKind.ENTITY, paths[0])
        if origin is EdgeOrigin.TEXT:
            refs = self._stems.get(stem_of(name) or name.casefold(), {})
            own = [ref for ref in refs if ref.startswith(f"{store}:")] or list(refs)
            if len(own) == 1:
                return Node(NodeKind.MEMORY, own[0])
        return Node(NodeKind.UNKNOWN, name)

    def entities_called(self, name: str) -> list[str]:
        """Paths of the entities with this last part, sorted."""
        return sorted(self._last_parts.get(name, ()))

    def find_folded(self, name: str) -> list[Node]:
        """The nodes that a name in lower case means: all memories whose ref it is or whose id
        begins so, and all entities of which it is the path or the last part."""
        nodes = [
            Node(NodeKind.MEMORY, ref)
            for ref in self._key_of
            if ref.casefold() == name or ref.partition(":")[2].casefold().startswith(name)
        ]
        nodes += [
            Node(NodeKind.ENTITY, path)
            for path in self._entities
            if path.casefold() == name or path.rpartition("/")[2].casefold() == name
        ]
        return nodes

    # ---- edges ------------------------------------------------------------------------------

    def outgoing(self, node: Node) -> tuple[Edge, ...]:
        """Edges that start at a node.

        Those of an entity are the links that its memories state, with the entity as their source.
        """
        known = self._known.get((node, True))
        if known is None:
            if node.kind == NodeKind.ENTITY:
                known = self._unique(self._entity_edges(node))
            else:
                edges = map(self._edge, self._candidates(self._outgoing, self._source_names(node)))
                known = self._unique(e for e in edges if e is not None and e.source == node)
            self._known[node, True] = known
        return known

    def incoming(self, node: Node) -> tuple[Edge, ...]:
        """Edges that lead to a node."""
        known = self._known.get((node, False))
        if known is None:
            edges = map(self._edge, self._candidates(self._incoming, self._target_names(node)))
            known = self._unique(e for e in edges if e is not None and e.target == node)
            self._known[node, False] = known
        return known

    def degree(self, ref: str) -> int:
        """How many links a memory has, in both directions."""
        node = Node(NodeKind.MEMORY, ref)
        return len(self.outgoing(node)) + len(self.incoming(node))

    def linked_refs(self) -> set[str]:
        """Refs of all memories with a link in either direction."""
        refs: set[str] = set()
        for edge in self.edges():
            ends = edge.source, edge.target
            refs.update(end.name for end in ends if end.kind == NodeKind.MEMORY)
        return refs

    def edges(self) -> Iterator[Edge]:
        """Every edge, the two sides of a replacement separately."""
        for key, entry in self._entries.items():
            for number in range(len(entry.statements)):
                edge = self._edge((key, number))
                if edge is not None:
                    yield edge

    def dangling(self) -> list[Edge]:
        """Edges of which an end is unknown, in the order their memories were added."""
        return list(
            self._unique(
                edge
                for edge in self.edges()
                if NodeKind.UNKNOWN in (edge.source.kind, edge.target.kind)
            )
        )

    def _source_names(self, node: Node) -> tuple[str, ...]:
        """The names under which statements can have this node as their source."""
        key = self._key_of.get(node.name)
        return (node.name,) if key is None else (self._entries[key].id, node.name)

    def _target_names(self, node: Node) -> tuple[str, ...]:
        """Every name that a statement can have for this node as its target."""
        if node.kind == NodeKind.ENTITY:
            labelled = (f"{label}:{node.name}" for label in self._stores)
            return (node.name, node.name.rpartition("/")[2], *labelled)
        key = self._key_of.get(node.name)
        id = node.name.partition(":")[2] if key is None else self._entries[key].id
        return node.name, id, id.removeprefix(SESSION), stem_of(id)

    @staticmethod
    def _candidates(
        table: dict[str, dict[tuple[int, int], None]], names: tuple[str, ...]
    ) -> list[tuple[int, int]]:
        """Statements under these names, in the order their memories were added."""
        found: dict[tuple[int, int], None] = {}
        for name in names:
            if name in table:
                found.update(table[name])
        return sorted(found) if len(found) > 1 else list(found)

    def _edge(self, at: tuple[int, int]) -> Edge | None:
        """The edge of a statement; None for one in a text or a source that names nothing."""
        entry = self._entries[at[0]]
        stated = entry.statements[at[1]]
        own = Node(NodeKind.MEMORY, entry.ref)
        source = own if stated.source == entry.id else self.resolve(entry.store, stated.source)
        target = (
            own
            if stated.target == entry.id
            else self.resolve(entry.store, stated.target, stated.origin)
        )
        if target.kind == NodeKind.UNKNOWN and stated.origin in (
            EdgeOrigin.TEXT,
            EdgeOrigin.SOURCE,
        ):
            return None
        return Edge(
            source,
            stated.relation,
            target,
            stated.origin,
            entry.ref,
            stated.valid_from,
            stated.valid_to,
            stated.note,
            stated.valid_from or entry.since,
        )

    def _entity_edges(self, node: Node) -> Iterator[Edge]:
        for key in self._of_entity.get(node.name, ()):
            for number, stated in enumerate(self._entries[key].statements):
                if stated.origin is not EdgeOrigin.LINK:
                    continue
                edge = self._edge((key, number))
                if edge is not None and edge.target != node:
                    yield replace(edge, source=node)

    @staticmethod
    def _unique(edges: Iterable[Edge]) -> tuple[Edge, ...]:
        """One edge for each source, relation and target: the one that says most."""
        found: dict[tuple[Node, str, Node], Edge] = {}
        for edge in edges:
            key = edge.source, edge.relation, edge.target
            known = found.get(key)
            if known is None or _detail(edge) > _detail(known):
                found[key] = edge
        return tuple(found.values())


def _detail(edge: Edge) -> tuple[bool, bool, bool]:
    return edge.valid_from is not None, edge.valid_to is None, bool(edge.note)


def _folded(stated: LinkStatement) -> str:
    """The name under which a target is looked up: of a link in a text, its stem."""
    if stated.origin is EdgeOrigin.TEXT:
        return stem_of(stated.target) or stated.target
    return stated.target


def _discard(table: dict[str, dict[_Item, None]], name: str, item: _Item) -> None:
    found = table.get(name)
    if found is not None:
        found.pop(item, None)
        if not found:
            del table[name]
