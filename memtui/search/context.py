"""Score a memory by what stands around it: its session, the memories beside it, its day.

Memories of one session, branch, day, folder or entity (`memtui.search.columns.find_context`) are a
**group**; in it they are in order of time and place in the file, so that a changed memory keeps its
neighbours. The parts, each 0..1 before its weight (`memtui.search.ranking.Weights`):

    session     BM25 of all texts of the group as one, with the rarity of words among groups
    window      BM25 of the memory and the two before and after it as one
    neighbours  the better text score of the memory before and the one after
    subject     its speaker or its entity is named in the query
    date        a date of the query is its date, or shortly before it
    time words  the query asks when, and its text has words of time
    asks        its text only asks

A memory with none of the words may be found by what stands around it: see `find_joining`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import numpy as np

from memtui.model import KINDS
from memtui.search import analysis, hits
from memtui.search.array_types import Doubles, Floats, Ints, Longs, Mask
from memtui.search.columns import DAY_SECONDS, Columns
from memtui.search.hits import Match, ScoredTerm
from memtui.search.named_dates import Span, find_dates
from memtui.search.postings import Segment

K1 = 1.2
"""BM25's saturation of repeated words, as in `memtui.search.matching`."""
REACH = 2
"""Memories before and after that a window has."""
KINDS_IN_GROUPS = frozenset(KINDS)
"""The kinds that take part."""
MIN_TERMS = 2
"""Terms from which groups are scored: one word says nothing about a session that it does not say
about its memories."""
MIN_TERMS_TO_JOIN = 3
MIN_TERMS_AROUND = 2
MAX_JOINED = 100
"""Terms of a query, terms that a window must have, and memories that may join."""
DATE_DECAY_DAYS = 7.0
"""A date fades with each of these days between its end and the memory, to 1/e: people tell on
Sunday what they did on Saturday. A memory before the date fades four times as fast."""

_TIME_WORDS = """
    ago yesterday today tomorrow tonight week weeks weekend weekends month months year years day
    days monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december last next since recently summer winter
    spring autumn fall morning evening afternoon night
"""
TIME_WORDS = tuple(sorted(_TIME_WORDS.split()))
_ASK_WHEN = frozenset({"when", "since"})


