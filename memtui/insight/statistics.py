"""Counts of memories by field, with their times and sizes; entities as a tree with counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from memtui.model import IMPORTANCES, STATUSES, format_time

if TYPE_CHECKING:
    from memtui.stores.base import LimitUse

COUNTED = ("type", "importance", "status", "kind", "store", "entity")
"""Fields of `Memory` that are counted; `Statistics` has fields of the same names."""
_IN_ORDER = {"importance": IMPORTANCES, "status": STATUSES}
"""Fields whose values have an order of their own; others are ordered by count."""


class Statistics(Struct, frozen=True):
    """Counts over some memories. Mappings are in display order, without zeros."""

    total: int = 0
    accuracy: str = "exact"
    """How far `total` can be trusted: a value of `memtui.stores.queryable.Accuracy`."""
    type: Mapping[str, int] = field(default_factory=dict)
    """The empty type is the key ""."""
    importance: Mapping[str, int] = field(default_factory=dict)
    status: Mapping[str, int] = field(default_factory=dict)
    kind: Mapping[str, int] = field(default_factory=dict)
    store: Mapping[str, int] = field(default_factory=dict)
    entity: Mapping[str, int] = field(default_factory=dict)
    pinned: int = 0
    oldest: datetime | None = None
    """Earliest `Memory.when`, in UTC."""
    newest: datetime | None = None
    undated: int = 0
    salience: Mapping[str, float] = field(default_factory=dict)
    """`min`, `median`, `p90` and `max`; empty without memories or if not requested."""
    disk: Mapping[str, int] = field(default_factory=dict)
    """Label of each store in the result -> size of its files in bytes."""
    limits: tuple[LimitUse, ...] = ()
    """How much of its program's limit each text uses that is loaded at the start of a session; the
    fullest first."""

    @property
    def bytes(self) -> int:
        """The size of these stores on disk."""
        return sum(self.disk.values())

    def as_record(self) -> dict[str, Any]:
        """The JSON object for `--json`; times are ISO 8601 in UTC."""
        return {
            "total": self.total,
            "accuracy": str(self.accuracy),
            **{name: dict(getattr(self, name)) for name in COUNTED},
            "pinned": self.pinned,
            "oldest": format_time(self.oldest),
            "newest": format_time(self.newest),
            "undated": self.undated,
            "salience": dict(self.salience),
            "disk": dict(self.disk),
            "load_limits": [use.as_record() for use in self.limits],
        }


def order_counts(counts: Mapping[str, Mapping[str, int]]) -> dict[str, Mapping[str, int]]:
    """The counts (field -> value -> count) of all fields of `COUNTED`, in display order."""
    return {name: _ordered(name, counts.get(name, {})) for name in COUNTED}


def _ordered(name: str, counts: Mapping[str, int]) -> dict[str, int]:
    order: Iterable[str]
    if name in _IN_ORDER:
        known = _IN_ORDER[name]
        order = [*known, *sorted(set(counts) - set(known))]
    else:
        order = sorted(counts, key=lambda value: (-counts[value], value.casefold(), value))
    return {value: counts[value] for value in order if counts.get(value)}


# ---- the tree of entities -----------------------------------------------------------------------


_TOP = "\0"
"""Key of the root, the parent of the first parts of paths."""
NO_REPEATS: Mapping[str, int] = MappingProxyType({})


class EntityBranch(Struct, frozen=True):
    """One visible line of the tree."""

    path: str
    """Full path; empty for the first line, all entities."""
    name: str
    depth: int
    count: int
    leaf: bool


def list_branches(
    counts: Mapping[str, int], unfolded: Collection[str], repeats: Mapping[str, int] = NO_REPEATS
) -> list[EntityBranch]:
    """Build the visible lines: parents before children, by name, with the counts of children added.

    Folded branches are not expanded: every typed letter brings new counts of thousands of entities.
    `repeats`: memories that a path and its parents would count twice; see `Facets`.
    """
    sums: dict[str, int] = {}
    inner: set[str] = set()
    children: dict[str, list[str]] = {}
    for path, count in counts.items():
        parent, end = _TOP, path.find("/")
        while True:
            part = path if end < 0 else path[:end]
            if part in sums:
                sums[part] += count
            else:
                sums[part] = count
                children.setdefault(parent, []).append(part)
            if end < 0:
                break
            inner.add(part)
            if part not in unfolded:
                break
            parent, end = part, path.find("/", end + 1)
    for path, count in repeats.items():
        for part in _visible_parts(path, unfolded):
            sums[part] -= count
    lines: list[EntityBranch] = []
    waiting = sorted(children.get(_TOP, ()), key=str.casefold, reverse=True)
    while waiting:
        path = waiting.pop()
        name = path.rpartition("/")[2]
        lines.append(EntityBranch(path, name, path.count("/"), sums[path], path not in inner))
        waiting.extend(sorted(children.get(path, ()), key=str.casefold, reverse=True))
    return lines


def _visible_parts(path: str, unfolded: Collection[str]) -> Iterator[str]:
    """The path and its parents, from the top down to the first folded one."""
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        if path[:end] not in unfolded:
            return
        end = path.find("/", end + 1)
    if path:
        yield path
