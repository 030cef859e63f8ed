"""Find the memories that pass the filters of a query.

Filters over fields with few values are evaluated once for each combination of values (see
`columns.ValueCombinations`); tags, entities, times and groups for each slot. What is in no column
is asked of `LeafMasks`, which reads memories and looks up terms.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memtui.dataclass import dataclass
from memtui.errors import find_nearest
from memtui.model import CURRENT, KINDS, STATUSES
from memtui.query import (
    Condition,
    Group,
    Node,
    Operator,
    Query,
    Term,
    TermKind,
    TimeCondition,
    conditions_in,
    has_terms,
)
from memtui.search.array_types import Mask
from memtui.search.columns import COUNTED_FIELDS, Columns, Slots, ValueCombinations, entities_at
from memtui.search.condition_masks import (
    VALUES,
    LeafMasks,
    match_condition,
    match_entities,
    match_names,
    match_values,
)
from memtui.text import one_line


class NoLeaves:
    """No memories to read: such filters find nothing."""

    def __init__(self, size: int) -> None:
        self._size = size

    def condition(self, _part: Condition, /) -> Mask:
        """Return a mask without any slot."""
        return np.zeros(self._size, np.bool_)

    def term(self, _term: Term, /) -> Mask:
        """Return a mask without any slot."""
        return np.zeros(self._size, np.bool_)


@dataclass(frozen=True)
class ValueFilters:
    """The filters over fields with few values, evaluated for each combination of values."""

    combinations: ValueCombinations
    masks: Mapping[str, Mask]
    """Field -> the combinations that pass its filters."""

    @cached_property
    def passing(self) -> Mask:
        """The combinations that pass."""
        return self._passing_without("")

    @cached_property
    def lifted(self) -> Mask:
        """Return for each of `COUNTED_FIELDS` the combinations that pass without its filters."""
        return np.array([self._passing_without(name) for name in COUNTED_FIELDS])

    def _passing_without(self, lifted: str) -> Mask:
        passing = self.combinations.values["alive"] > 0
        for name, mask in self.masks.items():
            if name != lifted:
                passing &= mask
        return passing


class Filters(NamedTuple):
    """The filters of one query over these columns."""

    columns: Columns
    values: ValueFilters
    entity: Mask | None
    """The slots that pass the entity filters; None without any."""
    rest: Mask | None
    """The slots that pass all filters but those and the times, groups too; None without any."""
    since: TimeCondition | None = None
    until: TimeCondition | None = None
    joining: Mask | None = None
    """The slots that groups with text find, which match also without a word outside of them."""

    def slot_mask(self, slots: Slots | None, lifted: str = "") -> Mask | None:
        """Apply the filters that are evaluated by slot: entities, tags, times and groups.

        Args:
            slots: The slots to filter; None: all.
            lifted: `entity` to ignore the filters over entities.

        Returns:
            For each of the slots whether it passes; None if all do.
        """
        masks = [self.rest, None if lifted == "entity" else self.entity]
        slot_masks = [
            mask if slots is None else mask.take(slots) for mask in masks if mask is not None
        ]
        if self.since is not None or self.until is not None:
            when = self.columns.when if slots is None else self.columns.when.take(slots)
            if self.since is not None:
                slot_masks.append(when >= self.since.time.timestamp())
            if self.until is not None:
                slot_masks.append(when <= self.until.time.timestamp())
        return functools.reduce(np.logical_and, slot_masks) if slot_masks else None


class FilteredSlots:
    """The filters of a query applied to some slots (None: to all)."""

    def __init__(
        self, filters: Filters, slots: Slots | None, before: FilteredSlots | None = None
    ) -> None:
        """`before`: the filters applied to the first ones of the slots."""
        self.filters = filters
        self.slots = slots
        if before is not None and slots is not None:
            slots = slots[len(before.combinations) :]
        of = filters.columns.combinations.of_slot
        combinations = of if slots is None else of.take(slots)
        slot_mask = filters.slot_mask(slots)
        if before is not None:
            combinations = np.concatenate([before.combinations, combinations])
            if before.slot_mask is not None and slot_mask is not None:
                slot_mask = np.concatenate([before.slot_mask, slot_mask])
        self.combinations: NDArray[np.int32] = combinations
        """The combination of each slot."""
        self.slot_mask: Mask | None = slot_mask
        """Which pass the filters evaluated by slot; None: all do."""
        self.mask = self._combine(slot_mask)
        """Which of the slots pass all filters."""

    @cached_property
    def positions(self) -> Slots:
        """The positions, in the slots, of those that pass all filters."""
        return self.mask.nonzero()[0]

    def entities(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return `entities_at` of the slots that pass all filters but those over entities."""
        at = self.positions
        if self.filters.entity is not None:
            passed = self._combine(self.filters.slot_mask(self.slots, lifted="entity"))
            at = passed.nonzero()[0]
        slots = at if self.slots is None else self.slots.take(at)
        return entities_at(self.filters.columns, slots)

    def _combine(self, single: Mask | None) -> Mask:
        passing = self.filters.values.passing.take(self.combinations)
        return passing if single is None else passing & single


