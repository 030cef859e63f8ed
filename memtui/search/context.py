"""Score a memory by what stands around it: its session, the memories beside it, its day.

Memories of one session, branch, day, folder or entity are a **group** (`memtui.search.groups`). The
parts, each 0..1 before its weight (`memtui.search.ranking.Weights`):

    session     BM25 of all texts of the group as one, with the rarity of words among groups
    window      BM25 of the memory and the two before and after it as one
    neighbours  the better text score of the memory before and the one after
    subject     its speaker or its entity is named in the query
    date        a date of the query is its date, or shortly before it
    time words  the query asks when, and its text has words of time
    question    its text ends with a question

Only the `MAX_SCORED` best matches by text are scored, so that a keystroke over many memories costs
no more than one over few. A memory with none of the words is found too, by the words around it, if
the query has at least `MIN_TERMS_TO_JOIN` terms and its window `MIN_TERMS_AROUND` of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from memtui.search import analysis, hits
from memtui.search.array_types import Doubles, Floats, Longs, Mask
from memtui.search.columns import DAY_SECONDS, Columns
from memtui.search.groups import Context, Groups, find_groups
from memtui.search.hits import Match, ScoredTerm
from memtui.search.named_dates import Span, find_dates
from memtui.search.postings import Segment
from memtui.search.ranking import Weights

K1 = 1.2
"""BM25's saturation of repeated words, as in `memtui.search.matching`."""
REACH = 2
"""Memories before and after that a window has."""
MIN_TERMS = 2
"""Terms from which context is scored: one word says nothing about a session that it does not say
about its memories."""
MAX_SCORED = 300
MIN_TERMS_TO_JOIN = 3
MIN_TERMS_AROUND = 2
MAX_LEADS = 50
"""The best matches beside which other memories may join."""
MAX_JOINED = 100
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


def asks_when(words: Iterable[str]) -> bool:
    """Whether these words of a query ask for a time."""
    return any(word.casefold().strip("?,") in _ASK_WHEN for word in words)


def find_time_words(segments: Sequence[Segment]) -> Longs:
    """The slots with a word of time."""

    def of(segment: Segment) -> hits.TermHits:
        found = (segment.find_word(word) for word in TIME_WORDS)
        return hits.read_terms(segment, [word for word in found if word is not None])

    return hits.concat_hits(map(of, segments)).slots


def add_context(
    match: Match, columns: Columns, words: Sequence[str], now: datetime, weights: Weights
) -> Match:
    """Score what stands around the best matches, and add memories that only this finds.

    Args:
        match: The matches by text.
        columns: The columns of all slots.
        words: The words of the query, as they were typed.
        now: What `yesterday` is counted from.
        weights: The weights of the parts.

    Returns:
        The match unchanged for a query of fewer than `MIN_TERMS` terms.
    """
    if len(match.terms) < MIN_TERMS or not len(match.slots):
        return match
    groups = find_groups(columns)
    text = " ".join(words)
    spans = find_dates(text, now)
    sessions = weights.session * _score_sessions(match.terms, groups)
    worth = match.text + match.all_words
    worth += sessions.astype(np.float32)[groups.of_slot[match.slots]]
    if spans:
        worth += np.float32(weights.date) * _near_dates(columns, spans, match.slots)
    scored = _best_slots(match, worth, MAX_SCORED)
    joins = match.is_plain and len(match.terms) >= MIN_TERMS_TO_JOIN
    leads = _best_slots(match, worth, MAX_LEADS)
    beside = _find_beside(match, groups, leads) if joins else hits.NO_SLOTS
    slots = np.concatenate([scored, beside])
    near = _windows(groups, slots)
    window, around = _score_windows(match, near)
    parts = {
        "session": sessions[groups.of_slot[slots]],
        "window": weights.window * window,
        "neighbours": weights.neighbours * _best_neighbour(match, near),
        "subject": weights.subject * _are_subjects(groups, analysis.list_words(text), slots),
        "question": weights.asks * columns.asks[slots],
    }
    if spans:
        parts["date"] = weights.date * _near_dates(columns, spans, slots)
    if len(match.time_words):
        parts["time words"] = weights.time_words * np.isin(slots, match.time_words)
    total = np.sum(list(parts.values()), axis=0)
    kept = np.arange(len(scored))
    if len(beside):
        new = np.flatnonzero(around[len(scored) :] >= MIN_TERMS_AROUND) + len(scored)
        kept = np.concatenate([kept, new[np.argsort(-total[new], kind="stable")[:MAX_JOINED]]])
    kept = kept[np.argsort(slots[kept])]
    by_slot = np.zeros(match.size, np.float32)
    by_slot[slots[kept]] = total[kept]
    held = {name: values[kept].astype(np.float32) for name, values in parts.items()}
    return replace(match.with_slots(slots[kept]), context=Context(slots[kept], held, by_slot))


