"""Score a memory by its context: its session, the memories beside it, its date.

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
the query has at least `MIN_TERMS_TO_JOIN` terms, not counting one that is still being typed, and
its window `MIN_TERMS_AROUND` of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np

from memtui.search import analysis, hits
from memtui.search.array_types import Floats, Ints, Longs, Mask
from memtui.search.columns import DAY_SECONDS, Columns
from memtui.search.date_matches import Span, find_dates
from memtui.search.groups import REACH, Context, Groups, find_groups
from memtui.search.hits import Match, ScoredTerm
from memtui.search.postings import Segment
from memtui.search.ranking import Weights

K1 = 1.2
"""BM25's saturation of repeated words, as in `memtui.search.matching`."""
MIN_TERMS = 2
"""Terms from which context is scored: one word says nothing about a session that it does not say
about its memories."""
MAX_SCORED = 100
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
    """The slots with a word that tells a time, see `TIME_WORDS`."""

    def of(segment: Segment) -> hits.TermHits:
        found = (segment.find_word(word) for word in TIME_WORDS)
        return hits.read_terms(segment, [word for word in found if word is not None])

    return hits.concat_hits(map(of, segments)).slots


def add_context(
    match: Match,
    columns: Columns,
    words: Sequence[str],
    now: datetime,
    weights: Weights,
    at: Longs | None = None,
) -> Match:
    """Score the context of the best matches, and add memories that only their context finds.

    Args:
        match: The matches by text.
        columns: The columns of all slots.
        words: The words of the query, as they were typed.
        now: What `yesterday` is counted from.
        weights: The weights of the parts.
        at: Positions in `match.slots` of the matches that are shown; None: all.

    Returns:
        The match unchanged for a query of fewer than `MIN_TERMS` terms.
    """
    if len(match.terms) < MIN_TERMS or not len(match.slots):
        return match
    groups = find_groups(columns)
    spans = find_dates(" ".join(words), now)
    by_session = _score_sessions(match.terms, groups, weights.session)
    shown, worth, all_words = match.slots, match.text, match.all_words
    if at is not None and len(at) < len(shown):
        shown, worth, all_words = shown.take(at), worth.take(at), all_words.take(at)
    worth = by_session.take(groups.of_slot.take(shown)) + worth
    worth += all_words
    if spans:
        worth += np.float32(weights.date) * _near_dates(columns, spans, shown)
    best = _find_best(worth, MAX_SCORED)
    slots = shown.take(best)
    count, found = len(slots), len(match.slots)
    near = groups.windows.take(slots, axis=0).T
    if match.is_plain and _count_whole(match.terms) >= MIN_TERMS_TO_JOIN:
        leads = near.take(_find_best(worth.take(best), MAX_LEADS), axis=1)
        if len(beside := _find_beside(match, leads)):
            slots = np.concatenate([slots, beside])
            near = np.concatenate([near, groups.windows.take(beside, axis=0).T], axis=1)
    window, around = _score_windows(match, near, count)
    window *= np.float32(weights.window)
    parts: dict[str, Floats] = {
        "session": by_session.take(groups.of_slot.take(slots)),
        "window": window,
        "neighbours": _best_neighbour(match, near) * np.float32(weights.neighbours),
    }
    for name, weight, values in (
        ("question", weights.asks, columns.asks.take(slots) if groups.has_questions else None),
        ("subject", weights.subject, _are_subjects(groups, words, slots)),
        ("date", weights.date, _near_dates(columns, spans, slots) if spans else None),
        ("time words", weights.time_words, _have_time_words(match, slots)),
    ):
        if values is not None:
            parts[name] = values * np.float32(weight)
    total = parts["session"] + window
    for name in tuple(parts)[2:]:
        total += parts[name]
    if len(slots) > count:
        new = (around >= MIN_TERMS_AROUND).nonzero()[0] + count
        if len(new) > MAX_JOINED:
            new = new[np.argsort(-total[new], kind="stable")[:MAX_JOINED]]
        positions = np.concatenate([np.arange(count), new])
        slots, total = slots.take(positions), total.take(positions)
        parts = {name: values.take(positions) for name, values in parts.items()}
        match = match.with_fresh_slots(slots[count:])
    scored_positions = best if at is None else at.take(best)
    match_positions = np.concatenate([scored_positions, np.arange(found, len(match.slots))])
    return match.changed(context=Context(slots, match_positions, parts, total))


