"""Run queries over the loaded rows: text search with or without index, hints, similar memories."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple

from memtui.dataclass import dataclass, field, replace
from memtui.insight.statistics import Statistics, order_counts
from memtui.library.indexing import ProvisionalIndex
from memtui.library.semantic import SemanticSearch
from memtui.library.snapshot import Rows
from memtui.query import Condition, Query, Sort, Term, TermKind
from memtui.search import (
    aggregates,
    analysis,
    expansion,
    finder,
    fusion,
    nearest_memories,
    salience,
    sort_orders,
)
from memtui.search.aggregates import Facets
from memtui.search.array_types import Doubles, Mask
from memtui.search.columns import Columns, build, to_array
from memtui.search.date_matches import find_date_hits
from memtui.search.documents import to_document
from memtui.search.filters import describe_unknown_value
from memtui.search.finder import HiddenMatches, RankedHits
from memtui.search.hits import Match, Substitution
from memtui.search.literals import LiteralSearch
from memtui.search.matching import ExactLookup
from memtui.search.numbering import RefSlots
from memtui.search.postings import Segment
from memtui.search.ranking import DEFAULTS, Weights
from memtui.search.row_filters import LinkedTo, RowFilters
from memtui.search.salience import ScoreConstants
from memtui.stores.base import LimitUse
from memtui.text import and_more, counted, one_line

_ID = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]{3,}|[a-z]{2,5}[-_][0-9a-f]{2,}", re.ASCII)
"""Possible beginnings of an id: uuid, number, `obs-1f…`, `fact_7b2`."""


SearchMethod = Literal["all", "index", "scan"]
"""`all`: the query has no text; `scan`: the index is not ready, so the loaded text was read."""


@dataclass(frozen=True)
class SearchResult:
    """The hits of a query, in display order."""

    query: Query
    slots: Sequence[int]
    """Of the hits, in `rows`."""
    total: int
    scores: Sequence[float] | None
    """One per slot where the order is by relevance."""
    how: SearchMethod
    hits: RankedHits = field(compare=False, repr=False)
    """The matches, for `explain`."""
    words: tuple[str, ...] = ()
    """Words to highlight."""
    remark: str = ""
    """What is wrong with the query; the beginning of `hint`."""
    missing: tuple[str, ...] = ()
    """Terms that nothing was found for."""
    revision: int = 0
    """Of the snapshot that was searched."""
    rows: Rows = field(default_factory=Rows, compare=False, repr=False)
    """Of the snapshot; in later ones the slots may belong to other memories."""
    columns: Columns = field(default_factory=lambda: build(()), compare=False, repr=False)
    """Of these rows."""
    segments: tuple[Segment, ...] = field(default=(), compare=False, repr=False)
    """The index of these rows; empty if it is not ready."""
    ranked_at: datetime = field(default=datetime.max, compare=False, repr=False)
    """The time from which recency was counted."""

    # Counted when they are read: not every caller needs them.

    @cached_property
    def hidden(self) -> tuple[HiddenMatches, ...]:
        """What each filter hides of the memories with all words."""
        return finder.count_hidden(self.query, self.hits)

    @cached_property
    def hint(self) -> str:
        """For the person: bad syntax, another spelling, the filter that hides matches."""
        if found := self.remark or _word_hint(self.hits.match):
            return found
        if self.hidden:
            return ""
        unknown = describe_unknown_value(self.columns, self.query)
        return _hint(self.query, self.hits) or unknown

    @property
    def hints(self) -> tuple[str, ...]:
        """All notes for the person: `hint`, then what each filter hides."""
        return tuple(filter(None, (self.hint, *(hidden.advice for hidden in self.hidden))))

    @property
    def facets(self) -> Facets:
        """How many hits a filter on each value would leave; counted when first asked for."""
        return self.hits.facets

    def mask_with_parts(self, parts: Sequence[str]) -> Mask:
        """For each slot, also of others than found, whether one of its words may contain one of
        these parts; see `expansion.mask_with_parts`. All may until the index is ready."""
        return expansion.mask_with_parts(self.segments, len(self.columns), parts)

    def ref_of(self, slot: int) -> str:
        """The ref of a memory; one from the cache is not decoded for it."""
        return self.rows.ref_of(slot)

    def slots_of_refs(self, refs: Collection[str]) -> set[int]:
        """The slots of memories with one of these refs."""
        return {slot for slot, ref in self.rows.find_refs() if ref in refs}


@dataclass(frozen=True, slots=True)
class SimilarMemories:
    """Memories similar to another one, the most similar first."""

    slots: Sequence[int]
    scores: Sequence[float]
    """0 to 1: the cosine, or the share of the other's rare words."""
    how: Literal["vectors", "words"]
    words: tuple[str, ...] = ()
    """The words that were compared, the rarest first; empty with vectors."""
    rows: Rows = field(default_factory=Rows, compare=False, repr=False)
    """The rows that the slots index."""


