"""Find what a memory replaced, what replaced it, and what it links to, in both directions.

Stores write either side of a replacement, or both; an id may name nothing, and a chain may be a
circle. `collect_relations` reads many memories once; `lineage` then answers for one of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from memtui.dataclass import dataclass, field, replace
from memtui.model import Link, Memory

if TYPE_CHECKING:
    from memtui.insight.links import LinkIndex

MOST_BACKLINKS = 200
"""Memories that link to one that are read for its lineage."""
MAX_HISTORY = 1_000
"""Versions of one memory that are followed in each direction."""

Key = tuple[str, str]
"""Store label and the store's own id: ids are not unique across stores."""
FindMemory = Callable[[str, str], Memory | None]
"""Looks up a memory by store label and id; None if it does not exist."""


@dataclass(frozen=True, slots=True)
class Relative:
    """A memory that another one refers to, or that refers to it."""

    id: str
    memory: Memory | None
    """None: there is no memory with this id."""
    link: Link | None = None
    """The link that leads to it (or from it); None for a replacement."""
    is_missing: bool = False
    """Neither a memory nor an entity of the open stores has this name; known with an index only."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """All relations of one memory."""

    memory: Memory
    supersedes: tuple[Relative, ...] = ()
    """The memories that it replaced directly."""
    successors: tuple[Relative, ...] = ()
    """The memories that replaced it directly."""
    links: tuple[Relative, ...] = ()
    """Memories it links to."""
    backlinks: tuple[Relative, ...] = ()
    """Memories that link to it, `MOST_BACKLINKS` at most."""
    more_backlinks: int = 0
    """How many there are beside these."""
    history: tuple[Relative, ...] = ()
    """All earlier and later versions and the memory itself, oldest to newest."""


@dataclass(frozen=True, slots=True)
class Relations:
    """The references between many memories, in the order they were read."""

    older: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    """Memory -> ids that it replaced."""
    newer: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    """Memory -> ids that replaced it."""


def collect_relations(memories: Iterable[Memory]) -> Relations:
    """Collect the references of these memories."""
    older: dict[Key, dict[str, None]] = {}
    newer: dict[Key, dict[str, None]] = {}

    def replaced(store: str, new: str, old: str) -> None:
        older.setdefault((store, new), {})[old] = None
        newer.setdefault((store, old), {})[new] = None

    for memory in memories:
        for old in memory.supersedes:
            replaced(memory.store, memory.id, old)
        for new in memory.superseded_by:
            replaced(memory.store, new, memory.id)
    return Relations(
        {key: tuple(ids) for key, ids in older.items()},
        {key: tuple(ids) for key, ids in newer.items()},
    )


def lineage_in(memory: Memory, index: LinkIndex, find: FindMemory) -> Lineage:
    """Look up all relations of a memory in an index, also what only other memories say of it."""
    around = _find_around(memory, index, find)
    backlinks, more = _find_backlinks(memory, index, find)
    found = lineage(memory, collect_relations(around), find)

    def checked(relatives: tuple[Relative, ...]) -> tuple[Relative, ...]:
        return tuple(
            replace(
                relative,
                is_missing=relative.memory is None and not index.knows(memory.store, relative.id),
            )
            for relative in relatives
        )

    return replace(
        found,
        supersedes=checked(found.supersedes),
        successors=checked(found.successors),
        links=checked(found.links),
        backlinks=backlinks,
        more_backlinks=more,
    )


def lineage(memory: Memory, relations: Relations, find: FindMemory) -> Lineage:
    """Look up all relations of a memory."""
    store, key = memory.store, (memory.store, memory.id)

    def relative(name: str, link: Link | None = None) -> Relative:
        return Relative(name, memory if name == memory.id else find(store, name), link)

    return Lineage(
        memory,
        supersedes=tuple(map(relative, relations.older.get(key, ()))),
        successors=tuple(map(relative, relations.newer.get(key, ()))),
        links=tuple(relative(link.target, link) for link in memory.links),
        history=tuple(map(relative, _history(memory, relations, find))),
    )


def _find_around(memory: Memory, index: LinkIndex, find: FindMemory) -> list[Memory]:
    """All memories of the store that replaced this one or were replaced by it, also indirectly,
    whichever side says so; itself the first."""
    from memtui.insight.link_graph import Node, NodeKind
    from memtui.insight.link_statements import EdgeOrigin

    found = {memory.id: memory}
    front = [memory]
    while front and len(found) < MAX_HISTORY:
        names: dict[str, None] = {}
        for each in front:
            node = Node(NodeKind.MEMORY, each.ref)
            edges = (*index.outgoing(node), *index.incoming(node))
            names.update(
                (end.name.partition(":")[2], None)
                for edge in edges
                if edge.origin is EdgeOrigin.SUPERSEDES
                for end in (edge.source, edge.target)
                if end.name.startswith(f"{memory.store}:")
            )
        new = (find(memory.store, name) for name in names if name not in found)
        front = [each for each in new if each is not None and each.id not in found]
        found.update((each.id, each) for each in front)
    return list(found.values())


def _find_backlinks(
    memory: Memory, index: LinkIndex, find: FindMemory
) -> tuple[tuple[Relative, ...], int]:
    """The memories that link to this one, from any store or from their text, and how many more
    there are. A replacement is no link here."""
    from memtui.insight.link_graph import Node, NodeKind
    from memtui.insight.link_statements import EdgeOrigin

    node = Node(NodeKind.MEMORY, memory.ref)
    kinds = (EdgeOrigin.LINK, EdgeOrigin.TEXT)
    edges = [edge for edge in index.incoming(node) if edge.origin in kinds]
    found = []
    for edge in edges[:MOST_BACKLINKS]:
        store, _, id = edge.source.name.partition(":")
        link = Link(edge.relation, memory.id, edge.valid_from, edge.valid_to, edge.note)
        name = id if store == memory.store else edge.source.name
        found.append(Relative(name, find(store, id), link))
    return tuple(found), len(edges) - len(found)


def _history(memory: Memory, relations: Relations, find: FindMemory) -> list[str]:
    """Ids of all versions, oldest first: by replacement, then by time."""
    store = memory.store
    past = _find_reachable(memory.id, store, relations.older)
    future = _find_reachable(memory.id, store, relations.newer)
    members = {memory.id: None, **past, **future}
    waiting = {
        name: sum(old in members for old in relations.older.get((store, name), ()) if old != name)
        for name in members
    }

    def age(name: str) -> tuple[float, str]:
        found = memory if name == memory.id else find(store, name)
        when = found.when.timestamp() if found is not None and found.when else float("-inf")
        return when, name

    ages = {name: age(name) for name in members}
    ready = [ages[name] for name, count in waiting.items() if not count]
    heapify(ready)
    order: list[str] = []
    while waiting:
        if not ready:  # a circle: start with its oldest member
            heappush(ready, min(ages[name] for name in waiting))
        name = heappop(ready)[1]
        if waiting.pop(name, None) is None:
            continue
        order.append(name)
        for new in relations.newer.get((store, name), ()):
            if new in waiting:
                waiting[new] -= 1
                if waiting[new] <= 0:
                    heappush(ready, ages[new])
    return order


def _find_reachable(
    start: str, store: str, steps: Mapping[Key, tuple[str, ...]]
) -> dict[str, None]:
    """All ids reachable from the start, nearest first, without it."""
    reached: dict[str, None] = {}
    waiting = deque([start])
    while waiting and len(reached) < MAX_HISTORY:
        for name in steps.get((store, waiting.popleft()), ()):
            if name != start and name not in reached:
                reached[name] = None
                waiting.append(name)
    return reached