def compile_filters(columns: Columns, query: Query, leaves: LeafMasks | None = None) -> Filters:
    """Evaluate the conditions, times and groups of a query over these columns.

    Without a filter over the status, only current memories pass. The text outside of groups is
    ignored.

    Args:
        columns: The columns of all slots.
        query: Its filters are evaluated.
        leaves: Evaluates what is in no column; None: such filters find nothing.

    Returns:
        The filters, to be applied to slots with `FilteredSlots`.
    """
    leaves = leaves or NoLeaves(len(columns))
    cached = _filter_columns(columns, query)
    rest = [
        match_condition(columns, part, leaves)
        for part in query.conditions
        if part.field not in _CACHED_FIELDS
    ]
    joining = None
    if query.groups:
        groups = [_match_node(columns, group, leaves) for group in query.groups]
        rest += groups
        joining = _joining(query, groups, leaves)
    if query.matches_nothing:
        rest.append(np.zeros(len(columns), np.bool_))
    whole = np.logical_and.reduce(rest) if rest else None
    return Filters(columns, cached.values, cached.entity, whole, query.since, query.until, joining)


class _CachedFilters(NamedTuple):
    """The result of the filters over values and entities, reused while letters are typed."""

    columns: Columns
    conditions: tuple[Condition, ...]
    with_status: bool
    """A group has a filter over the status, so that the default does not hold."""
    values: ValueFilters
    entity: Mask | None


_CACHED_FIELDS = frozenset({*VALUES, "entity"})
_cached: tuple[_CachedFilters, ...] = ()
"""Of the last queries, what counts hidden matches included, the newest first; assigned as a whole,
so any thread may read it."""
_MAX_CACHED = 4


def _filter_columns(columns: Columns, query: Query) -> _CachedFilters:
    global _cached
    with_status = bool(query.groups) and any(
        part.field == "status" for group in query.groups for part in conditions_in(group)
    )
    key = (query.conditions, with_status)
    for cached in _cached:
        if cached.columns is columns and (cached.conditions, cached.with_status) == key:
            return cached
    made = _CachedFilters(columns, *key, *_match_columns(columns, *key))
    others = [cached for cached in _cached if cached.columns is columns]
    _cached = (made, *others[: _MAX_CACHED - 1])
    return made


def _match_columns(
    columns: Columns, conditions: Sequence[Condition], with_status: bool
) -> tuple[ValueFilters, Mask | None]:
    """Evaluate the conditions over values and entities, and the default over the status."""
    masks: dict[str, Mask] = {}
    entity: Mask | None = None
    codes = columns.combinations.values
    for part in conditions:
        if part.field in VALUES:
            passed = match_values(part, codes.__getitem__, columns)
            known = masks.get(part.field)
            masks[part.field] = passed if known is None else known & passed
        elif part.field == "entity":
            passed = match_entities(columns, part)
            entity = passed if entity is None else entity & passed
    if not with_status and not any(part.field == "status" for part in conditions):
        masks["status"] = match_names(STATUSES, CURRENT.__contains__)[codes["status"]]
    return ValueFilters(columns.combinations, masks), entity


def filter_mask(columns: Columns, query: Query, leaves: LeafMasks | None = None) -> Mask:
    """Whether each slot passes all filters of the query.

    Args:
        columns: The columns of all slots.
        query: Its filters are applied; text outside of groups is ignored.
        leaves: As in `compile_filters`.
    """
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
        return match_condition(columns, node, leaves)
    if isinstance(node, Term):
        found = leaves.term(node)
        return ~found if node.negated else found
    masks = [_match_node(columns, part, leaves) for part in node.parts]
    matched: Mask
    if node.operator is Operator.ANY:
        matched = np.logical_or.reduce(masks)
    elif node.operator is Operator.ALL:
        matched = np.logical_and.reduce(masks)
    else:
        matched = _match_sequence(node, masks, len(columns))
    return ~matched if node.negated else matched


def _match_sequence(group: Group, masks: Sequence[Mask], size: int) -> Mask:
    """Match as at the top level: all parts but words, and one word if there is no other text."""
    words: list[Mask] = []
    matched = np.ones(size, np.bool_)
    is_found = False
    for part, mask in zip(group.parts, masks, strict=True):
        positive = not part.negated
        if isinstance(part, Term) and positive and part.kind is not TermKind.PHRASE:
            words.append(mask)
        else:
            matched &= mask
            is_found = is_found or (positive and has_terms(part))
    return matched & np.logical_or.reduce(words) if words and not is_found else matched


_OPEN = frozenset({"type", "store", "tag", "entity"})
"""Fields whose values depend on the stores."""
MAX_COMPARED = 20_000
"""Values that a misspelt one is compared with."""


def describe_unknown_value(columns: Columns, query: Query, *, is_near: bool = False) -> str:
    """Return the first value of a filter that no memory has, with the nearest that occurs; or ''.

    Args:
        columns: The columns of all slots.
        query: Its filters are looked at.
        is_near: Name only a value that is near one that occurs.
    """
    for part in query.all_conditions:
        if part.field not in _OPEN:
            continue
        known = columns.tags if part.field == "tag" else columns.values_of(part.field)
        folded = dict.fromkeys(value.casefold() for value in known)
        for value in part.values:
            if not value or "*" in value or value in folded:
                continue
            if part.field == "type" and value in KINDS:
                continue
            if part.field == "entity" and any(value in path for path in folded):
                continue
            some = [name for name, _ in zip(folded, range(MAX_COMPARED), strict=False) if name]
            longer = (name for name in some if name.startswith(value))
            near = min(longer, key=len, default="") or find_nearest(value, some)
            if is_near and not near:
                continue
            advice = f"; did you mean {one_line(near)}?" if near else ""
            return f"no memory has {part.field} {one_line(value)!r}{advice}"
    return ""