def _best_slots(match: Match, worth: Floats, limit: int) -> Longs:
    if len(match.slots) <= limit:
        return match.slots
    return match.slots[np.argpartition(-worth, limit)[:limit]]


def _find_beside(match: Match, groups: Groups, leads: Longs) -> Longs:
    """Slots without any of the words that stand in the windows of these."""
    near = _windows(groups, leads)
    beside = np.unique(near[near < match.size])
    return beside[~match.found[beside]]


def _windows(groups: Groups, slots: Longs) -> Longs:
    """The slots of the window of each of these slots, one row each, itself in the middle.

    Where a group ends, and for slots outside of groups, the number of all slots stands.
    """
    none = len(groups.of_slot)
    near = np.full((len(slots), 2 * REACH + 1), none, np.int64)
    near[:, REACH] = slots
    size = len(groups.order)
    place, group = groups.place[slots], groups.of_slot[slots]
    for step in range(-REACH, REACH + 1):
        if step and size:
            at = place + step
            inside = (place >= 0) & (at >= 0) & (at < size)
            np.clip(at, 0, size - 1, out=at)
            inside &= groups.group[at] == group
            near[:, REACH + step] = np.where(inside, groups.order[at], none)
    return near


def _score_windows(match: Match, near: Longs) -> tuple[Doubles, Longs]:
    """BM25 of each window, 0..1, and how many of the terms it has."""
    scores = np.zeros(len(near))
    around = np.zeros(len(near), np.int64)
    highest = sum(term.highest for term in match.terms)
    for term in match.terms:
        if len(term.hits.slots):
            often = np.zeros(match.size + 1)
            # A word that is there once has a score of highest / (K1 + 1): it counts 1.
            often[term.hits.slots] = term.hits.weights * ((K1 + 1) / term.highest)
            times = often[near].sum(axis=1)
            scores += term.highest * times / (times + K1)
            around += times > 0
    return scores / highest, around


def _score_sessions(terms: Sequence[ScoredTerm], groups: Groups) -> Doubles:
    """BM25 of each group, 0..1; a last one, 0, for memories outside of groups."""
    count = groups.count
    scores = np.zeros(count + 1)
    best = 0.0
    for term in terms:
        often = np.bincount(groups.of_slot[term.hits.slots], term.hits.weights, count + 1)
        frequency = np.count_nonzero(often[:count])
        rarity = float(np.log1p((count - frequency + 0.5) / (frequency + 0.5))) * (K1 + 1)
        best += rarity
        times = often * ((K1 + 1) / term.highest)
        scores += rarity * times / (times + K1)
    scores[count] = 0
    return scores / best


def _best_neighbour(match: Match, near: Longs) -> Floats:
    """The better text score of the memories before and after."""
    text = np.zeros(match.size + 1, np.float32)
    text[match.slots] = match.text
    best: Floats = np.maximum(text[near[:, REACH - 1]], text[near[:, REACH + 1]])
    return best


def _near_dates(columns: Columns, spans: Sequence[Span], slots: Longs) -> Doubles:
    """How near each of these slots is to one of the spans, 0..1."""
    near = np.zeros(len(slots))
    created = columns.created[slots]
    when = np.where(np.isnan(created), columns.when[slots], created)
    for span in spans:
        late = np.maximum(when - span.end, 0) / (DATE_DECAY_DAYS * DAY_SECONDS)
        early = np.maximum(span.first - when, 0) / (DATE_DECAY_DAYS * DAY_SECONDS / 4)
        near = np.maximum(near, np.nan_to_num(np.exp(-late - early)))
    return near


def _are_subjects(groups: Groups, words: Sequence[str], slots: Longs) -> Mask:
    """Whether the speaker or the entity of each of these slots is named by these words."""
    columns = groups.columns
    asked = frozenset(words)
    named = np.zeros(len(slots), np.bool_)
    for known, codes in ((groups.speakers, columns.speaker), (groups.entities, columns.entity)):
        names = (name for word in asked for name in known.get(word, ()))
        found = [code for parts, code in names if asked.issuperset(parts)]
        if found:
            named |= np.isin(codes[slots], found)
    return named
