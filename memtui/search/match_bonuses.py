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
from typing import NamedTuple

import numpy as np

from memtui.search import analysis
from memtui.search.array_types import Doubles, Floats, Ints, Longs, Mask
from memtui.search.date_matches import DateHits
from memtui.search.hits import AddedScore
from memtui.search.literals import LiteralSearch, in_range, word_ranges
from memtui.search.ordering import best_positions
from memtui.search.postings import LENGTH_WORDS, Segment
from memtui.search.query_terms import QueryTerm, QueryTerms, has_just_begun

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


class MatchBonuses(NamedTuple):
    """The parts of the score for the matches of one query; see `memtui.search.hits.Bonuses`."""

    query_terms: QueryTerms
    segments: Sequence[Segment]
    literals: LiteralSearch | None = None
    dates: DateHits | None = None

    def _losses(self, slots: Longs) -> Floats:
        """The share of its text score that each memory loses for its length."""
        if len(self.segments) == 1 and self.segments[0].first == 0:
            lost = self.segments[0].lengths.take(slots, mode="clip")
        else:
            lost = np.zeros(len(slots), np.float32)
            for segment in self.segments:
                inside = (slots >= segment.first) & (slots < segment.first + segment.count)
                lost[inside] = segment.lengths[slots[inside] - segment.first]
        lost *= np.float32(LENGTH_WEIGHT)
        return lost

    def _passage_words(self) -> Sequence[QueryTerm]:
        """The terms that may stand within one passage; () if there are not several words."""
        terms = (*self.query_terms.optional, *self.query_terms.required)
        several = sum(len(term.parts) for term in terms) > 1
        if not several or any(map(has_just_begun, terms)):
            return ()
        return [term for term in terms if term.parts]

    def added(self, slots: Longs, text: Floats, when: Doubles) -> list[AddedScore]:
        """The parts for matches with all words; their positions are those in `slots`.

        Only the best are read; of equal ones the newest, as they are shown.

        Args:
            slots: The slots of the matches.
            text: Their text scores.
            when: The times of all slots.
        """
        losses = self._losses(slots)
        lost = text * losses
        most = LENGTH_WEIGHT * max(segment.longest for segment in self.segments)
        found = [AddedScore("length", slice(None), -lost, -most, 0.0)]
        long = (losses > _PASSAGE_LOSS).nonzero()[0]
        if len(long) and (terms := self._passage_words()):
            long = best_positions(text, slots, when, MAX_PASSAGES, long)
            widths = _passage_widths(self.segments, slots.take(long), terms)
            if len(narrow := (widths <= PASSAGE_WORDS).nonzero()[0]):
                at = long.take(narrow)
                won = losses.take(at) - _loss(np.maximum(widths.take(narrow), LENGTH_WORDS))
                won *= text.take(at)
                found.append(AddedScore("passage", at, won, 0.0, float(won.max())))
        if self.literals is not None and (typed := self.query_terms.typed):
            best = np.arange(len(slots))
            if len(slots) > MAX_READ:
                best = best_positions(text - lost, slots, when, MAX_READ)
            shares = _as_typed(typed, slots.take(best), self.literals, self.segments)
            if len(positive := shares.nonzero()[0]):
                at = best.take(positive)
                worth = AS_TYPED_WEIGHT * shares.take(positive) * text.take(at)
                found.append(AddedScore("as typed", at, worth, 0.0, AS_TYPED_WEIGHT))
        if self.dates is not None:
            at = np.isin(slots, self.dates.written).nonzero()[0]
            worth = np.full(len(at), WRITTEN_DATE_WEIGHT, np.float32)
            worth[np.isin(slots.take(at), self.dates.titled)] *= 2
            most = 2 * WRITTEN_DATE_WEIGHT
            found.append(AddedScore("date written", at, worth, 0.0, most))
        return found


def _loss(words: Floats | np.float32) -> Floats:
    """The share of the text score that a memory of this many words loses."""
    lost: Floats = np.float32(LENGTH_WEIGHT) * np.log2(1 + words / np.float32(LENGTH_WORDS))
    return lost


NO_WORD = -2
"""The number of no token."""
_NONE = np.array([-1])
_PASSAGE_LOSS = _loss(np.float32(PASSAGE_WORDS))


def _as_typed(
    typed: Sequence[str], slots: Longs, literals: LiteralSearch, segments: Sequence[Segment]
) -> Floats:
    """The share of these texts that stand in each of the slots as they were typed."""
    may_hold = np.zeros(len(slots), np.bool_)
    for text in typed:
        may_hold |= _may_hold(segments, slots, text)
    shares = np.zeros(len(slots), np.float32)
    if len(read := may_hold.nonzero()[0]):
        shares[read] = literals.has_begun(slots.take(read), typed).sum(axis=0) / len(typed)
    return shares


