"""Run queries over the loaded rows: text search with or without index, hints, similar memories."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field

from memtui.insight.statistics import Statistics, order_counts
from memtui.library.semantic import SemanticSearch
from memtui.library.snapshot import Rows
from memtui.model import Memory
from memtui.progress import IsCancelled, never
from memtui.query import (
    REGEX,
    Group,
    Node,
    Query,
    Sort,
    Term,
    TermKind,
    filter_values,
)
from memtui.search import (
    aggregates,
    analysis,
    context,
    filters,
    fusion,
    nearest_memories,
    ordering,
    ranking,
    salience,
)
from memtui.search.aggregates import Facets
from memtui.search.array_types import Doubles, Floats, Longs, Mask, slots_in
from memtui.search.columns import Columns, build, to_array
from memtui.search.date_matches import find_date_hits
from memtui.search.documents import MAX_INDEXED, is_cut, to_document
from memtui.search.filters import Filters, HiddenMatches
from memtui.search.index import memory_index
from memtui.search.index.segments import NO_SLOTS, Segment
from memtui.search.literals import LiteralSearch
from memtui.search.matching import Match, Substitution, TextIndex, match_terms
from memtui.search.query_terms import analyze_terms
from memtui.search.ranking import DEFAULTS, AddedScore, RankedHits, ScorePart, Weights
from memtui.search.row_filters import read_conditions
from memtui.stores.base import LimitUse
from memtui.stores.queryable import Accuracy, Count
from memtui.text import MAX_READ, and_more, number, one_line

_ID = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]{3,}|[a-z]{2,5}[-_][0-9a-f]{2,}", re.ASCII)
"""Possible beginnings of an id: uuid, number, `obs-1f…`, `fact_7b2`."""


class SearchResult(Struct, frozen=True, eq=False, dict=True):
    """The hits of a query, in display order."""

    query: Query
    slots: Sequence[int]
    """Slots of the hits, in `rows`."""
    total: int
    scores: Sequence[float] | None
    """One per slot where the order is by relevance."""
    hits: RankedHits
    """The matches, for `explain`."""
    words: tuple[str, ...] = ()
    """Words to highlight."""
    remark: str = ""
    """What is wrong with the query; the beginning of `hint`."""
    missing: tuple[str, ...] = ()
    """Terms that nothing was found for."""
    revision: int = 0
    """Revision of the snapshot that was searched."""
    rows: Sequence[Memory] = field(default_factory=Rows)
    """Rows of that snapshot; in later ones the slots may belong to other memories."""
    columns: Columns = field(default_factory=lambda: build(()))
    """Columns of these rows."""
    filters: Filters | None = None
    matching: Longs | None = None
    """The slots that match the text, before filters; None if it has no text."""
    complete: Longs = field(default_factory=lambda: NO_SLOTS)
    """The slots with all words, before filters."""
    ranked_at: datetime = datetime.max
    """The time from which recency was counted."""
    accuracy: Accuracy = Accuracy.EXACT
    """How far `total` can be trusted."""
    is_scan: bool = False
    """The index is not ready, so the loaded texts were read."""

    @property
    def among(self) -> str:
        """The memories of which alone the order was made; "" if it was made of all."""
        return ""

    @property
    def count(self) -> Count:
        """How many hits there are, as far as that is known now."""
        return Count(self.total, self.accuracy)

    @property
    def types(self) -> Collection[str]:
        """The types of the hits."""
        return self.facets.type

    @property
    def are_facets_here(self) -> bool:
        """Whether nothing has to be asked for `facets`."""
        return True

    @property
    def are_facets_exact(self) -> bool:
        """Whether `facets` were counted, not estimated from a sample."""
        return True

    @property
    def is_joined_by_rank(self) -> bool:
        """Whether the order is that of several results, which have no common score."""
        return False

    def is_approximate(self, slot: int) -> bool:
        """Whether its time is only that of its file."""
        return bool(self.columns.approximate[slot])

    # Counted when they are read: not every caller needs them.

    @cached_property
    def hidden(self) -> tuple[HiddenMatches, ...]:
        """What each filter hides of the memories with all words."""
        if self.filters is None:
            return ()
        return filters.count_hidden(self.columns, self.filters, self.complete)

    @cached_property
    def hint(self) -> str:
        """For the person: bad syntax, another spelling, a value that no memory has."""
        parts = [self.remark]
        match = self.hits.match
        if not self.remark and match is not None and (match.substituted or match.missing):
            parts.append(_word_hint(match))
        if not self.remark and (self.query.conditions or self.query.groups):
            parts.append(filters.describe_unknown_value(self.columns, self.query))
        return "; ".join(filter(None, parts))

    @property
    def hints(self) -> tuple[str, ...]:
        """All notes for the person: `hint`, then what each filter hides of what is found.

        Where nothing is found, `memtui.query.relax` gives the ways to find something.
        """
        hidden = self.hidden if self.total else ()
        return tuple(filter(None, (self.hint, *(each.advice for each in hidden))))

    @property
    def limits(self) -> tuple[str, ...]:
        """Notes for who reads hits without a screen: what the order was made of, what is away, and
        what is not searched."""
        in_text = {REGEX, "content"} & {part.field for part in self.query.conditions}
        if not (self.query.terms or self.query.groups or in_text):
            return ()
        living = self.columns.alive.nonzero()[0]
        long = [self.rows[slot] for slot in living.tolist() if is_cut(self.rows[slot])]
        if not long:
            return ()
        names = ", ".join(one_line(memory.headline, MAX_READ) for memory in long[:MAX_NAMED])
        most = f"first {number(MAX_INDEXED)} characters"
        return (f"only the {most} are searched of {names}{and_more(len(long) - MAX_NAMED)}",)

    @cached_property
    def facets(self) -> Facets:
        """How many hits a filter on each value would leave."""
        found = self.filters or filters.evaluate(self.columns, self.query)
        return aggregates.count_facets(self.columns, found, self.matching)

    def explain(self, position: int, weights: Weights = DEFAULTS) -> tuple[ScorePart, ...]:
        """The parts of the score of a hit, which add up to it; () if the order has no scores."""
        if self.hits.match is None:
            return ()
        hits, slot = self.hits, self.slots[position]
        key = (self.columns, slot, self.ranked_at, weights, hits.types, hits.id_matches)
        return ranking.explain_score(self.hits.match, *key, self.hits.added)

    def slots_of_refs(self, refs: Collection[str]) -> set[int]:
        """The slots of memories with one of these refs."""
        return {slot for slot, memory in enumerate(self.rows) if memory.ref in refs}


class SimilarMemories(Struct, frozen=True, eq=False):
    """Memories similar to another one, the most similar first."""

    slots: Sequence[int]
    scores: Sequence[float]
    """0 to 1: the cosine, or the text score of the other's rare words."""
    how: Literal["vectors", "words"]
    words: tuple[str, ...] = ()
    """The words that were searched for, the rarest first; empty with vectors."""
    rows: Rows = field(default_factory=Rows)
    """The rows that the slots index."""


