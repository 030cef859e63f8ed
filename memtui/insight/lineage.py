"""Find what a memory replaced, what replaced it, and what it links to, in both directions.

Stores write either side of a replacement, or both; an id may name nothing, and a chain may be a
circle.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from msgspec import Struct

from memtui.model import Link, Memory

if TYPE_CHECKING:
    from memtui.insight.link_statements import FindMemory
    from memtui.insight.links import LinkIndex

MAX_BACKLINKS = 200
"""Maximum number of memories read that link to one memory."""
MAX_HISTORY = 1_000
"""Maximum number of versions followed in each direction."""

Replacements = dict[str, dict[str, None]]
"""Id of a memory -> ids of those that it replaced, or that replaced it, in the order read."""


class Relative(Struct, frozen=True):
    """A memory that another one refers to, or that refers to it."""

    id: str
    memory: Memory | None
    """None if there is no memory with this id."""
    link: Link | None = None
    """The link that leads to it (or from it); None for a replacement."""
    is_missing: bool = False
    """True if neither a memory nor an entity of the open stores has this name; needs an index."""


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
    """Number of further memories that link to it."""
    history: tuple[Relative, ...] = ()
    """The memory with all its earlier and later versions, oldest first."""


def find_lineage(memory: Memory, find: FindMemory, index: LinkIndex | None = None) -> Lineage:
    """Look up all relations of a memory.

    Args:
        memory: where to start.
        find: looks up other memories.
        index: of the links of all memories, for what only others say of it, and for what is
            missing; None: what the memory says, and those that it names, directly or not.
    """
    older: Replacements = {}
    newer: Replacements = {}
    for each in _find_around(memory, find, index):
        pairs = [(each.id, old) for old in each.supersedes]
        pairs += [(new, each.id) for new in each.superseded_by]
        for new, old in pairs:
            older.setdefault(new, {})[old] = None
            newer.setdefault(old, {})[new] = None

    def relative(name: str, link: Link | None = None) -> Relative:
        found = memory if name == memory.id else find(memory.store, name)
        is_missing = found is None and index is not None and not index.knows(memory.store, name)
        return Relative(name, found, link, is_missing)

    backlinks, more = _find_backlinks(memory, index, find) if index is not None else ((), 0)
    return Lineage(
        memory,
        supersedes=tuple(map(relative, older.get(memory.id, ()))),
        successors=tuple(map(relative, newer.get(memory.id, ()))),
        links=tuple(relative(link.target, link) for link in memory.links),
        backlinks=backlinks,
        more_backlinks=more,
        history=tuple(map(relative, _history(memory, older, newer, find))),
    )


def _find_around(memory: Memory, find: FindMemory, index: LinkIndex | None) -> list[Memory]:
    """All memories of the store that replaced this one or were replaced by it, also indirectly;
    with an index whichever side says so. Itself is the first."""
    found = {memory.id: memory}
    front = [memory]
    while front and len(found) < MAX_HISTORY:
        names: dict[str, None] = {}
        for each in front:
            names.update(dict.fromkeys((*each.supersedes, *each.superseded_by)))
            names.update(dict.fromkeys(index.replacements(each) if index is not None else ()))
        new = (find(memory.store, name) for name in names if name not in found)
        front = [each for each in new if each is not None and each.id not in found]
        front = [each for each in front if each.store == memory.store]
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
