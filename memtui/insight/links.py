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

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, TypeVar

from memtui.insight.link_graph import (
    MAY_NAME_NOTHING,
    Edge,
    LinkGraph,
    Node,
    NodeKind,
    end_of_statement,
    keep_unique,
    make_edge,
)
from memtui.insight.link_statements import (
    BITS,
    MASK,
    SESSION,
    SUPERSEDES,
    EdgeOrigin,
    LinkEntry,
    LinkStatement,
    StatementTable,
    source_refs,
    stem_of,
)

_Item = TypeVar("_Item")


class Names(NamedTuple):
    """The memories and entities there are, whether they state something or not."""

    refs: Collection[str]
    """Of all memories."""
    entities: Mapping[str, Collection[str]]
    """Path of an entity that memories are about -> labels of their stores."""
    labels: Collection[str]
    """Of the stores with memories."""


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
        self._foreign = StatementTable()
        """Name of the source -> statements of other memories than the source."""
        self._incoming = StatementTable()
        """Name of the target -> statements."""
        self._of_entity: dict[str, dict[int, None]] = {}
        """Entity -> entries with statements."""
        self._stems: dict[str, dict[str, None]] = {}
        """Stem of a document's file name, folded -> refs."""
        self._names: Names | None = None
        """None: those of the entries."""
        self._paths: _Paths | None = None
        self._known: dict[tuple[Node, bool], tuple[Edge, ...]] = {}
        """Edges that were asked for since the last change."""
        self._graph: LinkGraph | None = None
        self.is_past = False
        """The memories are those of a time before: a successor that is not there did not exist."""

    def __len__(self) -> int:
        """How many links memories state; the two sides of a replacement count twice."""
        return sum(len(entry.statements) for entry in self._entries.values())

    def copy(self) -> LinkIndex:
        """Return an index that can be changed on its own."""
        made = LinkIndex()
        made._entries, made._key_of = dict(self._entries), dict(self._key_of)
        made._foreign, made._incoming = self._foreign.copy(), self._incoming.copy()
        made._names = self._names
        made._of_entity = {path: dict(keys) for path, keys in self._of_entity.items()}
        made._stems = {stem: dict(refs) for stem, refs in self._stems.items()}
        return made

    # ---- updating ---------------------------------------------------------------------------

    def add_entry(self, key: int, entry: LinkEntry) -> None:
        """Add what a memory states, under a key of the caller's that no other memory has."""
        self._forget()
        self._entries[key] = entry
        self._key_of[entry.ref] = key
        if entry.ref.endswith(".md"):
            self._stems.setdefault(stem_of(entry.id), {})[entry.ref] = None
        if not entry.statements:
            return
        for path in entry.entities:
            self._of_entity.setdefault(path, {})[key] = None
        for at, stated in enumerate(entry.statements, key << BITS):
            self._incoming.add(_folded(stated, entry), at)
            if stated.source is not None:
                self._foreign.add(stated.source, at)

    def remove(self, key: int) -> None:
        """Remove the memory with this key; nothing if there is none."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        self._forget()
        if self._key_of.get(entry.ref) == key:
            del self._key_of[entry.ref]
            if entry.ref.endswith(".md"):
                _discard(self._stems, stem_of(entry.id), entry.ref)
        if not entry.statements:
            return
        for path in entry.entities:
            _discard(self._of_entity, path, key)
        for at, stated in enumerate(entry.statements, key << BITS):
            self._incoming.remove(_folded(stated, entry), at)
            if stated.source is not None:
                self._foreign.remove(stated.source, at)

    def entry(self, key: int) -> LinkEntry | None:
        """Return the entry of the memory with this key; None if there is none."""
        return self._entries.get(key)

    def set_names(self, names: Names) -> None:
        """Set the names there are; the names of the entries must be among them."""
        self._forget()
        self._names = names

    def has_entry(self, ref: str) -> bool:
        """Whether what the memory with this ref states was added."""
        return ref in self._key_of

    def _forget(self) -> None:
        self._graph = self._paths = None
        if self._known:
            self._known.clear()

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
            refs = self._stems.get(stem_of(name) or name.casefold(), {})
            own = [ref for ref in refs if ref.startswith(f"{store}:")] or list(refs)
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

    @property
    def graph(self) -> LinkGraph:
        """All links as numbers; made when first asked for after a change."""
        if self._graph is None:
            entries = reversed(self._entries.values())
            self._graph = LinkGraph(
                entries, self._refs, self.resolve, self.end_of, is_past=self.is_past
            )
        return self._graph

    def outgoing(self, node: Node) -> tuple[Edge, ...]:
        """Edges that start at a node.

        Those of an entity are the links that its memories state, with the entity as their source.
        """
        known = self._known.get((node, True))
        if known is None:
            if node.kind == NodeKind.ENTITY:
                found = list(self._entity_edges(node))
            else:
                found = self._node_edges(node)
            known = self._known[node, True] = keep_unique(found)
        return known

    def last_links(self, node: Node, at: datetime) -> list[Edge]:
        """Return the links that a memory stated until it was taken out of use, if before a time."""
        key = self._key_of.get(node.name)
        end = None if key is None else self.end_of(self._entries[key])
        if end is None or end > at:
            return []
        return [edge for edge in self.outgoing(node) if edge.until == end]

    def incoming(self, node: Node) -> tuple[Edge, ...]:
        """Edges that lead to a node."""
        known = self._known.get((node, False))
        if known is None:
            edges = map(self._edge, self._incoming.find(self._target_names(node)))
            found = [edge for edge in edges if edge is not None and edge.target == node]
            known = self._known[node, False] = keep_unique(found)
        return known

    def _node_edges(self, node: Node) -> list[Edge]:
        """Edges that start at a memory or an unknown name."""
        key = self._key_of.get(node.name)
        names: tuple[str, ...] = (node.name,)
        found = []
        if key is not None:
            entry = self._entries[key]
            names = entry.id, node.name
            numbered = enumerate(entry.statements, key << BITS)
            found = [at for at, stated in numbered if stated.source is None]
        if others := self._foreign.find(names):
            found = sorted([*found, *others])
        edges = map(self._edge, found)
        return [edge for edge in edges if edge is not None and edge.source == node]

    def _target_names(self, node: Node) -> tuple[str, ...]:
        """Every name that a statement can have for this node as its target."""
        if node.kind == NodeKind.ENTITY:
            labelled = (f"{label}:{node.name}" for label in self._entities.labels)
            return (node.name, node.name.rpartition("/")[2], *labelled)
        key = self._key_of.get(node.name)
        id = node.name.partition(":")[2] if key is None else self._entries[key].id
        return node.name, id, id.removeprefix(SESSION), stem_of(id)

    def _edge(self, at: int) -> Edge | None:
        """The edge of a statement; None for one in a text or a source that names nothing."""
        entry = self._entries[at >> BITS]
        stated = entry.statements[at & MASK]
        own_id, store = entry.id, entry.store
        own = Node(NodeKind.MEMORY, entry.ref)
        origin = stated.origin
        source = own if stated.source is None else self.resolve(store, stated.source)
        target = own if stated.target == own_id else self.resolve(store, stated.target, origin)
        if target.kind == NodeKind.UNKNOWN and origin in MAY_NAME_NOTHING:
            return None
        if self.is_past and source.kind == NodeKind.UNKNOWN:
            return None
        until = end_of_statement(stated, entry, self.end_of)
        return make_edge(source, target, stated, entry, until)

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

    def _entity_edges(self, node: Node) -> Iterator[Edge]:
        for key in self._of_entity.get(node.name, ()):
            for at, stated in enumerate(self._entries[key].statements, key << BITS):
                if stated.origin is not EdgeOrigin.LINK:
                    continue
                edge = self._edge(at)
                if edge is not None and edge.target != node:
                    yield edge._replace(source=node)


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


def _folded(stated: LinkStatement, entry: LinkEntry) -> str:
    """The name under which a target is looked up: of a link in a text, its stem."""
    if stated.origin is EdgeOrigin.TEXT and stated.target != entry.id:
        return stem_of(stated.target) or stated.target
    return stated.target


def _discard(table: dict[str, dict[_Item, None]], name: str, item: _Item) -> None:
    found = table.get(name)
    if found is not None:
        found.pop(item, None)
        if not found:
            del table[name]