class Searchable(NamedTuple):
    """The rows and indexes that one query runs on."""

    rows: Rows
    columns: Columns
    segments: tuple[Segment, ...]
    is_indexed: bool
    """Whether the segments cover every row; else `provisional` does."""
    provisional: ProvisionalIndex
    exact: ExactLookup | None = None
    weights: Weights = DEFAULTS
    semantic: SemanticSearch | None = None
    linked_to: LinkedTo = lambda _: None
    now: datetime = datetime.max
    """From which recency, and `yesterday` in a query, are counted."""
    revision: int = 0
    """Of the snapshot."""


def find(
    query: Query,
    scope: Searchable,
    slots_of: Callable[[], RefSlots],
    cancelled: Callable[[], bool],
) -> SearchResult:
    """Run the query. Raises Cancelled."""
    alive = scope.columns.alive
    rows = RowFilters(scope.rows, alive, slots_of, _has_secret, cancelled, scope.linked_to, [])
    leaves = _Leaves(scope, rows, cancelled)
    match = _match(query, scope, leaves)
    ids = _match_ids(query, scope, slots_of)
    hits = finder.find_hits(query, scope.columns, match, scope.now, scope.weights, ids, leaves)
    words = query.words if match is None else (*_significant(query.words), *match.words)
    how = "all" if match is None else "index" if scope.is_indexed else "scan"
    remark = query.hint or "; ".join(leaves.rows.remarks) or _meaning_hint(query, match, scope)
    if not remark and (query.conditions or query.groups):
        remark = describe_unknown_value(scope.columns, query, is_near=True)
    found = SearchResult(
        query=query,
        slots=hits.slots,
        total=len(hits.slots),
        scores=hits.scores,
        how=how,  # type: ignore[arg-type]
        hits=hits,
        words=words,
        remark=remark,
        missing=match.missing if match is not None else (),
        revision=scope.revision,
        rows=scope.rows,
        columns=scope.columns,
        segments=scope.segments if scope.is_indexed else (),
        ranked_at=scope.now,
    )
    if hits.filtered.filters.rest is not None:  # memories are read for it, as they are now
        found.__dict__["hidden"] = finder.count_hidden(query, hits, leaves)
    for segment in scope.segments:
        segment.release()
    return found


class _Leaves(NamedTuple):
    """Evaluates what the columns cannot for one query: terms in groups, and memories to read."""

    scope: Searchable
    rows: RowFilters
    cancelled: Callable[[], bool]

    def condition(self, part: Condition) -> Mask:
        """The slots with one of the values. Raises Cancelled."""
        return self.rows.mask(part)

    def term(self, term: Term) -> Mask:
        """The slots with the term, by itself. Raises Cancelled."""
        found = self.match((term,), Query())
        if found is None:
            return ~self.scope.columns.alive
        return ~found.found if term.negated else found.found

    def match(self, terms: tuple[Term, ...], query: Query) -> Match | None:
        """Match the text of a query with these terms instead of its own. Raises Cancelled."""
        scope, size = self.scope, len(self.scope.columns)
        is_whole = terms is query.terms and not query.groups
        subquery = query if is_whole else replace(query, terms=terms, groups=())
        segments = scope.segments
        if terms and not scope.is_indexed:
            segments = scope.provisional.extend_to(scope.rows, size, self.cancelled)
        alive = scope.columns.alive
        literals = LiteralSearch(scope.rows, alive, self.cancelled)
        dates = find_date_hits(terms, segments, scope.columns, scope.now)
        return finder.match_text(
            subquery, segments, size, scope.exact, self.cancelled, alive, literals, dates
        )


def _has_secret(text: str) -> bool:
    from memtui.text.secrets import find_secrets

    return next(find_secrets(text), None) is not None


def _match(query: Query, scope: Searchable, leaves: _Leaves) -> Match | None:
    """Match the text, and its embedding where there are vectors. Raises Cancelled."""
    terms = query.wanted_terms
    by_meaning = query.order is Sort.RELEVANCE or fusion.is_meaning_only(terms)
    if scope.semantic is None or not terms or not by_meaning:
        return leaves.match(terms, query)
    cosines = scope.semantic.cosines(query, scope.segments, len(scope.columns))
    if cosines is None:
        return leaves.match(terms, query)
    return finder.add_meaning(
        query,
        leaves.match(tuple(term for term in terms if not fusion.is_meaning(term)), query),
        leaves.match(tuple(term for term in terms if term.negated), query),
        cosines,
        scope.columns,
        scope.weights,
        leaves,
        scope.semantic.floor,
    )


