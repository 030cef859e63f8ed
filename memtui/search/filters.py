"""Find the memories that pass the filters of a query.

Filters over fields with few values are evaluated once for each combination of values (see
`columns.ValueCombinations`); tags, entities, times and groups for each slot. What is in no column
is asked of `LeafMasks`, which reads memories and looks up terms.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memtui.model import CURRENT, IMPORTANCES, KINDS, STATUSES
from memtui.query import (
    Condition,
    Group,
    Node,
    Operator,
    Query,
    Term,
    TermKind,
    entity_matches,
    has_terms,
)
from memtui.search.array_types import Mask
from memtui.search.columns import Columns, Slots, entities_at
from memtui.text import one_line

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
_TIMES = {"created": "created"}
"""Fields of times that are not `Columns.when`, with their columns."""
_WHEN = frozenset({"since", "until", "after", "before", "updated"})


class LeafMasks(Protocol):
    """Evaluates the leaves of a query that the columns cannot."""

    def condition(self, part: Condition, /) -> Mask:
        """The slots with one of the values, whether the condition is negated or not."""
        ...

    def term(self, term: Term, /) -> Mask:
        """The slots with the term, whether it is negated or not."""
        ...


class NoLeaves:
    """No memories to read: such filters find nothing."""

    def __init__(self, size: int) -> None:
        self._size = size

    def condition(self, _part: Condition, /) -> Mask:
        return np.zeros(self._size, np.bool_)

    def term(self, _term: Term, /) -> Mask:
        return np.zeros(self._size, np.bool_)


@dataclass(frozen=True)
class Filters:
    """The filters of one query over these columns."""

    columns: Columns
    by_combination: dict[str, Mask]
    """Field -> the value combinations that pass its filters."""
    entity: Mask | None
    """The slots that pass the entity filters; None without any."""
    rest: Mask | None
    """The slots that pass all other filters, groups too; None without any."""
    joining: Mask | None = None
    """The slots that groups with text find, which match also without a word outside of them."""

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

    @cached_property
    def mask(self) -> Mask:
        """Which of the slots pass all filters."""
        return self._combine(self.slot_mask)

    @cached_property
    def positions(self) -> Slots:
        """The positions, in the slots, of those that pass all filters."""
        return self.mask.nonzero()[0]

    def entities(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """`entities_at` of the slots that pass all filters but those over entities."""
        at = self.positions
        if self.filters.entity is not None:
            held = self._combine(self.filters.slot_mask(self._slots, lifted="entity"))
            at = held.nonzero()[0]
        slots = at if self._slots is None else self._slots.take(at)
        return entities_at(self.filters.columns, slots)

    def _combine(self, single: Mask | None) -> Mask:
        passing = self.filters.passing_combinations().take(self.combinations)
        return passing if single is None else passing & single


def compile_filters(columns: Columns, query: Query, leaves: LeafMasks | None = None) -> Filters:
    """Evaluate the conditions, times and groups of a query over these columns.

    Without a filter over the status, only current memories pass. The text outside of groups is
    ignored.

    Args:
        columns: The columns of all slots.
        query: What is asked.
        leaves: Evaluates what is in no column; None: such filters find nothing.
    """
    by_combination: dict[str, Mask] = {}
    entity: Mask | None = None
    rest: list[Mask] = []
    combinations = columns.combinations
    leaves = leaves or NoLeaves(len(columns))
    for part in query.conditions:
        if (values := _VALUES.get(part.field)) is not None:
            passed = _match_values(part, values(columns), combinations.values.__getitem__, columns)
            known = by_combination.get(part.field)
            by_combination[part.field] = passed if known is None else known & passed
        elif part.field == "entity":
            passed = _match_condition(columns, part, leaves)
            entity = passed if entity is None else entity & passed
        else:
            rest.append(_match_condition(columns, part, leaves))
    if not any(part.field == "status" for part in query.all_conditions):
        current = _codes(STATUSES, CURRENT.__contains__)
        by_combination["status"] = current[combinations.values["status"]]
    rest += _match_times(columns, query)
    joining = None
    if query.groups:
        groups = [_match_node(columns, group, leaves) for group in query.groups]
        rest += groups
        joining = _joining(query, groups, leaves)
    if query.matches_nothing:
        rest.append(np.zeros(len(columns), np.bool_))
    whole = np.logical_and.reduce(rest) if rest else None
    return Filters(columns, by_combination, entity, whole, joining)


def filter_mask(columns: Columns, query: Query, leaves: LeafMasks | None = None) -> Mask:
    """Whether each slot passes all filters of the query; text outside of groups is ignored."""
    return FilteredSlots(compile_filters(columns, query, leaves), None).mask


def _joining(query: Query, groups: Sequence[Mask], leaves: LeafMasks) -> Mask | None:
    """See `Filters.joining`; None if words or phrases outside of the groups must match anyway."""
    with_text = [
        mask
        for group, mask in zip(query.groups, groups, strict=True)
        if has_terms(group) and not group.negated
    ]
    phrases = any(t.kind is TermKind.PHRASE and not t.negated for t in query.terms)
    if not with_text or phrases:
        return None
    excluded = [~leaves.term(term) for term in query.terms if term.negated]
    joined: Mask = np.logical_and.reduce([*with_text, *excluded])
    return joined


def _match_node(columns: Columns, node: Node, leaves: LeafMasks) -> Mask:
    """The slots for which a node of a group holds."""
    if isinstance(node, Condition):
        return _match_condition(columns, node, leaves)
    if isinstance(node, Term):
        found = leaves.term(node)
        return ~found if node.negated else found
    masks = [_match_node(columns, part, leaves) for part in node.parts]
    held: Mask
    if node.operator is Operator.ANY:
        held = np.logical_or.reduce(masks)
    elif node.operator is Operator.ALL:
        held = np.logical_and.reduce(masks)
    else:
        held = _match_sequence(node, masks, len(columns))
    return ~held if node.negated else held


def _match_sequence(group: Group, masks: Sequence[Mask], size: int) -> Mask:
    """As at the top of a query: what is no word must hold, and a word if no other text does."""
    words: list[Mask] = []
    held = np.ones(size, np.bool_)
    is_found = False
    for part, mask in zip(group.parts, masks, strict=True):
        positive = not part.negated
        if isinstance(part, Term) and positive and part.kind is not TermKind.PHRASE:
            words.append(mask)
        else:
            held &= mask
            is_found = is_found or (positive and has_terms(part))
    return held & np.logical_or.reduce(words) if words and not is_found else held


def _match_condition(columns: Columns, part: Condition, leaves: LeafMasks) -> Mask:
    """The slots for which a condition holds, a negated one too."""
    if (values := _VALUES.get(part.field)) is not None:
        return _match_values(
            part, values(columns), lambda name: getattr(columns, name).astype(np.int64), columns
        )
    if part.field == "entity":
        return _match_entities(columns, part)
    if part.field == "tag":
        return _match_tags(columns, part)
    if part.field in _WHEN or part.field in _TIMES:
        found = _match_ranges(getattr(columns, _TIMES.get(part.field, "when")), part)
    elif part.field == "has" and part.values == ("tags",):
        found = _slots_with(columns, columns.tags.values())
    elif part.field == "is" and part.values == ("stale",):
        found = _match_stale(columns, part)
    else:
        found = leaves.condition(part)
    return ~found if part.negated else found


def _match_ranges(values: NDArray[np.float64], part: Condition) -> Mask:
    found = np.zeros(len(values), np.bool_)
    for one in part.ranges:
        found |= (values >= one.low) & (values < one.high)
    return found


def _match_stale(columns: Columns, part: Condition) -> Mask:
    """Current, not pinned, and not changed in the time that the condition carries."""
    current = _codes(STATUSES, CURRENT.__contains__)[columns.status]
    return _match_ranges(columns.when, part) & current & ~columns.pinned


def _slots_with(columns: Columns, held: Iterable[NDArray[np.int64]]) -> Mask:
    found = np.zeros(len(columns), np.bool_)
    for slots in held:
        found[slots] = True
    return found


def _codes(vocabulary: Sequence[str], wanted: Callable[[str], bool]) -> Mask:
    return np.array([wanted(value.casefold()) for value in vocabulary] or [False], np.bool_)


def _is_wanted(wanted: Collection[str]) -> Callable[[str], bool]:
    """Whether a folded value is one of these, or matches one with `*`."""
    patterns = [value for value in wanted if "*" in value]
    if not patterns:
        return frozenset(wanted).__contains__
    either = "|".join(fnmatch.translate(value.replace("[", "[[]")) for value in patterns)
    matches = re.compile(either).match
    return lambda value: value in wanted or matches(value) is not None


def _match_values(
    part: Condition,
    vocabulary: Sequence[str],
    codes: Callable[[str], NDArray[Any]],
    columns: Columns,
) -> Mask:
    """Evaluate a condition over a field with few values; `codes` gives a field's codes.

    A memory without a type is listed by its kind, so that its kind is found as its type too.
    """
    passed: Mask = _allowed_values(part, vocabulary)[codes(part.field)]
    kinds = [value for value in part.values if value]
    if part.field != "type" or not kinds:
        return passed
    untyped = _codes(columns.types, lambda value: not value)[codes("type")]
    listed = untyped & _codes(KINDS, _is_wanted(kinds))[codes("kind")]
    found: Mask = passed & ~listed if part.negated else passed | listed
    return found


def _allowed_values(part: Condition, vocabulary: Sequence[str]) -> Mask:
    """Which values of a field with few values pass."""
    if part.field == "status" and "all" in part.values:
        return np.ones(len(vocabulary), np.bool_)
    passed = _codes(vocabulary, _is_wanted(part.values))
    return ~passed if part.negated else passed


def _match_entities(columns: Columns, part: Condition) -> Mask:
    wanted = np.zeros(max(1, len(columns.entities)), np.bool_)
    for value in part.values:
        wanted |= _wanted_entities(columns.entities, value)
    passed = wanted.take(columns.entity)
    passed[columns.also[wanted.take(columns.also[:, 1]), 0]] = True
    return ~passed if part.negated else passed


def _wanted_entities(entities: Sequence[str], value: str) -> Mask:
    """The entities that a value names; if none is named so, those that have it in their path."""
    if "*" in value:
        matches = _is_wanted((value,))
        return _codes(entities, lambda path: matches(path) or any(map(matches, path.split("/"))))
    named = _codes(entities, lambda entity: entity_matches(entity, value))
    return named if named.any() else _codes(entities, lambda path: bool(path) and value in path)


def _match_tags(columns: Columns, part: Condition) -> Mask:
    names: Iterable[str] = part.values
    if any("*" in value for value in part.values):
        names = filter(_is_wanted(part.values), columns.tags)
    tagged = _slots_with(columns, (columns.tags[name] for name in names if name in columns.tags))
    return ~tagged if part.negated else tagged


_OPEN: dict[str, Callable[[Columns], Iterable[str]]] = {
    "type": lambda columns: columns.types,
    "store": lambda columns: columns.stores,
    "tag": lambda columns: columns.tags,
    "entity": lambda columns: columns.entities,
}
"""Fields whose values depend on the stores."""
MAX_COMPARED = 20_000
"""Values that a misspelt one is compared with."""


def describe_unknown_value(columns: Columns, query: Query, *, is_near: bool = False) -> str:
    """Name the first value of a filter that no memory has, with the nearest there is; or ''.

    Args:
        columns: The columns of all slots.
        query: What was asked.
        is_near: Name only a value that is near one that occurs.
    """
    for part in query.all_conditions:
        if (known := _OPEN.get(part.field)) is None:
            continue
        folded = dict.fromkeys(value.casefold() for value in known(columns))
        for value in part.values:
            if not value or "*" in value or value in folded:
                continue
            if part.field == "type" and value in KINDS:
                continue
            if part.field == "entity" and any(value in path for path in folded):
                continue
            some = [name for name, _ in zip(folded, range(MAX_COMPARED), strict=False) if name]
            near = get_close_matches(value, some, n=1)
            if is_near and not near:
                continue
            advice = f"; did you mean {one_line(near[0])}?" if near else ""
            return f"no memory has {part.field} {one_line(value)!r}{advice}"
    return ""


def _match_times(columns: Columns, query: Query) -> list[NDArray[Any]]:
    masks = []
    if query.since:
        masks.append(columns.when >= query.since.time.timestamp())
    if query.until:
        masks.append(columns.when <= query.until.time.timestamp())
    return masks
