"""Score a memory by its context: its session, the memories beside it, its date.

Memories of one session, branch, day, folder or entity are a **group**, in the order of creation,
then of the place in the file, so that a changed memory, which has a new slot, keeps its place. The
parts, each 0..1 before its weight (`memtui.search.ranking.Weights`):

    session     BM25 of all texts of the group as one, with the rarity of words among groups
    window      BM25 of the memory and the two before and after it as one
    neighbours  the better text score of the memory before and the one after
    subject     its speaker or its entity is named in the query
    date        a date of the query is its date, or shortly before it
    time words  the query asks when, and its text has words of time
    question    its text ends with a question

Session and window are for short texts, which say only together what they are about. A turn of a
conversation has them in full: it answers what the turns around it ask. Any other memory has the
share of them that its own text has of the best text score, so that a fact with one word of the
query does not come first for what its neighbours say. A document has neither: they are made of its
own words, and would count each mention three times.

Only the `MAX_SCORED` best matches by text are scored, so that a keystroke over many memories costs
no more than one over few. The context ranks memories and finds none: one with no word of the query
is not shown for the words around it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache

import numpy as np
from msgspec import Struct

from memtui.search import analysis
from memtui.search.array_types import Floats, Ints, Longs, Mask, to_mask
from memtui.search.columns import DAY_SECONDS, Columns
from memtui.search.date_matches import Span, find_dates
from memtui.search.index.segments import Segment, join_hits
from memtui.search.matching import K1, Match, ScoredTerm
from memtui.search.ordering import positions_of_highest
from memtui.search.ranking import AddedScore, Weights, are_documents

Names = Mapping[str, Sequence[tuple[tuple[str, ...], int]]]
"""First word of a name -> the words and the code of each name that begins with it."""


REACH = 2
"""Memories before and after that a window has."""


class Groups(Struct, frozen=True, eq=False):
    """The groups of the living memories, one after the other, each in its own order."""

    columns: Columns
    """The columns these groups were computed from."""
    order: Ints
    """The slot at each position."""
    group: Ints
    """The group at each position, ascending from 0."""
    position_of: Ints
    """The position of each slot; -1 if it is not alive."""
    of_slot: Ints
    """The group of each slot; `count` if it is not alive."""
    is_turn: Mask
    """Whether each slot begins with the name of a speaker, as most of its group do."""
    count: int
    """How many groups there are."""
    speakers: Names
    entities: Names

    def windows(self, slots: Longs) -> Ints:
        """The windows of these slots, one column each: the slots before, itself, those after.

        Where a group ends, and for slots outside of groups, the number of all slots stands.
        """
        windows = np.full((2 * REACH + 1, len(slots)), len(self.of_slot), np.int32)
        windows[REACH] = slots
        at = self.position_of.take(slots)
        for step in (*range(-REACH, 0), *range(1, REACH + 1)):
            is_inside = (at >= max(0, -step)) & (at < len(self.order) - max(0, step))
            (columns,) = is_inside.nonzero()
            beside = at[columns] + step
            is_same = self.group[beside] == self.group[at[columns]]
            windows[REACH + step, columns[is_same]] = self.order[beside[is_same]]
        return windows


@lru_cache(maxsize=1)
def find_groups(columns: Columns) -> Groups:
    """The groups of these columns."""
    slots = np.flatnonzero(columns.alive)
    key = columns.context[slots].astype(np.int64) * (len(columns.stores) + 1) + columns.store[slots]
    created = np.nan_to_num(columns.created[slots], nan=np.inf)
    ordered = np.lexsort((columns.position[slots], created, key))
    order, key = slots[ordered].astype(np.int32), key[ordered]
    begins = np.ones(len(key), np.bool_)
    begins[1:] = key[1:] != key[:-1]
    group = np.cumsum(begins, dtype=np.int32) - np.int32(1)
    count = int(begins.sum())
    position_of = np.full(len(columns), -1, np.int32)
    position_of[order] = np.arange(len(order), dtype=np.int32)
    of_slot = np.full(len(columns), count, np.int32)
    of_slot[order] = group
    named = np.array([name.isalpha() for name in columns.speakers], np.bool_).take(columns.speaker)
    turns, sizes = (np.bincount(of_slot, each, count + 1) for each in (named & columns.alive, None))
    is_turn = named & (2 * turns > sizes).take(of_slot)
    speakers = _index_names(columns.speakers)
    entities = _index_names([entity.rpartition("/")[2] for entity in columns.entities])
    return Groups(columns, order, group, position_of, of_slot, is_turn, count, speakers, entities)


@lru_cache(maxsize=32_768)
def _split_name(name: str) -> tuple[str, ...]:
    return tuple(analysis.list_words(name))


def _index_names(names: Sequence[str]) -> Names:
    found: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    for code, name in enumerate(names):
        if words := _split_name(name):
            found.setdefault(words[0], []).append((words, code))
    return found


MIN_TERMS = 2
"""Terms from which context is scored: one word says nothing about a session that it does not say
about its memories."""
MAX_SCORED = 100
DATE_DECAY_DAYS = 7.0
"""Days after a date until it counts 1/e: people tell on Sunday what they did on Saturday. Before a
date it fades four times as fast."""

_TIME_WORDS = """
    ago yesterday today tomorrow tonight week weeks weekend weekends month months year years day
    days monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december last next since recently summer winter
    spring autumn fall morning evening afternoon night
