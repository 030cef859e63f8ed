"""Evaluate one condition of a query over the columns: which slots it holds for.

What is in no column is asked of `LeafMasks`, which reads memories and looks up terms.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memtui.model import CURRENT, KINDS, STATUSES
from memtui.query import Condition, Term, entity_matches
from memtui.search.array_types import Mask, to_mask
from memtui.search.columns import FIXED_VALUES, Columns

VALUES = frozenset({"type", "store", *FIXED_VALUES})
"""Fields with few values."""
_TIMES = {
    "created": "created",
    **dict.fromkeys(("since", "until", "after", "before", "updated"), "when"),
}
"""Field of a time -> its column."""


class LeafMasks(Protocol):
    """Evaluates the leaves of a query that the columns cannot."""

    def condition(self, part: Condition, /) -> Mask:
        """The slots with one of the values, whether the condition is negated or not."""
        ...

    def term(self, term: Term, /) -> Mask:
        """The slots with the term, whether it is negated or not."""
        ...


def match_condition(columns: Columns, part: Condition, leaves: LeafMasks) -> Mask:
    """The slots for which a condition holds.

    Args:
        columns: The columns of all slots.
        part: The condition; negated: the slots for which it does not hold.
        leaves: Evaluates what is in no column.
    """
    if part.field in VALUES:
        return match_values(part, lambda name: getattr(columns, name).astype(np.int64), columns)
    if part.field == "entity":
        return match_entities(columns, part)
    if part.field == "tag":
        return _match_tags(columns, part)
    if part.field in _TIMES:
        found = _match_ranges(getattr(columns, _TIMES[part.field]), part)
    elif part.field == "has" and part.values == ("tags",):
        found = _slots_with(columns, columns.tags.values())
    elif part.field == "is" and part.values == ("stale",):
        current = match_names(STATUSES, CURRENT.__contains__)[columns.status]
        found = _match_ranges(columns.when, part) & current & ~columns.pinned
    else:
        found = leaves.condition(part)
    return ~found if part.negated else found


def _match_ranges(values: NDArray[np.float64], part: Condition) -> Mask:
    found = np.zeros(len(values), np.bool_)
    for one in part.ranges:
        found |= (values >= one.low) & (values < one.high)
    return found


def _slots_with(columns: Columns, slot_arrays: Iterable[NDArray[np.int64]]) -> Mask:
    return to_mask(np.concatenate([np.empty(0, np.int64), *slot_arrays]), len(columns))


def match_names(vocabulary: Sequence[str], is_match: Callable[[str], bool]) -> Mask:
    """Whether each name of the `vocabulary` passes `is_match` when it is casefolded."""
    return np.array([is_match(value.casefold()) for value in vocabulary] or [False], np.bool_)


def _make_matcher(values: Collection[str]) -> Callable[[str], bool]:
    """A predicate: whether a folded value is one of these, or matches one with `*`."""
    patterns = [value for value in values if "*" in value]
    if not patterns:
        return frozenset(values).__contains__
    either = "|".join(fnmatch.translate(value.replace("[", "[[]")) for value in patterns)
    matches = re.compile(either).match
    return lambda value: value in values or matches(value) is not None


def match_values(
    part: Condition, codes_of: Callable[[str], NDArray[Any]], columns: Columns
) -> Mask:
    """Evaluate a condition over a field with few values.

    A memory without a type is listed by its kind, so that its kind is found as its type too.

    Args:
        part: The condition.
        codes_of: Name of a field -> its codes: of all slots, or of all combinations of values.
        columns: The columns of all slots.

    Returns:
        For each of the codes whether the condition holds.
    """
    passed: Mask = _allowed_values(part, columns.values_of(part.field))[codes_of(part.field)]
    kinds = [value for value in part.values if value]
    if part.field != "type" or not kinds:
        return passed
    untyped = match_names(columns.types, lambda value: not value)[codes_of("type")]
    listed = untyped & match_names(KINDS, _make_matcher(kinds))[codes_of("kind")]
    found: Mask = passed & ~listed if part.negated else passed | listed
    return found


def _allowed_values(part: Condition, vocabulary: Sequence[str]) -> Mask:
    """Which values of a field with few values pass."""
    if part.field == "status" and "all" in part.values:
        return np.ones(len(vocabulary), np.bool_)
    passed = match_names(vocabulary, _make_matcher(part.values))
    return ~passed if part.negated else passed


def match_entities(columns: Columns, part: Condition) -> Mask:
    """The slots for which a condition over entities (`part`) holds in these `columns`."""
    entity_mask = np.zeros(max(1, len(columns.entities)), np.bool_)
    for value in part.values:
        entity_mask |= _match_entity_names(columns.entities, value)
    passed = entity_mask.take(columns.entity)
    passed[columns.also[entity_mask.take(columns.also[:, 1]), 0]] = True
    return ~passed if part.negated else passed


def _match_entity_names(entities: Sequence[str], value: str) -> Mask:
    """The entities that a value names; if none is named so, those that have it in their path."""
    if "*" in value:
        matches = _make_matcher((value,))
        return match_names(
            entities, lambda path: matches(path) or any(map(matches, path.split("/")))
        )
    named = match_names(entities, lambda entity: entity_matches(entity, value))
    return (
        named if named.any() else match_names(entities, lambda path: bool(path) and value in path)
    )


def _match_tags(columns: Columns, part: Condition) -> Mask:
    names: Iterable[str] = part.values
    if any("*" in value for value in part.values):
        names = filter(_make_matcher(part.values), columns.tags)
    tagged = _slots_with(columns, (columns.tags[name] for name in names if name in columns.tags))
    return ~tagged if part.negated else tagged
