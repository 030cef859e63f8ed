"""From a query to ordered slots: filters, text and ranking put together, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memtui.query import Query, Sort, TermKind, values_of
from memtui.search import columns as columns_of
from memtui.search import fusion, matching, ranking
from memtui.search.columns import Columns, Facets, Slots
from memtui.search.embedding import Floats
from memtui.search.matching import Exact, Match
from memtui.search.postings import Segment, never
from memtui.search.ranking import DEFAULTS, Part, Weights


@dataclass(frozen=True)
class Hits:
    """Slots in display order, with what is needed to say why each is there."""

    slots: Slots
    scores: NDArray[np.float64] | None
    """One per slot where the order is by relevance."""
    match: Match | None
    """What the text matched; None when there was none to look for."""
    facets: Facets
    named: tuple[int, ...] = ()
    """Slots whose id is what was asked."""


def match_text(
    query: Query,
    segments: Sequence[Segment],
    size: int,
    exact: Exact | None = None,
    cancelled: Callable[[], bool] = never,
) -> Match | None:
    """Where the query's text is; None when it has none. Raises Cancelled."""
    if not query.terms:
        return None
    return matching.match(segments, size, query.terms, exact, cancelled)


def with_meaning(
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
    allowed = columns_of.mask(columns, query)
    if barred is not None:
        allowed &= barred.found
    if match is None or fusion.only_meaning(query.terms):
        return fusion.meaning_alone(cosines, allowed)
    if any(term.kind is TermKind.PHRASE and not term.negated for term in query.terms):
        allowed &= match.found
    return fusion.fuse(match, cosines, allowed, weights.meaning, way)


def find(
    query: Query,
    columns: Columns,
    match: Match | None,
    now: datetime,
    weights: Weights = DEFAULTS,
    named: Collection[int] = (),
) -> Hits:
    """Order what passes the filters and matches the text."""
    if match is None:
        found = columns_of.mask(columns, query)
        slots = columns_of.order(columns, found, query.order, now)
        return Hits(slots, None, None, columns_of.facets(columns, query, None))
    if named:
        match = replace(match, found=match.found.copy())
        match.found[list(named)] = True
    found = columns_of.mask(columns, query) & match.found
    facets = columns_of.facets(columns, query, match.found)
    if query.order is not Sort.RELEVANCE:
        slots = columns_of.order(columns, found, query.order, now)
        return Hits(slots, None, match, facets, tuple(named))
    slots = found.nonzero()[0]
    scores = ranking.rank(
        match, columns, slots, now, weights, values_of(query, "type"), tuple(named)
    )
    at = ranking.best_first(scores, columns, slots)
    return Hits(slots[at], scores[at], match, facets, tuple(named))


def explain(
    query: Query,
    hits: Hits,
    columns: Columns,
    slot: int,
    now: datetime,
    weights: Weights = DEFAULTS,
) -> tuple[Part, ...]:
    """The parts of one hit's score; they add up to it. Empty where nothing was scored."""
    if hits.match is None:
        return ()
    wanted: Any = values_of(query, "type")
    return ranking.parts(hits.match, columns, slot, now, weights, wanted, hits.named)
