"""Find the memories that pass the filters of a query, and count them by value.

Each filter is evaluated for all slots: over the columns, or by what was read before of what is in
no column (`memtui.search.row_filters`).
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memtui.errors import find_nearest
from memtui.model import CURRENT, STATUSES
from memtui.query import (
    Condition,
    Group,
    Node,
    Operator,
    Query,
    Term,
    TermKind,
    entity_matches,
    format_condition,
    has_terms,
)
from memtui.search.array_types import Longs, Mask, to_mask
from memtui.search.columns import FIXED_VALUES, Columns
from memtui.text import one_line

Read = Mapping[Node, Mask]
"""Condition or term -> the slots for which it holds, whether it is negated or not."""
VALUES = frozenset({"type", "store", *FIXED_VALUES})
"""Fields with few values."""
_TIMES = {
    "created": "shown_created",
    **dict.fromkeys(("since", "until", "after", "before", "updated"), "shown"),
}
"""Field of a time -> its column."""


class Filter(NamedTuple):
    """One filter of a query, evaluated."""

    field: str
    """The field that it is over; empty for a group."""
    mask: Mask
    """The slots that pass."""
    name: str = ""
    """As it is typed; `status` for the default, which shows current memories only."""


class Filters(Struct, frozen=True):
    """The filters of one query over all slots."""

    alive: Mask
    each: tuple[Filter, ...]
    passing: Mask
    """The slots that pass all filters."""
    joining: Mask | None = None
    """The slots matched by text inside a group; they need no match outside it."""

    def passing_without(self, *lifted: Filter) -> Mask:
        """The slots that pass all filters but these."""
        passing = self.alive.copy()
        for one in self.each:
            if not any(one is other for other in lifted):
                passing &= one.mask
        return passing

    def over(self, field: str) -> tuple[Filter, ...]:
        """The filters over a field."""
        return tuple(one for one in self.each if one.field == field)


def evaluate(columns: Columns, query: Query, read: Read | None = None) -> Filters:
    """Evaluate the conditions, times and groups of a query for all slots.

    Without a filter over the status, only current memories pass. The text outside of groups is
    ignored.

    Args:
        read: The conditions that are in no column, and the terms of groups; one that is missing
            finds nothing.
    """
    read = read or {}
    found: list[Filter] = []
    for part in query.conditions:
        name = "is:marked" if part.field == "ref" else format_condition(part)
        found.append(Filter(part.field, _match_condition(columns, part, read), name))
    if not (query.conditions or query.groups) or not query.has_status:
        found.append(Filter("status", IS_CURRENT.take(columns.status), "status"))
    if query.since is not None:
        after = columns.shown >= query.since.time.timestamp()
        found.append(Filter("since", after, f"since:{query.since.text}"))
    if query.until is not None:
        before = columns.shown <= query.until.time.timestamp()
        found.append(Filter("until", before, f"until:{query.until.text}"))
    groups = [_match_node(columns, group, read) for group in query.groups]
    found += (Filter("", mask) for mask in groups)
    if query.matches_nothing:
        found.append(Filter("", np.zeros(len(columns), np.bool_)))
    passing = np.logical_and.reduce([columns.alive, *(one.mask for one in found)])
    joining = _joining(query, groups, read) if groups else None
    return Filters(columns.alive, tuple(found), passing, joining)


MAX_NAMED = 3
"""Filters that are named, those that hide most first."""


class HiddenMatches(Struct, frozen=True):
    """Memories with all the words that one filter hides."""

    filter: str
    """As it is typed; `status` for the default, which shows current memories only."""
    count: int
    advice: str
    """`1 more with status:all (retired)`."""


def count_hidden(columns: Columns, filters: Filters, complete: Longs) -> tuple[HiddenMatches, ...]:
    """Return how many memories one filter alone hides, by filter.

    Args:
        complete: The slots with all words.
    """
    hidden = complete[~filters.passing.take(complete)]
    found = []
    for lifted, advice in _lift_each(filters) if len(hidden) else ():
        passing = hidden[filters.passing_without(*lifted).take(hidden)]
        if count := len(passing):
            which = ""
            if lifted[0].name == "status":
                often = np.bincount(columns.status.take(passing)).nonzero()[0]
                which = f" ({', '.join(STATUSES[code] for code in often.tolist())})"
            advice = f"{count:,} more {advice}{which}"
            found.append(HiddenMatches(lifted[0].name, count, advice))
    found.sort(key=lambda one: -one.count)
    return tuple(found[:MAX_NAMED])


def _lift_each(filters: Filters) -> Iterator[tuple[Sequence[Filter], str]]:
    """Yield each filter, those over the status as one, with what to type to lift it."""
    if statuses := filters.over("status"):
        yield statuses, "with status:all"
    for one in filters.each:
        if one.name and one.field != "status":
            yield (one,), f"without {one.name}"


def _match_condition(columns: Columns, part: Condition, read: Read) -> Mask:
    """The slots for which a condition holds; negated: those for which it does not."""
    if part.field in VALUES:
        return _match_values(part, columns)
    if part.field == "entity":
        return _match_entities(columns, part)
    if part.field == "tag":
        return _match_tags(columns, part)
    if part.field in _TIMES:
        found = _match_ranges(getattr(columns, _TIMES[part.field]), part)
    elif part.field == "has" and part.values == ("tags",):
        found = _slots_with(columns, columns.tags.values())
    elif part.field == "is" and part.values == ("stale",):
        current = IS_CURRENT.take(columns.status)
        found = _match_ranges(columns.when, part) & current & ~columns.pinned
    elif part.field == "is" and part.values == ("unused",):
        found = _match_unused(columns)
    elif part in read:
        found = read[part]
    else:
        found = np.zeros(len(columns), np.bool_)
    return ~found if part.negated else found


def is_read(part: Condition) -> bool:
    """Whether a condition is over what is in no column."""
    if part.field in VALUES or part.field in ("entity", "tag") or part.field in _TIMES:
        return False
    return (part.field, part.values) not in (
        ("has", ("tags",)),
        ("is", ("stale",)),
        ("is", ("unused",)),
    )


def _match_unused(columns: Columns) -> Mask:
    """Current memories without a use, in the stores that count uses at all."""
    is_used = columns.accesses > 0
    stores, labels = columns.coded("store")
    counting = np.zeros(max(1, len(labels)), np.bool_)
    counting[stores[is_used & columns.alive]] = True
    unused: Mask = counting[stores] & ~is_used & IS_CURRENT.take(columns.status)
    return unused


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


IS_CURRENT = match_names(STATUSES, CURRENT.__contains__)
"""For each code of a status whether memories of it are current."""


def make_matcher(values: Collection[str]) -> Callable[[str], bool]:
    """A predicate: whether a folded value is one of these, or matches one with `*`."""
    patterns = [value for value in values if "*" in value]
    if not patterns:
        return frozenset(values).__contains__
    either = "|".join(fnmatch.translate(value.replace("[", "[[]")) for value in patterns)
    matches = re.compile(either).match
    return lambda value: value in values or matches(value) is not None


def _match_values(part: Condition, columns: Columns) -> Mask:
    """Evaluate a condition over a field with few values; the empty type is that of memories that
    are listed by their kind."""
    codes, values = columns.coded(part.field)
    passed: Mask = _allowed_values(part, values).take(codes)
    if part.field != "type" or "" not in part.values:
        return passed
    untyped = match_names(columns.types, lambda value: not value).take(columns.type)
    return passed & ~untyped if part.negated else passed | untyped


def _allowed_values(part: Condition, vocabulary: Sequence[str]) -> Mask:
    """Which values of a field with few values pass."""
    if part.field == "status" and "all" in part.values:
        return np.full(len(vocabulary), not part.negated)
    values = part.values
    if part.field == "store":
        values = tuple(whole_label(value, vocabulary) for value in values)
    passed = match_names(vocabulary, make_matcher(values))
    return ~passed if part.negated else passed


def whole_label(value: str, labels: Iterable[str]) -> str:
    """The label that begins with a value, if it is the only one; else the value."""
    folded = [label.casefold() for label in labels]
    longer = [label for label in folded if value and label.startswith(value)]
    return longer[0] if len(longer) == 1 else value


def _match_entities(columns: Columns, part: Condition) -> Mask:
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
        matches = make_matcher((value,))
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
        names = filter(make_matcher(part.values), columns.tags)
    tagged = _slots_with(columns, (columns.tags[name] for name in names if name in columns.tags))
    return ~tagged if part.negated else tagged


def _joining(query: Query, groups: Sequence[Mask], read: Read) -> Mask | None:
    """See `Filters.joining`; None if words or phrases outside of the groups must match anyway."""
    with_text = [
        mask
        for group, mask in zip(query.groups, groups, strict=True)
        if has_terms(group) and not group.negated
    ]
    phrases = any(t.kind is TermKind.PHRASE and not t.negated for t in query.terms)
    if not with_text or phrases:
        return None
    excluded = [~read[term] for term in query.terms if term.negated and term in read]
    joined: Mask = np.logical_and.reduce([*with_text, *excluded])
    return joined


def _match_node(columns: Columns, node: Node, read: Read) -> Mask:
    """The slots for which a node of a group holds."""
    if isinstance(node, Condition):
        return _match_condition(columns, node, read)
    if isinstance(node, Term):
        found = read.get(node, np.zeros(len(columns), np.bool_))
        return ~found if node.negated else found
    masks = [_match_node(columns, part, read) for part in node.parts]
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
        query: Its filters are looked at.
        is_near: Name only a value that is near one that occurs.
    """
    for part in query.all_conditions:
        if part.field not in _OPEN:
            continue
        known = columns.tags if part.field == "tag" else columns.coded(part.field)[1]
        folded = dict.fromkeys(value.casefold() for value in known)
        for value in part.values:
            if part.field == "store":
                value = whole_label(value, list(folded))
            if not value or value in folded or any(map(make_matcher((value,)), folded)):
                continue
            value = value.removesuffix("*")  # a value that is being typed
            if "*" in value:
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
