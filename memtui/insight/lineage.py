"""Find what a memory replaced, what replaced it, and what it links to, in both directions.

Stores write either side of a replacement, or both; an id may name nothing, and a chain may be a
circle. `collect_relations` reads many memories once; `lineage` then answers for one of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from memtui.model import Link, Memory

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
    """Memories that link to it."""
    history: tuple[Relative, ...] = ()
    """All earlier and later versions and the memory itself, oldest to newest."""


@dataclass(frozen=True, slots=True)
class Relations:
    """The references between many memories, in the order they were read."""

    older: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    """Memory -> ids that it replaced."""
    newer: Mapping[Key, tuple[str, ...]] = field(default_factory=dict)
    """Memory -> ids that replaced it."""
    backlinks: Mapping[Key, tuple[tuple[str, Link], ...]] = field(default_factory=dict)
    """Memory -> (id that links to it, the link)."""


def collect_relations(memories: Iterable[Memory]) -> Relations:
    """Collect the references of these memories."""
    older: dict[Key, dict[str, None]] = {}
    newer: dict[Key, dict[str, None]] = {}
    backlinks: dict[Key, list[tuple[str, Link]]] = {}

    def replaced(store: str, new: str, old: str) -> None:
        older.setdefault((store, new), {})[old] = None
        newer.setdefault((store, old), {})[new] = None

    for memory in memories:
        for old in memory.supersedes:
            replaced(memory.store, memory.id, old)
        for new in memory.superseded_by:
            replaced(memory.store, new, memory.id)
        for link in memory.links:
            backlinks.setdefault((memory.store, link.target), []).append((memory.id, link))
    return Relations(
        {key: tuple(ids) for key, ids in older.items()},
        {key: tuple(ids) for key, ids in newer.items()},
        {key: tuple(links) for key, links in backlinks.items()},
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
        backlinks=tuple(relative(name, link) for name, link in relations.backlinks.get(key, ())),
        history=tuple(map(relative, _history(memory, relations, find))),
    )


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