class ContextWeights(Protocol):
    """The weights of the parts; see `memtui.search.ranking.Weights`."""

    @property
    def session(self) -> float: ...
    @property
    def window(self) -> float: ...
    @property
    def neighbours(self) -> float: ...
    @property
    def subject(self) -> float: ...
    @property
    def date(self) -> float: ...
    @property
    def time_words(self) -> float: ...
    @property
    def asks(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Groups:
    """The living memories that take part, group by group, each group in its own order."""

    columns: Columns
    """Of which slots."""
    order: Longs
    """The slot at each position."""
    place: Ints
    """The position of each slot; -1 if it does not take part."""
    group: Ints
    """The group at each position, ascending from 0."""
    count: int
    """How many groups there are."""


_last_groups: Groups | None = None
"""Of the last columns; assigned as a whole, so any thread may read it."""


def find_groups(columns: Columns) -> Groups:
    """The groups of these columns, computed once for columns that are asked again."""
    global _last_groups
    last = _last_groups
    if last is None or last.columns is not columns:
        last = _last_groups = _find_groups(columns)
    return last


def _find_groups(columns: Columns) -> Groups:
    joins = np.array([kind in KINDS_IN_GROUPS for kind in KINDS])[columns.kind]
    slots = np.flatnonzero(joins & columns.alive)
    key = columns.context[slots].astype(np.int64) * (len(columns.stores) + 1) + columns.store[slots]
    created = np.nan_to_num(columns.created[slots], nan=np.inf)
    ordered = np.lexsort((columns.position[slots], created, key))
    order, key = slots[ordered], key[ordered]
    begins = np.ones(len(key), np.bool_)
    begins[1:] = key[1:] != key[:-1]
    group = np.cumsum(begins, dtype=np.int32) - np.int32(1)
    place = np.full(len(columns), -1, np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return Groups(columns, order, place, group, int(begins.sum()))


def asks_when(words: Iterable[str]) -> bool:
    """Whether these words of a query ask for a time."""
    return any(word.casefold().strip("?,") in _ASK_WHEN for word in words)


def find_time_words(segments: Sequence[Segment]) -> Longs:
    """The slots with a word of time."""

    def of(segment: Segment) -> hits.TermHits:
        found = (segment.find_word(word) for word in TIME_WORDS)
        return hits.read_terms(segment, [word for word in found if word is not None])

    return hits.concat_hits(map(of, segments)).slots


@dataclass(frozen=True, slots=True)
class GroupScores:
    """The scores of groups and windows for one query, without weights."""

    session: Floats
    """Of each group; 0..1."""
    window: Floats
    """Of each position; 0..1."""
    around: Ints
    """How many of the terms the window at each position has."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a query says of the memories around its matches."""

    groups: Groups
    scores: GroupScores
    words: frozenset[str]
    """All words of the query, folded."""
    spans: tuple[Span, ...]
    """The dates that it names."""


def score_groups(terms: Sequence[ScoredTerm], groups: Groups) -> GroupScores:
    """Score groups and windows as texts."""
    size = len(groups.order)
    session, window = np.zeros(groups.count), np.zeros(size)
    around = np.zeros(size, np.int32)
    best_session = best_window = 0.0
    for term in terms:
        best_window += term.highest
        at = groups.place.take(term.hits.slots)
        held = at >= 0
        at = at[held]
        if not len(at):
            best_session += float(np.log1p(2.0 * groups.count + 1.0)) * (K1 + 1)
            continue
        # A word that is there once has a text score of highest / (K1 + 1): it counts 1.
        often = term.hits.weights[held] * ((K1 + 1) / term.highest)
        by_group = np.bincount(groups.group[at], often, groups.count)
        frequency = np.count_nonzero(by_group)
        rarity = float(np.log1p((groups.count - frequency + 0.5) / (frequency + 0.5))) * (K1 + 1)
        best_session += rarity
        session += rarity * by_group / (by_group + K1)
        by_window = _sum_windows(at, often, groups)
        here = by_window.nonzero()[0]
        times = by_window[here]
        window[here] += term.highest * times / (times + K1)
        around[here] += 1
    return GroupScores(
        (session / (best_session or 1.0)).astype(np.float32),
        (window / (best_window or 1.0)).astype(np.float32),
        around,
    )


def _sum_windows(at: Ints, often: Floats, groups: Groups) -> Doubles:
    """For each position the sum over its window."""
    near = at[:, None] + np.arange(-REACH, REACH + 1, dtype=np.int32)
    size = len(groups.order)
    inside = (near >= 0) & (near < size)
    group = groups.group[np.clip(near, 0, size - 1)]
    inside &= group == groups.group[at][:, None]
    values = np.broadcast_to(often[:, None], near.shape)
    return np.bincount(near[inside], values[inside], size).astype(np.float64, copy=False)


def add_context(
    match: Match, columns: Columns, words: Sequence[str], now: datetime, weights: ContextWeights
) -> Match:
    """Score what stands around the matches, and add memories that only this finds.

    Args:
        match: The matches by text.
        columns: The columns of all slots.
        words: The words of the query, as they were typed.
        now: What `yesterday` is counted from.
        weights: By which the best of the memories to add are chosen.

    Returns:
        The match unchanged for a query of fewer than `MIN_TERMS` terms.
    """
    if len(match.terms) < MIN_TERMS:
        return match
    groups = find_groups(columns)
    if not len(groups.order):
        return match
    text = " ".join(words)
    context = Context(
        groups,
        score_groups(match.terms, groups),
        frozenset(analysis.list_words(text)),
        find_dates(text, now),
    )
    return replace(match.with_slots(_find_joining(match, context, weights)), context=context)


def _find_joining(match: Match, context: Context, weights: ContextWeights) -> Longs:
    """Slots with none of the words whose windows have several of them."""
    if not match.is_plain or len(match.terms) < MIN_TERMS_TO_JOIN:
        return hits.NO_SLOTS
    groups, scores = context.groups, context.scores
    at = np.flatnonzero((scores.around >= MIN_TERMS_AROUND) & ~match.found[groups.order])
    if len(at) > MAX_JOINED:
        worth = weights.window * scores.window[at]
        worth += weights.session * scores.session[groups.group[at]]
        if context.spans:
            near = dates_at(groups.columns, context.spans, groups.order[at])
            worth += np.float32(weights.date) * near
        at = at[np.argsort(-worth, kind="stable")[:MAX_JOINED]]
    return groups.order[at]


def parts_at(
    match: Match, columns: Columns, slots: Longs, weights: ContextWeights
) -> dict[str, Floats]:
    """The weighted parts of the score of these slots; parts that are 0 for all may be missing."""
    parts: dict[str, Floats] = {}
    if weights.neighbours:
        groups = find_groups(columns)
        parts["neighbours"] = _neighbours_at(match, groups, slots) * np.float32(weights.neighbours)
    context = match.context
    if context is None:
        return parts
    groups, scores = context.groups, context.scores
    at = groups.place.take(slots)
    held = at >= 0
    at = np.maximum(at, 0)
    parts["session"] = np.float32(weights.session) * scores.session.take(groups.group.take(at))
    parts["window"] = np.float32(weights.window) * scores.window.take(at)
    parts["subject"] = np.float32(weights.subject) * subjects_at(columns, context.words, slots)
    parts["asks"] = np.float32(weights.asks) * columns.asks[slots]
    if len(match.time_words):
        timed = np.zeros(len(columns), np.bool_)
        timed[match.time_words] = True
        parts["time words"] = np.float32(weights.time_words) * timed[slots]
    for values in parts.values():
        values *= held
    if context.spans:
        parts["date"] = np.float32(weights.date) * dates_at(columns, context.spans, slots)
    return parts


def _neighbours_at(match: Match, groups: Groups, slots: Longs) -> Floats:
    """The better text score of the memories before and after each of these slots."""
    best = np.zeros(len(slots), np.float32)
    if not len(groups.order):
        return best
    text = match.text_by_slot
    at = groups.place.take(slots)
    held = np.flatnonzero(at >= 0)
    at = at[held]
    for step in (-1, 1):
        other = np.clip(at + step, 0, len(groups.order) - 1)
        same = (other != at) & (groups.group[other] == groups.group[at])
        value = np.where(same, text[groups.order[other]], np.float32(0))
        best[held] = np.maximum(best[held], value)
    return best


def dates_at(columns: Columns, spans: Sequence[Span], slots: Longs) -> Floats:
    """How near each of these slots is to one of the spans, 0..1."""
    near = np.zeros(len(slots), np.float32)
    created = columns.created[slots]
    when = np.where(np.isnan(created), columns.when[slots], created)
    for span in spans:
        late = np.maximum(when - span.end, 0) / (DATE_DECAY_DAYS * DAY_SECONDS)
        early = np.maximum(span.first - when, 0) / (DATE_DECAY_DAYS * DAY_SECONDS / 4)
        near = np.maximum(near, np.nan_to_num(np.exp(-late - early)))
    return near


def subjects_at(columns: Columns, words: frozenset[str], slots: Longs) -> Mask:
    """Whether the speaker or the entity of each of these slots is named by these words."""
    speakers = np.array([_is_named(name, words) for name in columns.speakers] or [False])
    entities = np.array(
        [_is_named(name.rpartition("/")[2], words) for name in columns.entities] or [False]
    )
    named: Mask = speakers[columns.speaker[slots]] | entities[columns.entity[slots]]
    return named


def _is_named(name: str, words: frozenset[str]) -> bool:
    named = analysis.list_words(name)
    return bool(named) and words.issuperset(named)