class Searchable(NamedTuple):
    """The rows and indexes that one query runs on."""

    rows: Rows
    columns: Columns
    segments: tuple[Segment, ...]
    is_indexed: bool = True
    """Whether the segments cover every row; else the texts are read."""
    weights: Weights = DEFAULTS
    semantic: SemanticSearch | None = None
    """Where there are vectors."""
    outdated: Callable[[IsCancelled], Collection[str]] = lambda _: ()
    """Gives the refs of the memories that name what their project no longer has."""
    linked_to: Callable[[str], Collection[str] | None] = lambda _: None
    """Gives the refs of the memories linked to or from what a folded name means; None: nothing has
    that name."""
    slot_of: Mapping[str, int] = MappingProxyType({})
    """Ref -> slot of all living memories."""
    now: datetime = datetime.max
    """From which recency, and `yesterday` in a query, are counted."""
    revision: int = 0
    """Revision of the snapshot."""


def find(query: Query, scope: Searchable, cancelled: IsCancelled = never) -> SearchResult:
    """Run the query: match its terms, filter, score, order and count. Raises Cancelled."""
    columns, now, weights = scope.columns, scope.now, scope.weights
    segments = scope.segments if scope.is_indexed else ()
    literals = LiteralSearch(scope.rows, columns.alive, cancelled)
    index = TextIndex(segments, len(columns.alive), columns.alive, literals, cancelled)
    is_filtered = bool(query.conditions or query.groups)
    read, remarks = _read_filters(query, scope, index) if is_filtered else ({}, ())
    passed = filters.evaluate(columns, query, read)
    wanted = query.wanted_terms
    cosines = None if scope.semantic is None else _find_cosines(query, scope.semantic, index)
    if cosines is not None:
        wanted = tuple(term for term in wanted if not fusion.is_meaning(term))
    terms = analyze_terms(wanted)
    dates = find_date_hits(wanted, segments, columns, now)
    match = match_terms(index, terms, dates, as_written=query.as_written) if wanted else None
    if cosines is not None and scope.semantic is not None:
        match = _add_meaning(query, scope, index, match, cosines, passed.passing)
    complete, ids, shown = NO_SLOTS, [], None
    if match is not None:
        complete = match.slots[match.all_words]
        ids = _match_ids(query, scope.slot_of)
        if ids or passed.joining is not None:
            match = match.with_slots(slots_in(ids, passed.joining))
        shown = match.narrowed(passed.passing)
    if match is None or shown is None or query.order is not Sort.RELEVANCE:
        found = passed.passing if shown is None else shown.found
        slots = ordering.order_slots(columns, found, query.order, now, query.then)
        hits = RankedHits(slots.tolist(), None, shown, (), tuple(ids))
    else:
        around: Sequence[AddedScore] = ()
        passages = ranking.find_passages(shown, terms, segments, columns.when)
        if passages is not None:
            shown = ranking.without_scattered(shown, segments, passages)
        if len(shown.terms) >= context.MIN_TERMS:
            words = query.words
            around = context.score_context(match, shown, columns, segments, words, now, weights)
        of_texts = ranking.score_texts(
            shown, terms, segments, columns.when, literals, passages, dates
        )
        added = (*around, *of_texts)
        types = query.prefer or (filter_values(query, "type") if is_filtered else ())
        scores = ranking.score_matches(shown, columns, now, weights, types, ids, added)
        slots, scores = ranking.order_by_score(columns, shown.slots, scores)
        hits = RankedHits(slots.tolist(), scores.tolist(), shown, added, tuple(ids), types)

    remark = query.hint or "; ".join(remarks)
    is_meant = any(term.kind is TermKind.MEANING for term in query.wanted_terms)
    if not remark and match is not None and is_meant:
        remark = _meaning_hint(match, scope)
    if not remark and is_filtered:
        remark = filters.describe_unknown_value(columns, query, is_near=True)
    words = query.words
    significant = [word for word in words if word.casefold() not in analysis.QUESTION_WORDS]
    for segment in scope.segments:
        segment.release()
    return SearchResult(
        query=query,
        slots=hits.slots,
        total=len(hits.slots),
        scores=hits.scores,
        hits=hits,
        words=words if match is None else (*(significant or words), *match.words),
        remark=remark,
        missing=() if match is None else match.missing,
        revision=scope.revision,
        rows=scope.rows,
        columns=columns,
        filters=passed,
        matching=None if match is None else match.slots,
        complete=complete,
        ranked_at=now,
        is_scan=match is not None and not scope.is_indexed,
    )


