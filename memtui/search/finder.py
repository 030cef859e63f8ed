"""Find the slots of a query: apply filters, match the text, rank; count what filters hide."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from memtui.dataclass import dataclass, replace
from memtui.model import STATUSES
from memtui.progress import IsCancelled, never
from memtui.query import Condition, Query, Sort, TermKind, filter_values, format_condition
from memtui.search import context, filters, fusion, matching, ranking
from memtui.search.aggregates import Facets, count_facets
from memtui.search.array_types import Doubles, Floats, Longs, Mask
from memtui.search.columns import Columns
from memtui.search.condition_masks import LeafMasks
from memtui.search.date_matches import DateHits
from memtui.search.filters import FilteredSlots
from memtui.search.hits import NO_SLOTS, Match
from memtui.search.literals import LiteralSearch
from memtui.search.matching import ExactLookup
from memtui.search.ordering import ArraySlots, OrderedScores, OrderedSlots
from memtui.search.postings import Segment
from memtui.search.ranking import DEFAULTS, ScorePart, Weights
from memtui.search.sort_orders import order_slots


@dataclass(frozen=True)
class RankedHits:
    """Slots in display order, with what is needed to explain the score of each."""

    slots: Sequence[int]
    scores: Sequence[float] | None
    """One per slot if the order is by relevance, else None."""
    match: Match | None
    """The matches of the text that pass the filters; None if the query has no text."""
    filtered: FilteredSlots
    """The filters, applied to all matches of the text; to all slots if there is none."""
    hidden: Longs
    """The slots with all words that do not pass the filters."""
    id_matches: tuple[int, ...] = ()
    """Slots whose id is the text of the query."""

    @cached_property
    def facets(self) -> Facets:
        """The counts by value, made when they are first asked for."""
        return count_facets(self.filtered)


def match_text(
    query: Query,
    segments: Sequence[Segment],
    size: int,
    exact: ExactLookup | None = None,
    cancelled: IsCancelled = never,
    alive: Mask | None = None,
    literals: LiteralSearch | None = None,
    dates: DateHits | None = None,
) -> Match | None:
    """Match the text of a query, before filters.

    Args:
        query: Its filters are ignored.
        segments: The postings of all memories.
        size: How many slots there are.
        exact: Looks up phrases, patterns and fuzzy words in another index.
        cancelled: As in `matching.match_terms`.
        alive: For each slot whether it may match; None: all.
        literals: Reads the texts for what must stand there as typed.
        dates: The memories with the dates of the query.

    Returns:
        None if the query has no terms.

    Raises:
        Cancelled: `cancelled` became true.
    """
    if not query.wanted_terms:
        return None
    match = matching.match_terms(
        segments,
        size,
        query.wanted_terms,
        exact,
        cancelled,
        alive,
        literals,
        dates,
        as_written=query.as_written,
    )
    if not context.asks_when(query.words):
        return match
    return replace(match, time_words=context.find_time_words(segments))


def add_meaning(
    query: Query,
    match: Match | None,
    excluded: Match | None,
    cosines: Floats,
    columns: Columns,
    weights: Weights = DEFAULTS,
    leaves: LeafMasks | None = None,
    floor: float = 0.0,
) -> Match:
    """Return a match with the scores of the vectors and the memories that only they find.

    Args:
        query: Memories that its filters, excluded terms or phrases reject are not added.
        match: The matches of the terms that are not `~meaning`; None if there are none.
        excluded: The matches of the negated terms alone; None if there are none.
        cosines: The cosine of each slot to the query.
        columns: The columns of all slots.
        weights: `weights.meaning` is the share of the cosines.
        leaves: As in `filters.compile_filters`.
        floor: The cosine from which a memory without the words is added.
    """
    allowed = filters.filter_mask(columns, query, leaves)
    if excluded is not None:
        allowed &= excluded.found
    if match is None or fusion.is_meaning_only(query.wanted_terms):
        return fusion.match_by_meaning(cosines, allowed, floor)
    if any(term.kind is TermKind.PHRASE and not term.negated for term in query.terms):
        allowed &= match.found
    return fusion.fuse_scores(match, cosines, allowed, weights.meaning, floor)


def find_hits(
    query: Query,
    columns: Columns,
    match: Match | None,
    now: datetime,
    weights: Weights = DEFAULTS,
    id_matches: Collection[int] = (),
    leaves: LeafMasks | None = None,
) -> RankedHits:
    """Return the slots that pass the filters and match the text, in order, and their facets.

    Args:
        query: Its filters and its order are applied.
        columns: The columns of all slots.
        match: The matches of the query's text; None if it has none.
        now: The time from which recency is counted.
        weights: The weights of the score.
        id_matches: Slots whose id is the text of the query; they are found too, and first.
        leaves: As in `filters.compile_filters`.
    """
    compiled = filters.compile_filters(columns, query, leaves)
    if match is None:
        filtered = FilteredSlots(compiled, None)
        slots = order_slots(columns, filtered.mask, query.order, now, query.then, weights)
        return RankedHits(ArraySlots(slots), None, None, filtered, NO_SLOTS)
    if compiled.joining is not None:
        match = match.with_slots(compiled.joining.nonzero()[0])
    if id_matches:
        match = match.with_slots(np.array(sorted(id_matches)))
    filtered = FilteredSlots(compiled, match.slots)
    hidden = match.slots.take((match.all_words > filtered.mask).nonzero()[0])
    shown = match.narrowed(filtered.mask)
    if query.order is not Sort.RELEVANCE:
        ordered = order_slots(columns, shown.found, query.order, now, query.then, weights)
        return RankedHits(ArraySlots(ordered), None, shown, filtered, hidden, tuple(id_matches))

    def admit(fresh: Longs) -> Mask:
        nonlocal filtered
        filtered = FilteredSlots(compiled, np.concatenate([match.slots, fresh]), filtered)
        return filtered.mask[-len(fresh) :]

    shown = context.add_context(shown, match, columns, query.words, now, weights, admit)
    shown = _add_bonuses(shown, columns.when)
    types = query.prefer or filter_values(query, "type")
    scores = ranking.score_matches(shown, columns, now, weights, types, tuple(id_matches))
    order = OrderedSlots(shown.slots, scores, columns.when)
    return RankedHits(order, OrderedScores(order), shown, filtered, hidden, tuple(id_matches))


def _add_bonuses(match: Match, when: Doubles) -> Match:
    """Add the parts of the score that only matches with all words have; `when`: of all slots."""
    if match.bonuses is None:
        return match
    complete = match.all_words.nonzero()[0]
    if len(complete) < 2:  # one memory with all words is before all others, whatever else it has
        return match
    if len(complete) == len(match.slots):
        added = match.bonuses.added(match.slots, match.text, when)
    else:
        slots, text = match.slots.take(complete), match.text.take(complete)
        added = match.bonuses.added(slots, text, when)
        added = [part._replace(at=complete[part.at]) for part in added]
    return match.changed(added=tuple(added))


def explain_hit(
    query: Query,
    hits: RankedHits,
    columns: Columns,
    slot: int,
    now: datetime,
    weights: Weights = DEFAULTS,
) -> tuple[ScorePart, ...]:
    """The parts of the score of a slot, which add up to it; () if the order has no scores.

    Args:
        query: As for `find_hits`.
        hits: What `find_hits` found.
        columns: The columns of all slots.
        slot: The hit.
        now: The time from which recency is counted.
        weights: The weights of the score.
    """
    if hits.match is None:
        return ()
    types: Any = query.prefer or filter_values(query, "type")
    return ranking.explain_score(hits.match, columns, slot, now, weights, types, hits.id_matches)


MAX_NAMED = 3
"""Filters that are named, those that hide most first."""


@dataclass(frozen=True, slots=True)
class HiddenMatches:
    """Memories with all the words that one filter hides."""

    filter: str
    """As it is typed; `status` for the default, which shows current memories only."""
    count: int
    advice: str
    """`1 more with status:all (retired)`."""


def count_hidden(
    query: Query, hits: RankedHits, leaves: LeafMasks | None = None
) -> tuple[HiddenMatches, ...]:
    """Return how many memories hold all words and are hidden by one filter alone, by filter.

    Args:
        query: Its filters are lifted one at a time.
        hits: What `find_hits` found.
        leaves: As in `filters.compile_filters`.
    """
    if not len(rest := hits.hidden):
        return ()
    columns = hits.filtered.filters.columns
    found = []
    for name, lifted, advice in _lift_each(query):
        compiled = filters.compile_filters(columns, lifted, leaves)
        passing = FilteredSlots(compiled, rest).mask.nonzero()[0]
        if count := len(passing):
            statuses = []
            if name == "status":
                often = np.bincount(columns.status.take(rest.take(passing)))
                statuses = [STATUSES[code] for code in often.nonzero()[0].tolist()]
            found.append(HiddenMatches(name, count, _describe(count, statuses, advice)))
    found.sort(key=lambda one: -one.count)
    return tuple(found[:MAX_NAMED])


def _lift_each(query: Query) -> Iterator[tuple[str, Query, str]]:
    """Yield the name of each filter, the query without it, and what to type for that."""
    every = Condition("status", ("all",))
    others = tuple(part for part in query.conditions if part.field != "status")
    named = [part for part in query.conditions if part.field == "status"]
    if not any("all" in part.values for part in named):
        name = format_condition(named[0]) if named else "status"
        yield name, replace(query, conditions=(*others, every)), "with status:all"
    for part in others:
        remaining = tuple(other for other in query.conditions if other is not part)
        name = "is:marked" if part.field == "ref" else format_condition(part)
        yield name, replace(query, conditions=remaining), f"without {name}"
    if query.since is not None:
        name = f"since:{query.since.text}"
        yield name, replace(query, since=None), f"without {name}"
    if query.until is not None:
        name = f"until:{query.until.text}"
        yield name, replace(query, until=None), f"without {name}"


def _describe(count: int, statuses: list[str], advice: str) -> str:
    which = f" ({', '.join(statuses)})" if statuses else ""
    return f"{count:,} more {advice}{which}"
