"""Count values, facets and days over slots, and find their oldest and newest time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from memtui.model import KINDS
from memtui.search.array_types import Longs, sort_unique
from memtui.search.columns import Columns, further_entities, to_array
from memtui.search.filters import Filters

COUNTED = ("type", "importance", "status", "kind", "entity", "store")
"""Fields whose values are counted."""


def named_counts(counts: NDArray[np.int64], names: Sequence[str]) -> dict[str, int]:
    """Name the counts of a vocabulary.

    Args:
        counts: For each code of the vocabulary how often it occurs.
        names: The vocabulary: the name of each code.

    Returns:
        Name -> count, most frequent first; zeros are left out.
    """
    occurring = np.flatnonzero(counts)
    frequent = occurring[np.argsort(-counts[occurring], kind="stable")]
    found = zip(frequent.tolist(), counts[frequent].tolist(), strict=True)
    return {names[code]: count for code, count in found}


def summarize(columns: Columns, slots: Sequence[int]) -> dict[str, Any]:
    """The fields of `Statistics` that are figures over all of these slots: how many are pinned and
    undated, the oldest and the newest time."""
    at = to_array(slots)
    times = columns.when.take(at)
    undated = int(np.isnan(times).sum())
    dated = undated < len(times)
    return {
        "pinned": int(columns.pinned.take(at).sum()),
        "undated": undated,
        "oldest": datetime.fromtimestamp(float(np.nanmin(times)), UTC) if dated else None,
        "newest": datetime.fromtimestamp(float(np.nanmax(times)), UTC) if dated else None,
    }


def labels_of(columns: Columns, slots: Sequence[int]) -> set[str]:
    """The labels of the stores of these slots."""
    counts = np.bincount(columns.store.take(to_array(slots)))
    return {columns.stores[code] for code in counts.nonzero()[0].tolist()}


def count_values(columns: Columns, slots: Sequence[int]) -> dict[str, Mapping[str, int]]:
    """Count the values of these slots.

    Returns:
        Field -> value -> count; the fields are those of `COUNTED`.
    """
    at = to_array(slots)
    found: dict[str, Mapping[str, int]] = {}
    for name in COUNTED:
        codes, values = columns.coded(name)
        codes = codes.take(at)
        if name == "entity":
            codes = np.concatenate([codes, further_entities(columns, at)[:, 1]])
        found[name] = named_counts(np.bincount(codes), values)
    return found


def list_entities(columns: Columns) -> set[str]:
    """The paths of the entities of all live rows, further ones included."""
    further = columns.also[columns.alive[columns.also[:, 0]], 1]
    codes = sort_unique(np.concatenate([columns.entity[columns.alive], further]))
    return {columns.entities[code] for code in codes.tolist()} - {""}


def count_days(columns: Columns, slots: Sequence[int]) -> tuple[dict[int, int], int]:
    """Count these slots by day.

    Returns:
        Local day since 1970 -> count, and how many slots have no time.
    """
    of = columns.days
    counts = np.bincount(of.of_slot.take(to_array(slots)), minlength=len(of.days) + 1)
    occurring = counts[:-1].nonzero()[0]
    days = of.days.take(occurring).tolist()
    return dict(zip(days, counts.take(occurring).tolist(), strict=True)), int(counts[-1])


def slots_of_kinds(columns: Columns, slots: Sequence[int], kinds: Sequence[str]) -> Sequence[int]:
    """Return those of the `slots` of `columns` that have one of the `kinds`, in their order."""
    at = to_array(slots)
    codes = [KINDS.index(kind) for kind in kinds]
    found: list[int] = at[np.isin(columns.kind.take(at), codes)].tolist()
    return found


PairCounts = Mapping[tuple[str, str], int]
"""Label of a store and entity -> count."""


class Facets(Struct, frozen=True):
    """How many memories a filter on each value would find, most frequent first.

    The filter on a field is ignored when its values are counted, so that a picker can show the
    other choices.
    """

    type: Mapping[str, int]
    importance: Mapping[str, int]
    status: Mapping[str, int]
    kind: Mapping[str, int]
    entity: Mapping[str, int]
    store: Mapping[str, int]
    entity_repeats: Mapping[str, int] = field(default_factory=dict)
    """Path -> how often the sum of `entity` counts a memory twice, there and at each path above."""
    tree: PairCounts = field(default_factory=dict)
    """Label of a store and entity -> count, without the filters on both."""
    tree_repeats: PairCounts = field(default_factory=dict)
    """As `entity_repeats` for `tree`."""


def count_facets(columns: Columns, filters: Filters, matching: Longs | None) -> Facets:
    """Return how many slots that pass the filters have each value.

    Args:
        matching: The slots that match its text; None: all.
    """
    found: dict[str, Any] = {}
    for name in COUNTED:
        slots = _slots_without(filters, (name,), matching)
        codes, values = columns.coded(name)
        codes = codes.take(slots)
        if name == "entity":
            further = further_entities(columns, slots)
            codes = np.concatenate([codes, further[:, 1]])
            found["entity_repeats"] = named_counts(np.bincount(further[:, 2]), values)
        found[name] = named_counts(np.bincount(codes), values)
    slots = _slots_without(filters, ("entity", "store"), matching)
    tree, tree_repeats = _count_pairs(columns, slots)
    return Facets(**found, tree=tree, tree_repeats=tree_repeats)


def _slots_without(filters: Filters, fields: Sequence[str], matching: Longs | None) -> Longs:
    """The matching slots that pass all filters but those over these fields."""
    masks = [one.mask for one in filters.each if one.field not in fields]
    passing = filters.passing
    if len(masks) < len(filters.each):
        passing = np.logical_and.reduce([filters.alive, *masks])
    return passing.nonzero()[0] if matching is None else matching[passing.take(matching)]


def _count_pairs(columns: Columns, slots: Longs) -> tuple[PairCounts, PairCounts]:
    """Count the pairs of store and entity, and those that a sum over paths counts twice."""
    also = further_entities(columns, slots)
    stores = columns.store.take(slots).astype(np.int64)
    further = columns.store.take(also[:, 0]).astype(np.int64)
    entities = columns.entity.take(slots)
    size = len(columns.entities) or 1
    pairs = np.concatenate([stores * size + entities, further * size + also[:, 1]])

    def named(codes: NDArray[np.int64]) -> PairCounts:
        occurring, counts = np.unique(codes, return_counts=True)
        return {
            (columns.stores[code // size], columns.entities[code % size]): count
            for code, count in zip(occurring.tolist(), counts.tolist(), strict=True)
        }

    return named(pairs), named(further * size + also[:, 2])
