"""Count what filters hide: memories with all words of a query that only one filter rejects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from memtui.model import STATUSES
from memtui.query import Condition, Query, format_condition
from memtui.search import filters
from memtui.search.columns import Columns
from memtui.search.condition_masks import LeafMasks
from memtui.search.hits import Match

MAX_NAMED = 3
"""Filters that are named, those that hide most first."""


@dataclass(frozen=True, slots=True)
class HiddenMatches:
    """Memories with all the words that one filter hides."""

    filter: str
    """As it is typed; `status` for the default, which shows current memories only."""
    count: int
    advice: str
    """`1 retired memory holds all words: status:all`."""


def count_hidden(
    query: Query, columns: Columns, match: Match, leaves: LeafMasks | None = None
) -> tuple[HiddenMatches, ...]:
    """Count the memories that hold all words and that one filter alone hides.

    Args:
        query: Its filters are lifted one at a time.
        columns: The columns of all slots.
        match: The matches of its text, before filters.
        leaves: As in `filters.compile_filters`.
    """
    slots = match.slots[match.all_words]
    if not len(slots):
        return ()
    shown = filters.FilteredSlots(filters.compile_filters(columns, query, leaves), slots).mask
    if shown.all():
        return ()
    rest = slots[~shown]
    found = []
    for name, lifted, advice in _lift_each(query):
        compiled = filters.compile_filters(columns, lifted, leaves)
        passing = filters.FilteredSlots(compiled, rest).mask
        if count := int(np.count_nonzero(passing)):
            kinds = np.unique(columns.status[rest[passing]]) if name == "status" else ()
            statuses = [STATUSES[code] for code in kinds]
            found.append(HiddenMatches(name, count, _describe(count, statuses, advice)))
    found.sort(key=lambda one: -one.count)
    return tuple(found[:MAX_NAMED])


def _lift_each(query: Query) -> Iterator[tuple[str, Query, str]]:
    """Each filter, the query without it, and what to type."""
    every = Condition("status", ("all",))
    others = tuple(part for part in query.conditions if part.field != "status")
    named = [part for part in query.conditions if part.field == "status"]
    if not any("all" in part.values for part in named):
        name = format_condition(named[0]) if named else "status"
        yield name, replace(query, conditions=(*others, every)), "status:all"
    for part in others:
        kept = tuple(other for other in query.conditions if other is not part)
        name = format_condition(part)
        yield name, replace(query, conditions=kept), f"without {name}"
    if query.since is not None:
        name = f"since:{query.since.text}"
        yield name, replace(query, since=None), f"without {name}"
    if query.until is not None:
        name = f"until:{query.until.text}"
        yield name, replace(query, until=None), f"without {name}"


def _describe(count: int, statuses: list[str], advice: str) -> str:
    which = f"{' or '.join(statuses)} " if statuses else ""
    if count == 1:
        return f"1 {which}memory holds all words: {advice}"
    return f"{count:,} {which}memories hold all words: {advice}"