"""
TIME_WORDS = tuple(sorted(_TIME_WORDS.split()))
_ASK_WHEN = frozenset({"when", "since"})


def score_context(
    match: Match,
    shown: Match,
    columns: Columns,
    segments: Sequence[Segment],
    words: Sequence[str],
    now: datetime,
    weights: Weights,
) -> tuple[AddedScore, ...]:
    """Score the context of the best matches.

    Args:
        match: All matches by text.
        shown: Those of them that pass the filters.
        words: The words of the query, as they were typed.
        now: What `yesterday` is counted from.

    Returns:
        Nothing for a query of fewer than `MIN_TERMS` terms.
    """
    terms = shown.terms
    if len(terms) < MIN_TERMS or not len(shown.slots):
        return ()
    groups = find_groups(columns)
    spans = find_dates(" ".join(words), now)
    by_session = _score_sessions(terms, groups, weights.session)
    worth = by_session.take(groups.of_slot.take(shown.slots)) + shown.text + shown.all_words
    if spans:
        worth += np.float32(weights.date) * _near_dates(columns, spans, shown.slots)
    # Of equal values as many again: texts of one session often are equal (on LoCoMo recall@10 falls
    # from .799 to .781 if some of them are left out).
    at = positions_of_highest(worth, MAX_SCORED)[: 2 * MAX_SCORED]
    slots = shown.slots.take(at)
    near = groups.windows(slots)
    text = np.zeros(match.size + 1, np.float32)
    text[match.slots] = match.text
    beside_text = np.maximum(text.take(near[REACH - 1]), text.take(near[REACH + 1]))
    share = shown.text.take(at) / shown.text.max(initial=np.float32(1e-9))
    share[groups.is_turn.take(slots)] = 1.0
    share[are_documents(segments, slots)] = 0.0
    parts = [
        ("session", 1.0, by_session.take(groups.of_slot.take(slots)) * share),
        ("window", weights.window, _score_windows(terms, match.size, near) * share),
        ("neighbours", weights.neighbours, beside_text),
        ("question", weights.asks, columns.asks.take(slots)),
        ("subject", weights.subject, _are_subjects(groups, words, slots)),
        ("date", weights.date, _near_dates(columns, spans, slots) if spans else None),
        ("time words", weights.time_words, _have_time_words(segments, words, match.size, slots)),
    ]
    return tuple(
        AddedScore(name, at, values * np.float32(weight))
        for name, weight, values in parts
        if values is not None
    )


def _score_windows(terms: Sequence[ScoredTerm], size: int, near: Ints) -> Floats:
    """BM25 of each window, 0..1."""
    scores = np.zeros(near.shape[1], np.float32)
    whole = sum([term.highest for term in terms])
    for term in terms:
        by_slot = np.zeros(size + 1, np.float32)
        by_slot[term.hits.slots] = term.hits.weights
        times = by_slot.take(near).sum(axis=0)
        scores += times / (times + np.float32(_half(term))) * np.float32(term.highest / whole)
    return scores


def _score_sessions(terms: Sequence[ScoredTerm], groups: Groups, weight: float) -> Floats:
    """BM25 of each group, 0..`weight`; a last one, 0, for memories outside of groups."""
    count = groups.count
    scores = np.zeros(count + 1, np.float32)
    whole = 0.0
    for term in terms:
        of = groups.of_slot.take(term.hits.slots)
        times = np.bincount(of, term.hits.weights, count + 1).astype(np.float32)
        times[count] = 0
        holders = int(np.count_nonzero(times))
        rarity = math.log1p((count - holders + 0.5) / (holders + 0.5))
        whole += rarity
        scores += times / (times + np.float32(_half(term))) * np.float32(rarity)
    scores *= np.float32(weight / whole)
    return scores


def _half(term: ScoredTerm) -> float:
    """K1 times the score of a single occurrence: the value at which saturation reaches one half."""
    return K1 * term.highest / (K1 + 1)


def _have_time_words(
    segments: Sequence[Segment], words: Sequence[str], size: int, slots: Longs
) -> Mask | None:
    """Whether each of these slots has one of `TIME_WORDS`; None if the query does not ask when."""
    if _ASK_WHEN.isdisjoint([word.casefold().strip("?,") for word in words]):
        return None
    found = join_hits(each.find_words(TIME_WORDS) for each in segments).slots
    return to_mask(found[found < size], size).take(slots)


def _near_dates(columns: Columns, spans: Sequence[Span], slots: Longs) -> Floats:
    """How near each of these slots is to one of the spans, 0..1."""
    near = np.zeros(len(slots))
    when = columns.begun[slots]
    for span in spans:
        late = np.maximum(when - span.end, 0) / (DATE_DECAY_DAYS * DAY_SECONDS)
        early = np.maximum(span.first - when, 0) / (DATE_DECAY_DAYS * DAY_SECONDS / 4)
        near = np.maximum(near, np.nan_to_num(np.exp(-late - early)))
    return near.astype(np.float32)


def _are_subjects(groups: Groups, typed: Sequence[str], slots: Longs) -> Mask | None:
    """Whether the speaker or the entity of each of these slots is named; None if none is."""
    columns = groups.columns
    query_words = frozenset(word for text in typed for word in analysis.list_words(text))
    named: Mask | None = None
    for known, codes, count in (
        (groups.speakers, columns.speaker, len(columns.speakers)),
        (groups.entities, columns.entity, len(columns.entities)),
    ):
        if known.keys().isdisjoint(query_words):
            continue
        names = (name for word in query_words for name in known.get(word, ()))
        found = [code for parts, code in names if query_words.issuperset(parts)]
        if found:
            these = to_mask(found, count).take(codes.take(slots))
            named = these if named is None else named | these
    return named