def _count_whole(terms: Sequence[ScoredTerm]) -> int:
    """How many of the terms are not still being typed."""
    return sum(not term.is_open for term in terms)


def _find_best(worth: Floats, limit: int) -> Longs:
    """The positions of the highest values; of equal ones as many again, for texts of one session
    often are equal (on LoCoMo recall@10 falls from .799 to .781 if some of them are left out)."""
    first = len(worth) - limit
    if first <= 0:
        return np.arange(len(worth))
    ordered = worth.copy()
    ordered.partition(first)
    found: Longs = (worth >= ordered[first]).nonzero()[0]
    return found[: 2 * limit]


def _find_beside(match: Match, near: Ints) -> Longs:
    """Slots that do not match and stand in these windows."""
    near = near[near < match.size]  # no slot where a group ends
    beside = near[~match.found.take(near)].astype(np.int64)
    beside.sort()
    first = np.ones(len(beside), np.bool_)
    np.not_equal(beside[1:], beside[:-1], out=first[1:])
    return beside[first]


def _score_windows(match: Match, near: Ints, first: int) -> tuple[Floats, Ints]:
    """BM25 of each window, 0..1; how many terms each window from the first on has."""
    often = np.zeros(match.size + 1, np.float32)
    scores = np.zeros(near.shape[1], np.float32)
    around = np.zeros(near.shape[1] - first, np.int32)
    whole = sum(term.highest for term in match.terms)
    for term in match.terms:
        if len(term.hits.slots):
            often[term.hits.slots] = term.hits.weights
            times = often.take(near).sum(axis=0)
            often[term.hits.slots] = 0
            if len(around):
                around += times[first:] > 0
            saturated = times + np.float32(_half(term))
            np.divide(times, saturated, out=saturated)
            saturated *= np.float32(term.highest / whole)
            scores += saturated
    return scores, around


def _score_sessions(terms: Sequence[ScoredTerm], groups: Groups, weight: float) -> Floats:
    """BM25 of each group, 0..`weight`; a last one, 0, for memories outside of groups."""
    count = groups.count
    scores: Floats | None = None
    whole = 0.0
    for term in terms:
        saturated, rarity = term.cache.get(groups) or _score_session(term, groups)
        whole += rarity
        weighted = saturated * np.float32(rarity)
        scores = weighted if scores is None else np.add(scores, weighted, out=scores)
    if scores is None:
        return np.zeros(count + 1, np.float32)
    scores *= np.float32(weight / whole)
    return scores


def _score_session(term: ScoredTerm, groups: Groups) -> tuple[Floats, float]:
    """How often each group has the term, saturated; the rarity of the term among groups."""
    of = groups.of_slot.take(term.hits.slots)
    times = np.bincount(of, term.hits.weights, groups.count + 1).astype(np.float32)
    times[groups.count] = 0
    holders = int(np.count_nonzero(times))
    rarity = math.log1p((groups.count - holders + 0.5) / (holders + 0.5))
    times /= times + np.float32(_half(term))
    term.cache.clear()  # of other columns
    term.cache[groups] = times, rarity
    return times, rarity


def _half(term: ScoredTerm) -> float:
    """K1 times the score of a single occurrence: the value at which saturation reaches one half."""
    return K1 * term.highest / (K1 + 1)


def _best_neighbour(match: Match, near: Ints) -> Floats:
    """The better text score of the memories before and after."""
    text = match.text_by_slot
    best: Floats = np.maximum(text.take(near[REACH - 1]), text.take(near[REACH + 1]))
    return best


def _have_time_words(match: Match, slots: Longs) -> Mask | None:
    """Whether each of these slots has one of `TIME_WORDS`; None if the query does not ask when."""
    return np.isin(slots, match.time_words) if len(match.time_words) else None


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
            is_named = np.zeros(count, np.bool_)
            is_named[found] = True
            these = is_named.take(codes.take(slots))
            named = these if named is None else named | these
    return named
