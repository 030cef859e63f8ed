"""The parsed query: terms, filters, groups and an order, as one immutable value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from math import inf
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

Span = tuple[int, int]
"""Start and end of a part in the line that it was parsed from."""
NO_SPAN: Span = (-1, -1)
"""Position of a part that was not parsed from a line."""


class TermKind(StrEnum):
    WORD = "word"
    PREFIX = "prefix"
    """The last word while it is being typed, or `word*`."""
    PHRASE = "phrase"
    """In quotes: exactly these words, also if it is only one."""
    WILDCARD = "wildcard"
    """`*` and `?` at any place but a single `*` at the end, which is a PREFIX."""
    FUZZY = "fuzzy"
    MEANING = "meaning"


class _Part(Struct, frozen=True, eq=False):
    """A part of a query; equal parts are equal wherever they stand in the line."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._compared == other._compared

    def __hash__(self) -> int:
        return hash(self._compared)

    @property
    def _compared(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name != "span")


class Term(_Part, frozen=True):
    """A word, phrase or pattern to look for in the text of memories."""

    text: str
    """Without its syntax: no quotes, no `~`, no trailing `*` of a prefix. A WORD may have no letter
    or digit at all (`->`): it is then looked for as written."""
    kind: TermKind = TermKind.WORD
    negated: bool = False
    optional: bool = False
    """A phrase of a group: it ranks a memory, but the group decides whether it is required."""
    is_open: bool = False
    """For a PREFIX: the word is still being typed, so its other forms are found too."""
    span: Span = NO_SPAN


class Range(NamedTuple):
    """Values from `low` up to but not including `high`; times in seconds since 1970."""

    low: float = -inf
    high: float = inf


class Condition(_Part, frozen=True):
    """A filter: the field has one of the values, or none of them if negated."""

    field: str
    """The name of one of `FIELDS`."""
    values: tuple[str, ...]
    """Lower case; the empty string is the empty type. Of times and numbers, as typed."""
    negated: bool = False
    ranges: tuple[Range, ...] = ()
    """What the values of a time or a number stand for, one for each."""
    span: Span = NO_SPAN


class Operator(StrEnum):
    ANY = "OR"
    """One of the parts holds."""
    ALL = "AND"
    """Every part holds."""
    SEQUENCE = ""
    """As at the top of a query: filters and phrases hold, and one of the words."""


class Group(_Part, frozen=True):
    """Parts joined by an operator, in parentheses or not."""

    operator: Operator
    parts: tuple[Node, ...]
    negated: bool = False
    span: Span = NO_SPAN


Node = Term | Condition | Group


class TimeCondition(NamedTuple):
    """A time as it was typed (`7d`, `2026-03-01`) and the moment it stood for then."""

    text: str
    time: datetime


class Sort(StrEnum):
    NEW = "new"
    OLD = "old"
    IMPORTANCE = "importance"
    PRIORITY = "priority"
    SALIENCE = "salience"
    """Most salient first, see `memtui.search.salience`."""
    USED = "used"
    """Most often accessed first, the latest access first if equal."""
    RELEVANCE = "relevance"
    LEAST_IMPORTANT = "-importance"
    LEAST_PRIORITY = "-priority"
    LEAST_SALIENT = "-salience"
    LEAST_USED = "-used"


class Problem(NamedTuple):
    """A part of a line that could not be used, or was used with a remark."""

    text: str
    """What is wrong and what to do."""
    span: Span = NO_SPAN
    is_error: bool = True
    """Whether the part was left out, which commands refuse; else it is a remark."""


