"""Which memories pass the filters of a query.

What has few values is looked at once for each combination of them (see `columns.Joint`); tags,
entities and times for each slot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memtui.model import CURRENT, IMPORTANCES, KINDS, STATUSES
from memtui.query import Condition, Query, entity_matches
from memtui.search.columns import Columns, Mask, Slots, entities_at

_PINS = ("no", "yes")
_VALUES: dict[str, Callable[[Columns], Sequence[str]]] = {
    "type": lambda columns: columns.types,
    "store": lambda columns: columns.stores,
    "status": lambda _: STATUSES,
    "importance": lambda _: IMPORTANCES,
    "kind": lambda _: KINDS,
    "pinned": lambda _: _PINS,
}
"""Filters over fields with few values."""


@dataclass(frozen=True)
class Filters:
    """The filters of one query over these columns."""

    columns: Columns
    few: dict[str, Mask]
    """Field -> which combinations pass its filters."""
    entity: Mask | None
    """Which slots pass the filters over entities; None without any."""
    rest: Mask | None
    """Which slots pass all others; None without any."""

    def combinations(self, lifted: str = "") -> Mask:
        """Which combinations pass, the filters of one field left out."""
        passing = self.columns.joint.values["alive"] > 0
        for name, mask in self.few.items():
            if name != lifted:
                passing &= mask
        return passing

    def single(self, slots: Slots | None, lifted: str = "") -> Mask | None:
        """Which of these slots (None: of all) pass what combinations do not tell; None: all do."""
        masks = [self.rest, None if lifted == "entity" else self.entity]
        found: Mask | None = None
        for mask in masks:
            if mask is not None:
                here = mask if slots is None else mask.take(slots)
                found = here if found is None else found & here
        return found


class FilteredSlots:
    """What of these slots (None: of all) passes the filters."""

    def __init__(self, filters: Filters, slots: Slots | None) -> None:
        self.filters = filters
        self._slots = slots
        of = filters.columns.joint.of
        self.combinations = of if slots is None else of.take(slots)
        """The combination of each slot."""
        self.single = filters.single(slots)
        """Which pass what combinations do not tell; None: all do."""

    def passing(self) -> Mask:
        """Which pass."""
        return self._with(self.single)

    def entities(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """What `entities_at` says of what passes, the filters over entities left out."""
        if self.filters.entity is None:
            held = self.passing()
        else:
            held = self._with(self.filters.single(self._slots, lifted="entity"))
        slots = held.nonzero()[0] if self._slots is None else self._slots[held]
        return entities_at(self.filters.columns, slots)

    def _with(self, single: Mask | None) -> Mask:
        passing = self.filters.combinations().take(self.combinations)
        return passing if single is None else passing & single


def compile_filters(columns: Columns, query: Query) -> Filters:
    """The filters of a query; where none is over the status, what is not current is left out."""
    few: dict[str, Mask] = {}
    entity: Mask | None = None
    rest: Mask | None = None
    joint = columns.joint
    for part in query.conditions:
        if (values := _VALUES.get(part.field)) is not None:
            codes = joint.values[part.field]
            passed = _passing(part, values(columns))[codes]
            few[part.field] = few[part.field] & passed if part.field in few else passed
        elif part.field == "entity":
            passed = _of_entities(columns, part)
            entity = passed if entity is None else entity & passed
        else:
            passed = _tagged(columns, part)
            rest = passed if rest is None else rest & passed
    if "status" not in few:
        few["status"] = _codes(STATUSES, CURRENT.__contains__)[joint.values["status"]]
    for passed in _in_time(columns, query):
        rest = passed if rest is None else rest & passed
    return Filters(columns, few, entity, rest)


def filter_mask(columns: Columns, query: Query) -> Mask:
    """Which slots pass all filters of the query; its text is not looked at."""
    return FilteredSlots(compile_filters(columns, query), None).passing()


def _codes(vocabulary: Sequence[str], wanted: Callable[[str], bool]) -> Mask:
    return np.array([wanted(value.casefold()) for value in vocabulary] or [False], np.bool_)


def _passing(part: Condition, vocabulary: Sequence[str]) -> Mask:
    """Which values of a field with few values pass."""
    wanted: Collection[str] = frozenset(part.values)
    if part.field == "status" and "all" in wanted:
        return np.ones(len(vocabulary), np.bool_)
    passed = _codes(vocabulary, wanted.__contains__)
    return ~passed if part.negated else passed


def _of_entities(columns: Columns, part: Condition) -> Mask:
    wanted = _codes(
        columns.entities, lambda entity: any(entity_matches(entity, v) for v in part.values)
    )
    passed = wanted.take(columns.entity)
    passed[columns.also[wanted.take(columns.also[:, 1]), 0]] = True
    return ~passed if part.negated else passed


def _tagged(columns: Columns, part: Condition) -> Mask:
    tagged = np.zeros(len(columns), np.bool_)
    for value in part.values:
        tagged[columns.tags.get(value, np.empty(0, np.int64))] = True
    return ~tagged if part.negated else tagged


def _in_time(columns: Columns, query: Query) -> list[NDArray[Any]]:
    masks = []
    if query.since:
        masks.append(columns.when >= query.since.time.timestamp())
    if query.until:
        masks.append(columns.when <= query.until.time.timestamp())
    return masks
