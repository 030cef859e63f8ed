"""Find what a memory replaced, what replaced it, and what it links to, in both directions.

Stores write either side of a replacement, or both; an id may name nothing, and a chain may be a
circle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from memtui.model import Link, Memory

if TYPE_CHECKING:
    from memtui.insight.links import LinkIndex

MAX_BACKLINKS = 200
"""Memories that link to one that are read for its lineage."""
MAX_HISTORY = 1_000
"""Versions of one memory that are followed in each direction."""

Replacements = dict[str, dict[str, None]]
"""Id of a memory -> ids of those that it replaced, or that replaced it, in the order read."""
FindMemory = Callable[[str, str], Memory | None]
"""Looks up a memory by store label and id; None if it does not exist."""


class Relative(Struct, frozen=True):
    """A memory that another one refers to, or that refers to it."""

    id: str
    memory: Memory | None
    """None: there is no memory with this id."""
    link: Link | None = None
    """The link that leads to it (or from it); None for a replacement."""
    is_missing: bool = False
    """Neither a memory nor an entity of the open stores has this name; known with an index only."""


class Lineage(Struct, frozen=True):
    """All relations of one memory."""

    memory: Memory
    supersedes: tuple[Relative, ...] = ()
    """The memories that it replaced directly."""
    successors: tuple[Relative, ...] = ()
    """The memories that replaced it directly."""
    links: tuple[Relative, ...] = ()
    """Memories it links to."""
    backlinks: tuple[Relative, ...] = ()
    """Memories that link to it, `MAX_BACKLINKS` at most."""
    more_backlinks: int = 0
    """How many there are beside these."""
    history: tuple[Relative, ...] = ()
    """All earlier and later versions and the memory itself, oldest to newest."""


def lineage_in(memory: Memory, index: LinkIndex, find: FindMemory) -> Lineage:
    """Look up all relations of a memory in an index, also what only other memories say of it."""
    around = _find_around(memory, index, find)
    backlinks, more = _find_backlinks(memory, index, find)
    found = lineage(memory, around, find)

    def check(each: Relative) -> Relative:
        is_missing = each.memory is None and not index.knows(memory.store, each.id)
        return replace(each, is_missing=is_missing)

    return replace(
        found,
        supersedes=tuple(map(check, found.supersedes)),
        successors=tuple(map(check, found.successors)),
        links=tuple(map(check, found.links)),
        backlinks=backlinks,
        more_backlinks=more,
    )


def lineage(memory: Memory, memories: Iterable[Memory], find: FindMemory) -> Lineage:
    """Look up all relations of a memory, as far as these memories say them."""
    older: Replacements = {}
    newer: Replacements = {}
    store = memory.store
    for each in memories:
        pairs = [(each.id, old) for old in each.supersedes]
        pairs += [(new, each.id) for new in each.superseded_by]
        for new, old in pairs if each.store == store else ():
            older.setdefault(new, {})[old] = None
            newer.setdefault(old, {})[new] = None

    def relative(name: str, link: Link | None = None) -> Relative:
        return Relative(name, memory if name == memory.id else find(store, name), link)

    return Lineage(
        memory,
        supersedes=tuple(map(relative, older.get(memory.id, ()))),
        successors=tuple(map(relative, newer.get(memory.id, ()))),
        links=tuple(relative(link.target, link) for link in memory.links),
        history=tuple(map(relative, _history(memory, older, newer, find))),
    )


def _find_around(memory: Memory, index: LinkIndex, find: FindMemory) -> list[Memory]:
    """All memories of the store that replaced this one or were replaced by it, also indirectly,
    whichever side says so; itself the first."""
    from memtui.insight.link_statements import EdgeOrigin
    from memtui.insight.links import Node, NodeKind

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
    from memtui.insight.link_statements import EdgeOrigin
    from memtui.insight.links import Node, NodeKind

    node = Node(NodeKind.MEMORY, memory.ref)
    kinds = (EdgeOrigin.LINK, EdgeOrigin.TEXT)
    edges = [edge for edge in index.incoming(node) if edge.origin in kinds]
    found = []
    for edge in edges[:MAX_BACKLINKS]:
        store, _, id = edge.source.name.partition(":")
        link = Link(edge.relation, memory.id, edge.valid_from, edge.valid_to, edge.note)
        name = id if store == memory.store else edge.source.name
        found.append(Relative(name, find(store, id), link))
    return tuple(found), len(edges) - len(found)


def _history(
    memory: Memory, older: Replacements, newer: Replacements, find: FindMemory
) -> list[str]:
    """Ids of all versions, oldest first: by replacement, then by time."""
    past, future = _find_reachable(memory.id, older), _find_reachable(memory.id, newer)
    members = {memory.id: None, **past, **future}
    waiting = {
        name: sum(old in members for old in older.get(name, ()) if old != name) for name in members
    }

    def age(name: str) -> tuple[float, str]:
        found = memory if name == memory.id else find(memory.store, name)
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
        for new in newer.get(name, ()):
            if new in waiting:
                waiting[new] -= 1
                if waiting[new] <= 0:
                    heappush(ready, ages[new])
    return order


def _find_reachable(start: str, steps: Replacements) -> dict[str, None]:
    """All ids reachable from the start, nearest first, without it."""
    reached: dict[str, None] = {}
    waiting = deque([start])
    while waiting and len(reached) < MAX_HISTORY:
        for name in steps.get(waiting.popleft(), ()):
            if name != start and name not in reached:
                reached[name] = None
                waiting.append(name)
    return reached