class Query(Struct, frozen=True, dict=True):
    """A parsed search line. Its parts must all hold; see `Operator.SEQUENCE` for the words."""

    terms: tuple[Term, ...] = ()
    conditions: tuple[Condition, ...] = ()
    since: TimeCondition | None = None
    until: TimeCondition | None = None
    sort: Sort | None = None
    """None: by relevance if there is text to look for, else newest first."""
    hint: str = ""
    """What could not be used of the line, and why; empty if everything was."""
    groups: tuple[Group, ...] = ()
    """Parts with OR, AND or NOT (...); none is a plain sequence that is not negated."""
    then: tuple[Sort, ...] = ()
    """Further orders, for memories that are equal in `sort`."""
    prefer: tuple[str, ...] = ()
    """Types that rank higher, without a filter; lower case."""
    problems: tuple[Problem, ...] = ()
    matches_nothing: bool = False
    """The line has marks or faults only, so it finds nothing instead of everything."""
    as_written: bool = False
    """Words that no memory holds are not replaced by similar ones."""
    is_typed: bool = False
    """Somebody is still typing it."""

    @cached_property
    def order(self) -> Sort:
        """The order that was asked for, or the default for this query."""
        if self.sort is not None:
            return self.sort
        has_text = any(not term.negated for term in self.terms) or bool(self.words)
        return Sort.RELEVANCE if has_text else Sort.NEW

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The text of every term that is not negated, to highlight."""
        return tuple(term.text for term in self.wanted_terms if not term.negated)

    @property
    def wanted_terms(self) -> tuple[Term, ...]:
        """The terms to rank by: those at the top, then the positive ones of the groups.

        Phrases of groups are `optional`.
        """
        return self._terms_with_groups if self.groups else self.terms

    @cached_property
    def _terms_with_groups(self) -> tuple[Term, ...]:
        found = [*self.terms]
        for group in self.groups:
            for term in positive_terms(group):
                optional = term.kind is TermKind.PHRASE
                found.append(replace(term, optional=True) if optional else term)
        return tuple(dict.fromkeys(found))

    @property
    def all_conditions(self) -> Iterator[Condition]:
        """The conditions at the top and in the groups."""
        yield from self.conditions
        for group in self.groups:
            yield from conditions_in(group)

    @property
    def has_status(self) -> bool:
        """Whether it filters the status; only current memories pass a query that does not."""
        return any(part.field == "status" for part in self.all_conditions)

    def with_status(self, *statuses: str) -> Query:
        """The query for memories of these statuses, unless it filters the status itself."""
        if self.has_status:
            return self
        return replace(self, conditions=(*self.conditions, Condition("status", statuses)))

    @property
    def error(self) -> Problem | None:
        """The first part that was left out; None if none was."""
        return next((problem for problem in self.problems if problem.is_error), None)

    def is_within(self, time: datetime | None) -> bool:
        """Whether a time is within those of the query; an unknown one is where it has none."""
        if time is None:
            return self.since is None and self.until is None
        is_since = self.since is None or time >= self.since.time
        return is_since and (self.until is None or time <= self.until.time)

    @property
    def is_empty(self) -> bool:
        return not (self.terms or self.conditions or self.groups or self.since or self.until)


def positive_terms(node: Node, negated: bool = False) -> Iterator[Term]:
    """The terms of a node that a memory may be found by, in their order.

    Args:
        node: A term, a condition or a group.
        negated: Whether the node stands below a negation.
    """
    negated ^= node.negated
    if isinstance(node, Group):
        for part in node.parts:
            yield from positive_terms(part, negated)
    elif isinstance(node, Term) and not negated:
        yield replace(node, negated=False) if node.negated else node


def conditions_in(node: Node) -> Iterator[Condition]:
    """All conditions of a node."""
    if isinstance(node, Group):
        for part in node.parts:
            yield from conditions_in(part)
    elif isinstance(node, Condition):
        yield node


def has_terms(node: Node) -> bool:
    """Whether the node looks for text in the index, so that filters alone do not answer it."""
    if isinstance(node, Group):
        return any(map(has_terms, node.parts))
    return isinstance(node, Term)


def filter_values(query: Query, field: str) -> tuple[str, ...]:
    """The values of the filter of `query` on `field` that is not negated; () if there is none."""
    found = (c.values for c in query.conditions if c.field == field and not c.negated)
    return next(found, ())


def with_filter_values(query: Query, field: str, values: Iterable[str]) -> Query:
    """Return `query` with `values` as its filter on `field`; without values it is removed.

    Negated filters and groups stay.
    """
    folded = tuple(dict.fromkeys(value.casefold() for value in values))
    others = tuple(c for c in query.conditions if c.field != field or c.negated)
    added = (Condition(field, folded),) if folded else ()
    return replace(query, conditions=others + added)


def map_conditions(query: Query, change: Callable[[Condition], Condition]) -> Query:
    """Return `query` with every condition changed, those in groups too."""

    def mapped(node: Node) -> Node:
        if isinstance(node, Group):
            return replace(node, parts=tuple(map(mapped, node.parts)))
        return change(node) if isinstance(node, Condition) else node

    groups = [group for group in map(mapped, query.groups) if isinstance(group, Group)]
    return replace(query, conditions=tuple(map(change, query.conditions)), groups=tuple(groups))


def resolve_marked(query: Query, refs: Callable[[], Iterable[str]]) -> Query:
    """Return `query` with the marked memories for `is:marked`; `refs` is called if that occurs."""
    if not any(part.field == "is" and "marked" in part.values for part in query.all_conditions):
        return query
    marked = tuple(refs())

    def resolve(part: Condition) -> Condition:
        is_marked = (part.field, part.values) == ("is", ("marked",))
        return Condition("ref", marked, part.negated) if is_marked else part

    return map_conditions(query, resolve)


def without_filters(query: Query) -> Query:
    """Return the query without filters and times at the top.

    Terms, groups with terms and the order stay.
    """
    groups = tuple(group for group in query.groups if has_terms(group))
    return replace(query, conditions=(), since=None, until=None, groups=groups)


def entity_matches(entity: str, name: str) -> bool:
    """Whether an entity path equals the wanted one, is below it, or has it as one of its parts.

    Args:
        entity: The path of a memory's entity, in any case: `people/alice`.
        name: The value of the filter, in lower case.
    """
    path = entity.casefold()
    return path == name or path.startswith(name + "/") or name in path.split("/")
