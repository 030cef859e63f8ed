"""From a query to ordered slots: filters, text and ranking put together, nothing else."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from memtui.progress import IsCancelled, never
from memtui.query import Query, Sort, TermKind, filter_values
from memtui.search import columns as columns_of
from memtui.search import filters, fusion, matching, ranking
from memtui.search.aggregates import Facets, count_facets
from memtui.search.columns import Columns, Mask
from memtui.search.embedding import Floats
from memtui.search.hits import Match
from memtui.search.matching import ExactLookup
from memtui.search.ordering import OrderedSlots
from memtui.search.postings import Segment
from memtui.search.ranking import DEFAULTS, ScorePart, Weights


@dataclass(frozen=True)
class RankedHits:
    """Slots in display order, with what is needed to say why each is there."""

    slots: Sequence[int]
    scores: Sequence[float] | None
    """One per slot where the order is by relevance."""
    match: Match | None
    """What the text matched; None when there was none to look for."""
    facets: Facets
    id_matches: tuple[int, ...] = ()
    """Slots whose id is what was asked."""


def match_text(
    query: Query,
    segments: Sequence[Segment],
    size: int,
    exact: ExactLookup | None = None,
    cancelled: IsCancelled = never,
    alive: Mask | None = None,
) -> Match | None:
    """Where the query's text is; None when it has none. Raises Cancelled."""
    if not query.terms:
        return None
    return matching.match_terms(segments, size, query.terms, exact, cancelled, alive)


def add_meaning(
    query: Query,
    match: Match | None,
    barred: Match | None,
    cosines: Floats,
    columns: Columns,
    weights: Weights = DEFAULTS,
    way: str = fusion.SUM,
) -> Match:
    """The match of the query's text with what the vectors add to it.

    `match`: of what is looked for as text, None where that is nothing; `barred`: of the terms that
    must not be there alone, None where there are none. What the filters, they or a phrase keep out
    is not added.
    """
    allowed = filters.filter_mask(columns, query)
    if barred is not None:
        allowed &= barred.found
    if match is None or fusion.is_meaning_only(query.terms):
        return fusion.match_by_meaning(cosines, allowed)
    if any(term.kind is TermKind.PHRASE and not term.negated for term in query.terms):
        allowed &= match.found
    return fusion.fuse_scores(match, cosines, allowed, weights.meaning, way)


def find_hits(
    query: Query,
    columns: Columns,
    match: Match | None,
    now: datetime,
    weights: Weights = DEFAULTS,
    id_matches: Collection[int] = (),
) -> RankedHits:
    """Order what passes the filters and matches the text."""
    wanted = filters.compile_filters(columns, query)
    if match is None:
        among = filters.FilteredSlots(wanted, None)
        slots = columns_of.order_slots(columns, among.mask(), query.order, now)
        return RankedHits(slots.tolist(), None, None, count_facets(among))
    if id_matches:
        match = match.with_slots(np.array(sorted(id_matches)))
    among = filters.FilteredSlots(wanted, match.slots)
    at = among.mask().nonzero()[0]
    slots = match.slots.take(at)
    counts = count_facets(among)
    if query.order is not Sort.RELEVANCE:
        found = np.zeros(len(columns), np.bool_)
        found[slots] = True
        ordered = columns_of.order_slots(columns, found, query.order, now)
        return RankedHits(ordered.tolist(), None, match, counts, tuple(id_matches))
    types = filter_values(query, "type")
    scores = ranking.score_matches(match, columns, at, now, weights, types, tuple(id_matches))
    order = OrderedSlots(slots, scores, columns.when)
    return RankedHits(order, order.scores, match, counts, tuple(id_matches))


def explain_hit(
    query: Query,
    hits: RankedHits,
    columns: Columns,
    slot: int,
    now: datetime,
    weights: Weights = DEFAULTS,
) -> tuple[ScorePart, ...]:
    """The parts of one hit's score; they add up to it. Empty where nothing was scored."""
    if hits.match is None:
        return ()
    wanted: Any = filter_values(query, "type")
    return ranking.explain_score(hits.match, columns, slot, now, weights, wanted, hits.id_matches)
