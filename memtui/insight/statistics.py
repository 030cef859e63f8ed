"""How many memories of each kind there are, from when to when, and what they take on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from memtui.model import IMPORTANCES, STATUSES, Memory

COUNTED = ("type", "importance", "status", "kind", "store", "entity")
"""Fields of `Memory` that are counted; each is a field of `Statistics` too."""
_IN_ORDER = {"importance": IMPORTANCES, "status": STATUSES}
"""Fields whose values have an order of their own; the others go by count."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over some memories. Mappings are in the order to show them; none holds a zero."""

    total: int = 0
    type: Mapping[str, int] = field(default_factory=dict)
    """The empty type is the key ""."""
    importance: Mapping[str, int] = field(default_factory=dict)
    status: Mapping[str, int] = field(default_factory=dict)
    kind: Mapping[str, int] = field(default_factory=dict)
    store: Mapping[str, int] = field(default_factory=dict)
    entity: Mapping[str, int] = field(default_factory=dict)
    pinned: int = 0
    oldest: datetime | None = None
    """UTC, of `Memory.when`."""
    newest: datetime | None = None
    undated: int = 0
    disk: Mapping[str, int] = field(default_factory=dict)
    """Store label -> bytes of its files."""

    @property
    def bytes(self) -> int:
        """What all stores take on disk."""
        return sum(self.disk.values())

    def as_record(self) -> dict[str, Any]:
        """For `--json`: times as ISO 8601 in UTC, counts as objects."""
        return {
            "total": self.total,
            **{name: dict(getattr(self, name)) for name in COUNTED},
            "pinned": self.pinned,
            "oldest": _iso(self.oldest),
            "newest": _iso(self.newest),
            "undated": self.undated,
            "disk": dict(self.disk),
        }


def count_memories(memories: Sequence[Memory], disk: Mapping[str, int] | None = None) -> Statistics:
    """The statistics of these memories; `disk` (store -> bytes) is what the caller measured."""
    counts = {name: Counter(map(attrgetter(name), memories)) for name in COUNTED}
    counts["entity"].update(entity for memory in memories for entity in memory.also_entities)
    times = [memory.when for memory in memories if memory.when is not None]
    return from_counts(
        counts,
        total=len(memories),
        pinned=sum(memory.pinned for memory in memories),
        oldest=min(times, default=None),
        newest=max(times, default=None),
        undated=len(memories) - len(times),
        disk=disk or {},
    )


def from_counts(
    counts: Mapping[str, Mapping[str, int]],
    *,
    total: int,
    pinned: int = 0,
    oldest: datetime | None = None,
    newest: datetime | None = None,
    undated: int = 0,
    disk: Mapping[str, int] | None = None,
) -> Statistics:
    """The same where somebody (the search columns) has counted already; field -> value -> count."""
    return Statistics(
        total=total,
        **{name: _ordered(name, counts.get(name, {})) for name in COUNTED},
        pinned=pinned,
        oldest=oldest,
        newest=newest,
        undated=undated,
        disk=disk or {},
    )


def _ordered(name: str, counts: Mapping[str, int]) -> dict[str, int]:
    order: Iterable[str]
    if name in _IN_ORDER:
        known = _IN_ORDER[name]
        order = [*known, *sorted(set(counts) - set(known))]
    else:
        order = sorted(counts, key=lambda value: (-counts[value], value.casefold(), value))
    return {value: counts[value] for value in order if counts.get(value)}


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).isoformat().replace("+00:00", "Z")