# Most letters leave the last word the same completions, and so the best memories the same: what was
# read of them is kept for the next letter. Assigned as a whole, so any thread may read it.
_last_may_hold: tuple[object, Mask] = (None, np.zeros(0, np.bool_))
_last_widths: tuple[object, Floats] = (None, np.zeros(0, np.float32))


def _may_hold(segments: Sequence[Segment], slots: Longs, text: str) -> Mask:
    """Whether each of these slots may hold a text as it was typed, as far as the index knows.

    Plain words must follow each other. A word that a memory has, but not as a token, is part of
    what is written together there (`leaseQueue`), which only the text itself can tell.
    """
    global _last_may_hold
    words = analysis.fold_text(text).split()
    letters = "".join(words)
    is_plain = letters.isascii() and letters.isalpha()
    if len(words) < 2 or not is_plain or max(map(len, words)) > analysis.MAX_WORD_CHARS:
        return np.ones(len(slots), np.bool_)
    all_ranges = [word_ranges(segment, words, last_is_prefix=True) for segment in segments]
    key = (segments, slots.tolist(), all_ranges)
    known, may = _last_may_hold
    if known == key:
        return may
    may = np.zeros(len(slots), np.bool_)
    for segment, ranges in zip(segments, all_ranges, strict=True):
        if ranges is None:
            continue
        at, tokens, starts = _read_tokens(segment, slots)
        if not len(at):
            continue
        # One mask a word: as rows of one array they take three times as long on long notes.
        masks = [in_range(tokens, *each) for each in ranges]
        follows = masks[0].copy()
        for step, mask in enumerate(masks[1:], 1):
            follows[:-step] &= mask[step:]
        may[at] = np.logical_or.reduceat(follows, starts)
        for (low, high), mask in zip(ranges, masks, strict=True):
            lacking = at.take((~np.logical_or.reduceat(mask, starts)).nonzero()[0])
            ids = segment.ids[segment.indptr[low] : segment.indptr[high]]
            for number in lacking.tolist():
                may[number] |= bool((ids == slots[number] - segment.first).any())
    _last_may_hold = key, may
    return may


def _read_tokens(
    segment: Segment, slots: Longs, most: float = math.inf
) -> tuple[Longs, Ints, Longs]:
    """Read memories, as long as their tokens are no more than `most`.

    Returns:
        The positions of these memories in `slots`, their tokens, and where in these each begins.
    """
    memories = slots - segment.first
    at = (memories.view(np.uint64) < segment.count).nonzero()[0]  # those below 0 are huge
    memories = memories.take(at)
    begins = segment.starts.take(memories)
    lengths = segment.starts.take(memories + 1) - begins
    starts = np.add.accumulate(lengths)
    if len(at) and starts[-1] > most:
        chosen = []
        for number, length in enumerate(lengths.tolist()):
            if length <= most:
                most -= length
                chosen.append(number)
        at, begins, lengths = at[chosen], begins[chosen], lengths[chosen]
        starts = np.add.accumulate(lengths)
    if not len(at):
        return at, segment.stream[:0], starts
    stream = segment.stream
    ends = (begins + lengths).tolist()
    pieces = [stream[begin:end] for begin, end in zip(begins.tolist(), ends, strict=True)]
    return at, np.concatenate(pieces), starts - lengths


def _passage_widths(
    segments: Sequence[Segment], slots: Longs, terms: Sequence[QueryTerm]
) -> Floats:
    """For each slot the words from first to last of the narrowest place with all terms."""
    global _last_widths
    looked_up = [
        [each.terms.prefix_range(term.parts[0]) for each in segments]
        if term.last_is_prefix and len(term.parts) == 1
        else term[1:]
        for term in terms
    ]
    key = (segments, slots.tolist(), looked_up)
    known, widths = _last_widths
    if known == key:
        return widths
    widths = np.full(len(slots), np.inf, np.float32)
    left = MAX_PASSAGE_TOKENS
    for segment in segments:
        at, tokens, starts = _read_tokens(segment, slots, left)
        if len(at):
            widths[at] = _narrowest(tokens, starts, segment, terms)
            left -= len(tokens)
    _last_widths = key, widths
    return widths


def _narrowest(tokens: Ints, starts: Longs, segment: Segment, terms: Sequence[QueryTerm]) -> Floats:
    """For each text, from one start to the next, the words of its narrowest place with all."""
    widths = np.full(len(starts), np.inf, np.float32)
    places = [
        _holds(tokens, segment, part, term).nonzero()[0] for term in terms for part in term.parts
    ]
    if not all(map(len, places)):
        return widths
    ends = np.concatenate(places)
    earliest = ends
    for each in places:  # -1: none before
        last = np.concatenate([_NONE, each]).take(each.searchsorted(ends, side="right"))
        earliest = np.minimum(earliest, last)
    text = starts.searchsorted(ends, side="right") - 1
    inside = earliest >= starts.take(text)
    np.minimum.at(widths, text[inside], (ends - earliest + 1)[inside].astype(np.float32))
    return widths


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
