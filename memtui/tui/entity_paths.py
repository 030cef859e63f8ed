"""The entities of all stores as paths of one tree, and what each branch filters by. Pure.

With several stores the first level is the program, unless the tree is flat. A level that has `/` in
its name is one level: the slash is replaced in the path and put back where the name is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

SLASH = "\x1f"
"""Stands for a slash inside a level."""


class Target(NamedTuple):
    """What a branch filters by; empty values for all."""

    store: str = ""
    """Label of the store."""
    entities: tuple[str, ...] = ()


class EntityPaths(NamedTuple):
    """Counts by path, and the targets of the paths that are entities themselves."""

    counts: Mapping[str, int]
    repeats: Mapping[str, int]
    targets: Mapping[str, Target]
    roots: Mapping[str, str]
    """Path of a program -> the label of its store; none in a flat tree."""

    def target(self, path: str) -> Target:
        """What the branch with this path filters by."""
        if not path or path in self.targets:
            return self.targets.get(path, Target())
        root, _, rest = path.partition("/")
        label = self.roots.get(root, "")
        entity = (rest if self.roots else path).replace(SLASH, "/")
        return Target(label, (entity,) if entity else ())


NO_PATHS = EntityPaths({}, {}, {}, {})


def shown(level: str) -> str:
    """A level as it is shown."""
    return level.replace(SLASH, "/")


class KnownPaths(NamedTuple):
    """The paths found so far for one state of the stores, which do not depend on the search."""

    paths: dict[tuple[str, str], str]
    """Label of the store and entity -> path."""
    targets: dict[str, Target]
    roots: dict[str, str]


def make_paths(
    counts: Mapping[tuple[str, str], int],
    repeats: Mapping[tuple[str, str], int],
    levels: Callable[[str, str], tuple[str, ...]],
    name: Callable[[str], str] | None,
    known: KnownPaths | None = None,
) -> EntityPaths:
    """Make the paths.

    Args:
        counts, repeats: by label of the store and entity, see `Facets.tree`.
        levels: of an entity of a store.
        name: gives the name of a store, for a tree of programs; None: a flat tree.
        known: kept from one letter to the next, with the same `levels` and `name`. To make
            thousands of targets anew takes 15 ms at 100,000 memories, and 60 where the collector
            of garbage runs.
    """
    sums: dict[str, int] = {}
    paths, targets, roots = known or KnownPaths({}, {}, {})

    def path_of(label: str, entity: str) -> str:
        parts = [part.replace("/", SLASH) for part in levels(label, entity)] if entity else []
        if name is not None:
            root = name(label).replace("/", SLASH)
            roots[root] = label
            parts.insert(0, root)
        return "/".join(parts)

    for pair, count in counts.items():
        if (path := paths.get(pair)) is None:
            label, entity = pair
            path = paths[pair] = path_of(label, entity)
            entities = targets.get(path, Target()).entities
            added = (entity,) if entity else ()
            targets[path] = Target(label if name is not None else "", entities + added)
        sums[path] = sums.get(path, 0) + count
    again: dict[str, int] = {}
    for (label, entity), count in repeats.items():
        path = path_of(label, entity)
        again[path] = again.get(path, 0) + count
    return EntityPaths(sums, again, targets, roots)
