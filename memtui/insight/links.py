"""The links of many memories as one index: who links to whom, in which store, from when until when.

An edge is one of these (`Edge.origin`):

* `link`: what `Memory.links` holds: an edge of the store's own format, a relation with its verdict,
  evidence, a document's links and wikilinks, or a link in the sidecar, which may lead to another
  store (`label:id`).
* `supersedes`: a replacement, whichever side of it the store wrote down.
* `text`: a wikilink (`[[name]]`) or a Markdown link in the text of a memory, if it names something.
* `source`: the session or episode that the store gives as the memory's source, if it is a memory.

All names are resolved in one pass when edges are first asked for. `LinkIndex` is not thread-safe;
`memtui.library.links` holds the lock, and makes a new one after a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from memtui.insight.link_statements import (
    UNKNOWN_END,
    EdgeOrigin,
    LinkStatement,
    find_end,
    source_refs,
    stated_links,
    stem_of,
)
from memtui.model import CURRENT, Memory
from memtui.stores.values import as_moment


class NodeKind:
    """Kinds of node; plain texts, because nodes are hashed all the time and enum members are slow
    to hash."""

    MEMORY = "memory"
    ENTITY = "entity"
    UNKNOWN = "unknown"
    """The name matches no memory or entity of any open store."""


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
        at = as_moment(at)  # what began or ended at exactly this midnight has done so by then
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
"""Links of these origins are left out if no memory or entity has the name."""
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


class LinkIndex:
    """All links of many memories, by either end."""

    def __init__(
        self,
        slot_of: Mapping[str, int],
        rows: Sequence[Memory],
        stated: Mapping[int, Sequence[LinkStatement]] | None = None,
        *,
        changed: Callable[[Memory], datetime | None] = lambda _: None,
        is_past: bool = False,
    ) -> None:
        """
        Args:
            slot_of: Ref -> slot of all memories.
            rows: The memory of each slot.
            stated: What the memories state, by slot; None: it is read from all of them.
            changed: Gives when memtui last changed a memory, see `find_end`.
            is_past: Whether these are the memories of a time before, when a successor that is not
                there did not exist.
        """
        self._slots, self._rows = slot_of, rows
        self._changed, self._is_past = changed, is_past
        if stated is None:
            stated = {slot: stated_links(rows[slot]) for slot in slot_of.values()}
        self._stated = stated

    # ---- names ------------------------------------------------------------------------------

    @cached_property
    def _stores(self) -> dict[str, set[str]]:
        """Path of an entity, and of those above it -> labels of the stores with memories there."""
        stores: dict[str, set[str]] = {}
        for slot in self._slots.values():
            memory = self._rows[slot]
            for path in (memory.entity, *memory.also_entities):
                stores.setdefault(path, set()).add(memory.store)
        above: dict[str, set[str]] = {}
        for path in filter(None, stores):
            for part in accumulate(path.split("/"), "{}/{}".format):
                above.setdefault(part, set()).update(stores[path])
        return above

    @cached_property
    def _labels(self) -> set[str]:
        return {ref.partition(":")[0] for ref in self._slots}

    @cached_property
    def _called(self) -> dict[str, list[str]]:
        """Last part of the path of an entity -> paths."""
        called: dict[str, list[str]] = {}
        for path in self._stores:
            called.setdefault(path.rpartition("/")[2], []).append(path)
        return called

    @cached_property
    def _stems(self) -> dict[str, list[str]]:
        """Stem of a document's file name, folded -> refs."""
        stems: dict[str, list[str]] = {}
        for ref, slot in self._slots.items():
            if ref.endswith(".md"):
                stems.setdefault(stem_of(self._rows[slot].id), []).append(ref)
        return stems

    def has(self, node: Node) -> bool:
        """Whether the node is a memory or an entity of the open stores."""
        if node.kind == NodeKind.MEMORY:
            return node.name in self._slots
        return node.kind == NodeKind.ENTITY and node.name in self._stores

    def knows(self, store: str, name: str) -> bool:
        """Whether a name means a memory or an entity in a store."""
        return self.resolve(store, name).kind != NodeKind.UNKNOWN

    def resolve(self, store: str, name: str, origin: EdgeOrigin = EdgeOrigin.LINK) -> Node:
        """Return the node that a name means in a store.

        Tried in this order: the id of a memory of the store; `label:id` of another one; the path
        of an entity of the store, or its last part if only one of the store has it; the same in all
        stores; for links in texts, the stem of a file's name; for sources, the id of a session.
        """
        own_ref, any_ref, session = source_refs(store, name)
        for ref in (own_ref, any_ref):
            if ref in self._slots:
                return Node(NodeKind.MEMORY, ref)
        if origin is EdgeOrigin.SOURCE:
            kind = NodeKind.MEMORY if session in self._slots else NodeKind.UNKNOWN
            return Node(kind, session)
        label, colon, rest = name.partition(":")
        path = rest if colon and label in self._labels else name
        named = self.entities_called(path)
        own_paths = [known for known in named if store in self._stores[known]]
        for paths in ([path] if store in self._stores.get(path, ()) else [], own_paths):
            if len(paths) == 1:
                return Node(NodeKind.ENTITY, paths[0])
        if path in self._stores:
            return Node(NodeKind.ENTITY, path)
        if len(named) == 1:
            return Node(NodeKind.ENTITY, named[0])
        if origin is EdgeOrigin.TEXT:
            refs = self._stems.get(stem_of(name) or name.casefold(), [])
            own = [ref for ref in refs if ref.startswith(f"{store}:")] or refs
            if len(own) == 1:
                return Node(NodeKind.MEMORY, own[0])
        return Node(NodeKind.UNKNOWN, name)

    def entities_called(self, name: str) -> list[str]:
        """Paths of the entities with this last part, sorted."""
        return sorted(self._called.get(name, ()))

    def also_in(self, node: Node) -> list[tuple[str, str]]:
        """(label, path) of the entities of other stores with the last part of this one's path."""
        if node.kind != NodeKind.ENTITY:
            return []
        own = self._stores.get(node.name, set())
        return [
            (store, path)
            for path in self.entities_called(node.name.rpartition("/")[2])
            for store in sorted(self._stores[path])
            if path != node.name and store not in own
        ]

    def find_folded(self, name: str) -> list[Node]:
        """The nodes that a name in lower case means: all memories whose ref or id it is, else whose
        id begins so, and all entities of which it is the path or the last part."""
        ids = {
            ref: ref.partition(":")[2].casefold() for ref in self._slots if name in ref.casefold()
        }
        exact = [ref for ref, id in ids.items() if name in (ref.casefold(), id)]
        refs = exact or [ref for ref, id in ids.items() if id.startswith(name)]
        nodes = [Node(NodeKind.MEMORY, ref) for ref in refs]
        nodes += [
            Node(NodeKind.ENTITY, path)
            for path in self._stores
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

    def replacements(self, memory: Memory) -> Iterator[str]:
        """The ids of the memories of its store that replaced it, or that it replaced, whichever of
        them says so."""
        node = Node(NodeKind.MEMORY, memory.ref)
        for edge in (*self.outgoing(node), *self.incoming(node)):
            if edge.origin is EdgeOrigin.SUPERSEDES:
                for end in (edge.source, edge.target):
                    store, _, id = end.name.partition(":")
                    if store == memory.store:
                        yield id

    def last_links(self, node: Node, at: datetime) -> list[Edge]:
        """Return the links that a memory stated until it was taken out of use, if before a time."""
        slot = self._slots.get(node.name)
        end = None if slot is None else self._end_of(self._rows[slot])
        if end is None or end > as_moment(at):
            return []
        return [edge for edge in self.outgoing(node) if edge.until == end]

    @cached_property
    def edges(self) -> Edges:
        """All edges by their ends, as they are stated: one may be stated twice."""
        edges = Edges({}, {}, {})
        known: dict[tuple[str, str, EdgeOrigin], Node] = {}
        for slot in sorted(self._stated):
            memory = self._rows[slot]
            for stated in self._stated[slot]:
                self._add(memory, stated, edges, known)
        return edges

    def _add(
        self,
        memory: Memory,
        stated: LinkStatement,
        edges: Edges,
        known: dict[tuple[str, str, EdgeOrigin], Node],
    ) -> None:
        """Add the edges of a statement; none for one in a text or a source that names nothing."""
        own = Node(NodeKind.MEMORY, memory.ref)

        def resolve(name: str, origin: EdgeOrigin) -> Node:
            key = memory.store, name, origin
            if (node := known.get(key)) is None:
                node = known[key] = self.resolve(*key)
            return node

        target = own if stated.target == memory.id else resolve(stated.target, stated.origin)
        if target.kind == NodeKind.UNKNOWN and stated.origin in MAY_NAME_NOTHING:
            return
        source = own if stated.source is None else resolve(stated.source, EdgeOrigin.LINK)
        if self._is_past and source.kind == NodeKind.UNKNOWN:
            return
        until = stated.valid_to
        if stated.origin in _ENDS_WITH_MEMORY and (end := self._end_of(memory)) is not None:
            until = end if until is None else min(end, until)
        edge = Edge(
            source,
            stated.relation,
            target,
            stated.origin,
            memory.ref,
            stated.valid_from,
            None if until == UNKNOWN_END else until,
            stated.note,
            stated.valid_from or memory.created or memory.updated,
            until,
        )
        edges.outgoing.setdefault(source, []).append(edge)
        edges.incoming.setdefault(target, []).append(edge)
        paths = (memory.entity, *memory.also_entities) if stated.origin is EdgeOrigin.LINK else ()
        entities = [Node(NodeKind.ENTITY, path) for path in paths if path]
        held = [edge._replace(source=one) for one in entities if one not in (source, target)]
        for each in held:
            edges.outgoing.setdefault(each.source, []).append(each)
        is_between = target.kind == NodeKind.ENTITY and held
        edges.backward.setdefault(target, []).extend(held if is_between else [edge])

    def _end_of(self, memory: Memory) -> datetime | None:
        """When a memory was taken out of use; None if it is in use.

        What it says of others holds until then. What it says of itself does not end with it: which
        one it replaced, and where it comes from.
        """
        if memory.status in CURRENT:
            return None
        return find_end(memory, self._find, self._changed) or UNKNOWN_END

    def _find(self, store: str, id: str) -> Memory | None:
        slot = self._slots.get(f"{store}:{id}")
        return None if slot is None else self._rows[slot]


class Edges(NamedTuple):
    outgoing: dict[Node, list[Edge]]
    incoming: dict[Node, list[Edge]]
    backward: dict[Node, list[Edge]]
    """As `incoming`, but an edge to an entity starts at the entities whose memory states it, as the
    outgoing ones of an entity do: so a walk back leads on."""