def find_among(
    query: Query, memories: Sequence[Memory], like: Searchable, cancelled: IsCancelled = never
) -> SearchResult:
    """Run the query over these memories, ranked as in `like`; slots are their positions.

    Raises Cancelled.
    """
    slot_of = {memory.ref: slot for slot, memory in enumerate(memories)}
    segment = memory_index.make(map(to_document, memories), cancelled=cancelled)
    scope = Searchable([*memories], build(memories), (segment,), weights=like.weights)
    return find(query, scope._replace(slot_of=slot_of, now=like.now), cancelled)


def _read_filters(
    query: Query, scope: Searchable, index: TextIndex
) -> tuple[dict[Node, Mask], Sequence[str]]:
    """The slots for each filter that is in no column and each term of a group, and remarks."""
    conditions = [part for part in query.all_conditions if filters.is_read(part)]
    linked = {
        value: scope.linked_to(value)
        for part in conditions
        for value in part.values
        if part.field == "linked"
    }
    if any(part.field == "has" and "outdated" in part.values for part in conditions):
        linked["has:outdated"] = scope.outdated(index.cancelled)
    alive = scope.columns.alive
    rows = read_conditions(conditions, scope.rows, alive, scope.slot_of, linked, index.cancelled)
    masks: dict[Node, Mask] = dict(rows.masks.items())
    for term in _terms_of_groups(query):
        dates = find_date_hits((term,), index.segments, scope.columns, scope.now)
        terms = analyze_terms((term,))
        found = match_terms(index, terms, dates, as_written=query.as_written).found
        masks[term] = ~found if term.negated else found
    return masks, rows.remarks