def _meaning_hint(query: Query, match: Match | None, scope: Searchable) -> str:
    if match is not None and match.too_far is not None and scope.semantic is not None:
        least, nearest = scope.semantic.floor, match.too_far
        return f"nothing near enough in meaning: the nearest {nearest:.2f}, the least {least:.2f}"
    is_asked = any(map(fusion.is_meaning, query.wanted_terms))
    if match is None or match.meaning is not None or not is_asked:
        return ""
    return "~ asks for meaning, which needs vectors (memtui embed); looked for as words"


def _significant(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words without question words, if any other remains."""
    significant = [word for word in words if word.casefold() not in analysis.QUESTION_WORDS]
    return tuple(significant) or words


MAX_NAMED = 2
"""Words that a hint names in place of one; the number of the others follows."""


def _word_hint(match: Match | None) -> str:
    """Say which words no memory has, and what is shown in their place."""
    if match is None:
        return ""
    parts = [f"no {_quoted(each.typed)}; showing {_describe(each)}" for each in match.substituted]
    if match.missing:
        parts.append("no " + ", ".join(map(_quoted, match.missing)))
    return "; ".join(parts)


def _describe(substitution: Substitution) -> str:
    named = ", ".join(map(_quoted, substitution.words[:MAX_NAMED]))
    return named + and_more(substitution.count - len(substitution.words[:MAX_NAMED]))


def _quoted(word: str) -> str:
    return f'"{one_line(word)}"'


def similar(
    slot: int,
    scope: Searchable,
    cosines: Any | None,
    limit: int,
    cancelled: Callable[[], bool],
) -> SimilarMemories:
    """Find current memories similar to the one in this slot. Raises Cancelled.

    Args:
        slot: of the memory to compare with.
        scope: where to search.
        cosines: of each slot with it, where it has a vector; else words are compared.
        limit: most memories.
        cancelled: asked while words are compared.
    """
    how: Literal["vectors", "words"] = "vectors"
    words: tuple[str, ...] = ()
    scores_of = cosines
    if scores_of is None:
        how, alive = "words", scope.columns.alive
        rarest = nearest_memories.find_distinctive_words(
            to_document(scope.rows[slot]), scope.segments, alive
        )
        scores_of = nearest_memories.score_by_words(
            rarest, scope.segments, len(scope.columns), cancelled
        )
        words = tuple(word for word, _ in rarest)
    slots, scores = nearest_memories.find_nearest_current(scores_of, scope.columns, slot, limit)
    return SimilarMemories(slots, scores, how, words, scope.rows)


def _match_ids(query: Query, scope: Searchable, slots_of: Callable[[], RefSlots]) -> list[int]:
    """Slots of memories whose id begins with the only word of the query."""
    if len(query.terms) != 1 or query.terms[0].negated or query.groups:
        return []
    term = query.terms[0]
    if term.kind not in (TermKind.WORD, TermKind.PREFIX):
        return []
    if ":" not in term.text and not _ID.fullmatch(term.text):
        return []
    return [
        slot
        for ref, slot in slots_of().find(term.text)
        if (ref == term.text or ref.partition(":")[2].startswith(term.text))
        and slot < len(scope.columns)  # the row may be newer than the columns
    ]


_FACET_NAMES = ("status", "type", "importance", "entity", "store", "kind")


def _hint(query: Query, hits: RankedHits) -> str:
    """Name the filter that hides all matches, when nothing is shown."""
    if len(hits.slots):
        return ""
    for name in _FACET_NAMES:
        hidden: Mapping[str, int] = getattr(hits.facets, name)
        if hidden and (name == "status" or any(c.field == name for c in query.conditions)):
            count = sum(hidden.values())
            if name == "entity":
                count -= sum(hits.facets.entity_repeats.values())
            return f"{name} hides {counted(count, 'match')}"
    return ""


def statistics(
    found: SearchResult,
    disk: Mapping[str, int],
    limits: Sequence[LimitUse],
    counted: bool,
    now: datetime,
    constants: ScoreConstants,
) -> Statistics:
    """Summarize a search result; `disk` and `limits` are of the open stores.

    Without `counted` neither the values of each field are counted nor is salience measured.
    """
    columns = found.columns
    totals = aggregates.aggregate(columns, found.slots)
    weighed: Sequence[float] | Doubles = ()
    if counted:
        weighed = sort_orders.salience_now(columns, to_array(found.slots), now, constants)
    return Statistics(
        **order_counts(aggregates.count_values(columns, found.slots) if counted else {}),
        total=found.total,
        pinned=totals.pinned,
        oldest=_to_datetime(totals.oldest),
        newest=_to_datetime(totals.newest),
        undated=totals.undated,
        salience=salience.describe_range(weighed),
        disk={label: size for label, size in disk.items() if label in totals.stores},
        limits=tuple(sorted(limits, key=lambda use: -use.share)),
    )


def _to_datetime(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
