"""What some memories amount to: how many of each value, from when to when, and on which days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memtui.search.columns import NAMES, Columns, as_array, entities_at, named_counts

DAY = 86_400


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Over some slots, in seconds since 1970 where it is a time."""

    pinned: int
    undated: int
    oldest: float | None
    newest: float | None


def sums(columns: Columns, slots: Sequence[int]) -> Aggregates:
    """What is said of these slots in one number each."""
    at = as_array(slots)
    times = columns.when.take(at)
    undated = int(np.isnan(times).sum())
    dated = undated < len(times)
    return Aggregates(
        pinned=int(columns.pinned.take(at).sum()),
        undated=undated,
        oldest=float(np.nanmin(times)) if dated else None,
        newest=float(np.nanmax(times)) if dated else None,
    )


def counts(columns: Columns, slots: Sequence[int]) -> dict[str, Mapping[str, int]]:
    """Field -> value -> how many of these slots have it."""
    at = as_array(slots)
    codes = {name: getattr(columns, name).take(at) for name in NAMES if name != "entity"}
    codes["entity"], _ = entities_at(columns, at)
    return {
        name: named_counts(np.bincount(codes[name]), names(columns))
        for name, names in NAMES.items()
    }


def days(columns: Columns, slots: Sequence[int]) -> tuple[dict[int, int], int]:
    """Day since 1970 (UTC) -> how many of these slots lie there; and how many have no time."""
    times = columns.when.take(as_array(slots))
    dated = times[~np.isnan(times)]
    numbers, found = np.unique((dated // DAY).astype(np.int64), return_counts=True)
    return dict(zip(numbers.tolist(), found.tolist(), strict=True)), len(times) - len(dated)
