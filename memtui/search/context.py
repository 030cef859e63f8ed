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
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import numpy as np

from memtui.search import analysis, hits
from memtui.search.array_types import Floats, Ints, Longs, Mask, sort_unique, to_mask
from memtui.search.columns import DAY_SECONDS, Columns
from memtui.search.date_matches import Span, find_dates
from memtui.search.groups import REACH, Context, Groups, find_groups
from memtui.search.hits import Match, ScoredTerm
from memtui.search.matching import K1
from memtui.search.ordering import positions_of_highest
from memtui.search.postings import Segment
from memtui.search.ranking import Weights

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
    return not _ASK_WHEN.isdisjoint([word.casefold().strip("?,") for word in words])


def find_time_words(segments: Sequence[Segment]) -> Longs:
    """The slots with a word that tells a time, see `TIME_WORDS`."""
    return hits.concat_hits(hits.read_words(each, TIME_WORDS) for each in segments).slots


def add_context(
    shown: Match,
    whole: Match,
    columns: Columns,
    words: Sequence[str],
    now: datetime,
    weights: Weights,
    admit: Callable[[Longs], Mask],
) -> Match:
    """Score the context of the best matches, and add memories that only their context finds.

    Args:
        shown: The matches by text that pass the filters.
        whole: All matches by text.
        columns: The columns of all slots.
        words: The words of the query, as they were typed.
        now: What `yesterday` is counted from.
        weights: The weights of the parts.
        admit: Says which of the slots that are added pass the filters.

    Returns:
        `shown` unchanged for a query of fewer than `MIN_TERMS` terms.
    """
    terms, found = shown.terms, len(shown.slots)
    if len(terms) < MIN_TERMS or not len(whole.slots):
        return shown
    groups = find_groups(columns)
    spans = find_dates(" ".join(words), now)
    by_session = _score_sessions(terms, groups, weights.session)
    session = by_session.take(groups.of_slot.take(shown.slots))
    worth = session + shown.text
    worth += shown.all_words
    if spans:
        worth += np.float32(weights.date) * _near_dates(columns, spans, shown.slots)
    at = _find_best(worth, MAX_SCORED)
    slots, session = shown.slots.take(at), session.take(at)
    count = len(slots)
    near = groups.windows(slots)
    whole_terms = sum(not term.is_open for term in terms)
    if shown.is_plain and whole_terms >= MIN_TERMS_TO_JOIN:
        leads = near.take(_find_best(worth.take(at), MAX_LEADS), axis=1)
        if len(beside := _find_beside(whole, leads)):
            slots = np.concatenate([slots, beside])
            session = np.concatenate([session, by_session.take(groups.of_slot.take(beside))])
            near = np.concatenate([near, groups.windows(beside)], axis=1)
    window, around = _score_windows(terms, whole.size, near, count)
    window *= np.float32(weights.window)
    text = whole.text_by_slot
    neighbours = np.maximum(text.take(near[REACH - 1]), text.take(near[REACH + 1]))
    neighbours *= np.float32(weights.neighbours)
    parts: dict[str, Floats] = {"session": session, "window": window, "neighbours": neighbours}
    total = session + window
    total += neighbours
    for name, weight, values in (
        ("question", weights.asks, columns.asks.take(slots) if groups.has_questions else None),
        ("subject", weights.subject, _are_subjects(groups, words, slots)),
        ("date", weights.date, _near_dates(columns, spans, slots) if spans else None),
        ("time words", weights.time_words, _have_time_words(shown, slots)),
    ):
        if values is not None:
            parts[name] = values * np.float32(weight)
            total += parts[name]
    if len(slots) > count:
        new = (around >= MIN_TERMS_AROUND).nonzero()[0] + count
        if len(new) > MAX_JOINED:
            new = new[np.argsort(-total[new], kind="stable")[:MAX_JOINED]]
        if len(new):
            new = new[admit(slots.take(new))]
        positions = np.concatenate([np.arange(count), new])
        slots, total = slots.take(positions), total.take(positions)
        parts = {name: values.take(positions) for name, values in parts.items()}
        shown = shown.with_fresh_slots(slots[count:])
        at = np.concatenate([at, np.arange(found, len(shown.slots))])
    return shown.changed(context=Context(slots, at, parts, total))


def _find_best(worth: Floats, limit: int) -> Longs:
    """The positions of the highest values; of equal ones as many again, for texts of one session
    often are equal (on LoCoMo recall@10 falls from .799 to .781 if some of them are left out)."""
    return positions_of_highest(worth, limit)[: 2 * limit]


def _find_beside(match: Match, near: Ints) -> Longs:
    """Slots that do not match and stand in these windows."""
    near = near[near < match.size]  # no slot where a group ends
    return sort_unique(near[~match.found.take(near)].astype(np.int64))


def _score_windows(
    terms: Sequence[ScoredTerm], size: int, near: Ints, first: int
) -> tuple[Floats, Ints]:
    """BM25 of each window, 0..1; how many terms each window from the first on has."""
    scores = np.zeros(near.shape[1], np.float32)
    around = np.zeros(near.shape[1] - first, np.int32)
    whole = sum([term.highest for term in terms])
    for term in terms:
        if len(term.hits.slots):
            times = np.add.reduce(term.by_slot(size).take(near), axis=0)
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
        known = term.cache.get("session")
        if known is None or known[0] is not groups:
            known = term.cache["session"] = _score_session(term, groups)
        _, saturated, rarity = known
        whole += rarity
        weighted = saturated * np.float32(rarity)
        scores = weighted if scores is None else np.add(scores, weighted, out=scores)
    if scores is None:
        return np.zeros(count + 1, np.float32)
    scores *= np.float32(weight / whole)
    return scores


def _score_session(term: ScoredTerm, groups: Groups) -> tuple[Groups, Floats, float]:
    """How often each of the groups has the term, saturated; its rarity among groups."""
    of = groups.of_slot.take(term.hits.slots)
    times = np.bincount(of, term.hits.weights, groups.count + 1).astype(np.float32)
    times[groups.count] = 0
    holders = int(np.count_nonzero(times))
    rarity = math.log1p((groups.count - holders + 0.5) / (holders + 0.5))
    times /= times + np.float32(_half(term))
    return groups, times, rarity


def _half(term: ScoredTerm) -> float:
    """K1 times the score of a single occurrence: the value at which saturation reaches one half."""
    return K1 * term.highest / (K1 + 1)


def _have_time_words(match: Match, slots: Longs) -> Mask | None:
    """Whether each of these slots has one of `TIME_WORDS`; None if the query does not ask when."""
    if not len(match.time_words):
        return None
    return to_mask(match.time_words, match.size).take(slots)


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
