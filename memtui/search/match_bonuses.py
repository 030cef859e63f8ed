"""Parts of the score that only memories with all words have: length, passage, as typed.

    length      -.2 log2(1 + words / 8) x text: among these memories a long one loses a little
    passage     gives back what the length took where all words stand within one passage
    as typed    for what stands in the text as it was typed, with its punctuation
    date written  for a date of the query that stands in the text, in any form

Sources: shared search.md, *Measured on the program*, fixes 3 to 5. `length` raises the classes
"name and attribute" and "e-mail addresses" to MRR 1.0 and costs LoCoMo .001 of recall@10; on every
hit, not only those with all words, it does harm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from memtui.search import analysis
from memtui.search.array_types import Doubles, Floats, Ints, Longs, Mask
from memtui.search.date_matches import DateHits
from memtui.search.literals import LiteralSearch
from memtui.search.matching import Match
from memtui.search.ordering import best_positions
from memtui.search.postings import LENGTH_WORDS, Segment
from memtui.search.query_terms import QueryTerm, QueryTerms, has_just_begun
from memtui.search.ranking import AddedScore

LENGTH_WEIGHT = 0.2
"""The weight of `length`, as measured (with `postings.LENGTH_WORDS`)."""
PASSAGE_WORDS = 40
"""Words from the first to the last of the query's words that are one passage: a paragraph."""
MAX_PASSAGES = 16
MAX_PASSAGE_TOKENS = 3_000
"""Long memories that are searched for passages, the best ones, and their words in all: a tenth of a
millisecond."""
AS_TYPED_WEIGHT = 1.5
"""Of the text score: more than length takes and session and subject add together."""
WRITTEN_DATE_WEIGHT = 0.3
"""For a date of the query that stands in the text: a little more than for one that is only the time
of the memory (`Weights.date`, .2); twice as much where it is the title, as of a daily note."""
MAX_READ = 16
"""Memories whose texts are read for what stands as typed; the best ones."""


def score_complete_matches(
    match: Match,
    query_terms: QueryTerms,
    segments: Sequence[Segment],
    when: Doubles,
    literals: LiteralSearch,
    dates: DateHits | None = None,
) -> list[AddedScore]:
    """The parts of the score that only matches with all words have.

    Only the best are read; of equal ones the newest, as they are shown.

    Args:
        match: The matches; if only one has all words, it is first whatever else it has.
        literals: Reads texts.
        dates: The memories with the dates of the query.
    """
    complete = match.all_words.nonzero()[0]
    if len(complete) < 2:
        return []
    slots, text = match.slots.take(complete), match.text.take(complete)
    losses = _losses(segments, slots)
    lost = text * losses
    most = LENGTH_WEIGHT * max((segment.longest for segment in segments), default=0.0)
    found = [AddedScore("length", complete, -lost, -most, 0.0)]
    long = (losses > _PASSAGE_LOSS).nonzero()[0]
    if len(long) and (terms := _passage_words(query_terms)):
        long = best_positions(text, slots, when, MAX_PASSAGES, long)
        widths = _passage_widths(segments, slots.take(long), terms)
        if len(narrow := (widths <= PASSAGE_WORDS).nonzero()[0]):
            at = long.take(narrow)
            won = losses.take(at) - _loss(np.maximum(widths.take(narrow), LENGTH_WORDS))
            won *= text.take(at)
            found.append(AddedScore("passage", complete[at], won, 0.0, float(won.max())))
    if typed := query_terms.typed:
        best = np.arange(len(slots))
        if len(slots) > MAX_READ:
            best = best_positions(text - lost, slots, when, MAX_READ)
        shares = literals.has_begun(slots.take(best), typed).sum(axis=0) / np.float32(len(typed))
        if len(positive := shares.nonzero()[0]):
            at = best.take(positive)
            worth = AS_TYPED_WEIGHT * shares.take(positive) * text.take(at)
            found.append(AddedScore("as typed", complete[at], worth, 0.0, AS_TYPED_WEIGHT))
    if dates is not None:
        at = np.isin(slots, dates.written).nonzero()[0]
        worth = np.full(len(at), WRITTEN_DATE_WEIGHT, np.float32)
        worth[np.isin(slots.take(at), dates.titled)] *= 2
        most = 2 * WRITTEN_DATE_WEIGHT
        found.append(AddedScore("date written", complete[at], worth, 0.0, most))
    return found


def _losses(segments: Sequence[Segment], slots: Longs) -> Floats:
    """The share of its text score that each memory loses for its length."""
    lost = np.zeros(len(slots), np.float32)
    for segment in segments:
        inside = (slots >= segment.first) & (slots < segment.first + segment.count)
        lost[inside] = segment.lengths[slots[inside] - segment.first]
    return lost * np.float32(LENGTH_WEIGHT)


def _passage_words(query_terms: QueryTerms) -> Sequence[QueryTerm]:
    """The terms that may stand within one passage; () if there are not several words."""
    terms = (*query_terms.optional, *query_terms.required)
    several = sum(len(term.parts) for term in terms) > 1
    if not several or any(map(has_just_begun, terms)):
        return ()
    return [term for term in terms if term.parts]


def _loss(words: Floats | np.float32) -> Floats:
    """The share of the text score that a memory of this many words loses."""
    lost: Floats = np.float32(LENGTH_WEIGHT) * np.log2(1 + words / np.float32(LENGTH_WORDS))
    return lost


NO_WORD = -2
"""The number of no token."""
_BEFORE = np.array([-np.inf])
"""The place of a word that does not stand before another."""
_PASSAGE_LOSS = _loss(np.float32(PASSAGE_WORDS))


def _passage_widths(
    segments: Sequence[Segment], slots: Longs, terms: Sequence[QueryTerm]
) -> Floats:
    """For each slot the words from first to last of the narrowest place with all terms."""
    widths = np.full(len(slots), np.inf, np.float32)
    left = MAX_PASSAGE_TOKENS
    for number, slot in enumerate(slots.tolist()):
        for segment in segments:
            memory = slot - segment.first
            if 0 <= memory < segment.count:
                tokens = segment.stream[segment.starts[memory] : segment.starts[memory + 1]]
                if len(tokens) <= left:
                    left -= len(tokens)
                    widths[number] = _narrowest(tokens, segment, terms)
    return widths


def _narrowest(tokens: Ints, segment: Segment, terms: Sequence[QueryTerm]) -> float:
    """The words from first to last of the narrowest place with all terms; infinite without one."""
    places = [
        _holds(tokens, segment, part, term).nonzero()[0] for term in terms for part in term.parts
    ]
    if not all(map(len, places)):
        return math.inf
    ends = np.concatenate(places)
    earliest = ends.astype(np.float64)
    for each in places:
        before = np.concatenate([_BEFORE, each]).take(each.searchsorted(ends, side="right"))
        earliest = np.minimum(earliest, before)
    return float((ends - earliest + 1).min())


def _holds(tokens: Ints, segment: Segment, part: str, term: QueryTerm) -> Mask:
    """Whether each token is this word, or another form or completion of it."""
    if term.last_is_prefix and part == term.parts[-1]:
        first, last = segment.terms.prefix_range(part)
        return (tokens >= first) & (tokens < last)
    forms = segment.words_with_stem(analysis.stem(part)).tolist()
    if not forms and (number := segment.find_word(part)) is not None:
        forms = [number]
    found: Mask = tokens == (forms[0] if forms else NO_WORD)
    for form in forms[1:]:
        found |= tokens == form
    return found
