"""Find the memories that pass the filters of a query.

Filters over fields with few values are evaluated once for each combination of values (see
`columns.ValueCombinations`); tags, entities and times for each slot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memtui.model import CURRENT, IMPORTANCES, KINDS, STATUSES
from memtui.query import Condition, Query, entity_matches
from memtui.search.array_types import Mask
from memtui.search.columns import Columns, Slots, entities_at

_PINNED = ("no", "yes")
_VALUES: dict[str, Callable[[Columns], Sequence[str]]] = {
    "type": lambda columns: columns.types,
    "store": lambda columns: columns.stores,
    "status": lambda _: STATUSES,
    "importance": lambda _: IMPORTANCES,
    "kind": lambda _: KINDS,
    "pinned": lambda _: _PINNED,
}
"""Fields with few values."""


@dataclass(frozen=True)
class Filters:
    """The filters of one query over these columns."""

    columns: Columns
    by_combination: dict[str, Mask]
    """Field -> the value combinations that pass its filters."""
    entity: Mask | None
    """The slots that pass the entity filters; None without any."""
    rest: Mask | None
    """The slots that pass the filters by tag and time; None without any."""

    def passing_combinations(self, lifted: str = "") -> Mask:
        """The value combinations that pass, ignoring the filters of the field `lifted`."""
        passing = self.columns.combinations.values["alive"] > 0
        for name, mask in self.by_combination.items():
            if name != lifted:
                passing &= mask
        return passing

    def slot_mask(self, slots: Slots | None, lifted: str = "") -> Mask | None:
        """Which of these slots (None: of all) pass the filters evaluated by slot; None: all do."""
        masks = [self.rest, None if lifted == "entity" else self.entity]
        found: Mask | None = None
        for mask in masks:
            if mask is not None:
                here = mask if slots is None else mask.take(slots)
                found = here if found is None else found & here
        return found


class FilteredSlots:
    """The filters of a query applied to some slots (None: to all)."""

    def __init__(self, filters: Filters, slots: Slots | None) -> None:
        self.filters = filters
        self._slots = slots
        of = filters.columns.combinations.of_slot
        self.combinations = of if slots is None else of.take(slots)
        """The combination of each slot."""
        self.slot_mask = filters.slot_mask(slots)
        """Which pass the filters evaluated by slot; None: all do."""

    def mask(self) -> Mask:
        """Which of the slots pass all filters."""
        return self._combine(self.slot_mask)

    def entities(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """`entities_at` of the slots that pass all filters but those over entities."""
        if self.filters.entity is None:
            held = self.mask()
        else:
            held = self._combine(self.filters.slot_mask(self._slots, lifted="entity"))
        slots = held.nonzero()[0] if self._slots is None else self._slots[held]
        return entities_at(self.filters.columns, slots)

    def _combine(self, single: Mask | None) -> Mask:
        passing = self.filters.passing_combinations().take(self.combinations)
        return passing if single is None else passing & single


def compile_filters(columns: Columns, query: Query) -> Filters:
    """Evaluate the conditions and times of a query over these columns.

    Without a filter over the status, only current memories pass. The text is ignored.
    """
    by_combination: dict[str, Mask] = {}
    entity: Mask | None = None
    rest: Mask | None = None
    combinations = columns.combinations
    for part in query.conditions:
        if (values := _VALUES.get(part.field)) is not None:
            codes = combinations.values[part.field]
            passed = _allowed_values(part, values(columns))[codes]
            known = by_combination.get(part.field)
            by_combination[part.field] = passed if known is None else known & passed
        elif part.field == "entity":
            passed = _match_entities(columns, part)
            entity = passed if entity is None else entity & passed
        elif part.field == "tag":
            passed = _match_tags(columns, part)
            rest = passed if rest is None else rest & passed
    if "status" not in by_combination:
        current = _codes(STATUSES, CURRENT.__contains__)
        by_combination["status"] = current[combinations.values["status"]]
    for passed in _match_times(columns, query):
        rest = passed if rest is None else rest & passed
    return Filters(columns, by_combination, entity, rest)


def filter_mask(columns: Columns, query: Query) -> Mask:
    """Whether each slot passes all filters of the query; its text is ignored."""
    return FilteredSlots(compile_filters(columns, query), None).mask()


def _codes(vocabulary: Sequence[str], wanted: Callable[[str], bool]) -> Mask:
    return np.array([wanted(value.casefold()) for value in vocabulary] or [False], np.bool_)


def _allowed_values(part: Condition, vocabulary: Sequence[str]) -> Mask:
    """Which values of a field with few values pass."""
    wanted: Collection[str] = frozenset(part.values)
    if part.field == "status" and "all" in wanted:
        return np.ones(len(vocabulary), np.bool_)
    passed = _codes(vocabulary, wanted.__contains__)
    return ~passed if part.negated else passed


def _match_entities(columns: Columns, part: Condition) -> Mask:
    wanted = _codes(
        columns.entities, lambda entity: any(entity_matches(entity, v) for v in part.values)
    )
    passed = wanted.take(columns.entity)
    passed[columns.also[wanted.take(columns.also[:, 1]), 0]] = True
    return ~passed if part.negated else passed


def _match_tags(columns: Columns, part: Condition) -> Mask:
    tagged = np.zeros(len(columns), np.bool_)
    for value in part.values:
        tagged[columns.tags.get(value, np.empty(0, np.int64))] = True
    return ~tagged if part.negated else tagged


def _match_times(columns: Columns, query: Query) -> list[NDArray[Any]]:
    masks = []
    if query.since:
        masks.append(columns.when >= query.since.time.timestamp())
    if query.until:
        masks.append(columns.when <= query.until.time.timestamp())
    return masks