def _terms_of_groups(query: Query) -> set[Term]:
    """The terms by which the groups let memories pass; those excluded beside a group as well."""
    found = {term for term in query.terms if term.negated and query.groups}
    pending: list[Node] = [*query.groups]
    while pending:
        node = pending.pop()
        if isinstance(node, Group):
            pending += node.parts
        elif isinstance(node, Term):
            found.add(node)
    return found


def _find_cosines(query: Query, semantic: SemanticSearch, index: TextIndex) -> Floats | None:
    """The cosine of each slot with the query; None where vectors do not count or are not there."""
    wanted = query.wanted_terms
    if not wanted or not (query.order is Sort.RELEVANCE or fusion.is_meaning_only(wanted)):
        return None
    return semantic.cosines(query, index.segments, index.size)


def _add_meaning(
    query: Query,
    scope: Searchable,
    index: TextIndex,
    match: Match | None,
    cosines: Floats,
    allowed: Mask,
) -> Match:
    """Add the nearest of the `allowed` slots to the match of the text. Raises Cancelled."""
    floor = 0.0 if scope.semantic is None else scope.semantic.floor
    if negated := tuple(term for term in query.wanted_terms if term.negated):
        allowed = allowed & match_terms(index, analyze_terms(negated)).found
    if match is None or fusion.is_meaning_only(query.wanted_terms):
        return fusion.match_by_meaning(cosines, allowed, floor)
    if any(term.kind is TermKind.PHRASE and not term.negated for term in query.terms):
        allowed = allowed & match.found
    return fusion.fuse_scores(match, cosines, allowed, scope.weights.meaning, floor)


def _meaning_hint(match: Match, scope: Searchable) -> str:
    """What to say to who asks for meaning."""
    if match.too_far is not None and scope.semantic is not None:
        least, nearest = scope.semantic.floor, match.too_far
        return f"nothing near enough in meaning: the nearest {nearest:.2f}, the least {least:.2f}"
    if match.meaning is not None:
        return ""
    return "~ asks for meaning, which needs vectors (memtui embed); looked for as words"


MAX_NAMED = 2
"""Words that a hint names in place of one; the number of the others follows."""


def _word_hint(match: Match) -> str:
    """Say which words no memory has, and what is shown in their place."""
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
        document = to_document(scope.rows[slot])
        words = nearest_memories.find_distinctive_words(document, scope.segments, alive)
        scores_of = nearest_memories.match_words(words, scope.segments, scope.columns, cancelled)
    slots, scores = nearest_memories.find_nearest_current(scores_of, scope.columns, slot, limit)
    return SimilarMemories(slots, scores, how, words, scope.rows)


def _match_ids(query: Query, slot_of: Mapping[str, int]) -> list[int]:
    """Slots of memories whose id begins with the only word of the query."""
    if len(query.terms) != 1 or query.terms[0].negated or query.groups:
        return []
    term = query.terms[0]
    if term.kind not in (TermKind.WORD, TermKind.PREFIX):
        return []
    if ":" not in term.text and not _ID.fullmatch(term.text):
        return []
    return sorted(
        slot
        for ref, slot in slot_of.items()
        if term.text in ref and (ref == term.text or ref.partition(":")[2].startswith(term.text))
    )


def statistics(
    found: SearchResult,
    disk: Mapping[str, int],
    limits: Sequence[LimitUse],
    counted: bool,
    now: datetime,
) -> Statistics:
    """Summarize a search result; `disk` and `limits` are of the open stores.

    Without `counted` neither the values of each field are counted nor is salience measured.
    """
    columns = found.columns
    labels = aggregates.labels_of(columns, found.slots)
    weighed: Sequence[float] | Doubles = ()
    if counted:
        weighed = ordering.salience_now(columns, to_array(found.slots), now)
    figures: dict[str, Any] = aggregates.summarize(columns, found.slots)
    figures |= order_counts(aggregates.count_values(columns, found.slots) if counted else {})
    return Statistics(
        **figures,
        total=found.total,
        salience=salience.describe_range(weighed),
        disk={label: size for label, size in disk.items() if label in labels},
        limits=tuple(sorted(limits, key=lambda use: -use.share)),
    )
