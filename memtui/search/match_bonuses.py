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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

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


@dataclass(frozen=True)
class MatchBonuses:
    """The parts of the score for the matches of one query; see `memtui.search.hits.Bonuses`."""

    query_terms: QueryTerms
    segments: Sequence[Segment]
    literals: LiteralSearch | None = None
    dates: DateHits | None = None

    def _losses(self, slots: Longs) -> Floats:
        """The share of its text score that each memory loses for its length."""
        lost = np.zeros(len(slots), np.float32)
        for segment in self.segments:
            if len(self.segments) == 1 and segment.first == 0:
                lost = segment.lengths.take(slots, mode="clip")
            else:
                inside = (slots >= segment.first) & (slots < segment.first + segment.count)
                lost[inside] = segment.lengths[slots[inside] - segment.first]
        lost *= np.float32(LENGTH_WEIGHT)
        return lost

    @cached_property
    def _passage_words(self) -> Sequence[QueryTerm]:
        """The terms that may stand within one passage; () if there are not several words."""
        words = [
            term for term in (*self.query_terms.optional, *self.query_terms.required) if term.parts
        ]
        several = sum(len(term.parts) for term in words) > 1
        return words if several and not any(map(has_just_begun, words)) else ()

    def added(
        self, at: Longs, slots: Longs, text: Floats, when: Callable[[Longs], Doubles]
    ) -> tuple[AddedScore, ...]:
        """The parts for the matches at these positions, which have all words.

        Only the best are read; of equal ones the newest, as they are shown.

        Args:
            at: Their positions in the match.
            slots: Their slots.
            text: Their text scores.
            when: The times of slots.
        """
        losses = self._losses(slots)
        lost = text * losses
        most = LENGTH_WEIGHT * max(segment.longest for segment in self.segments)
        found = [AddedScore("length", at, -lost, -most, 0.0)]
        long = (losses > _PASSAGE_LOSS).nonzero()[0]
        if len(long) and self._passage_words:
            if len(long) > 1:
                newest = when(slots.take(long))
                long = long[best_positions(text.take(long), newest, MAX_PASSAGES)]
            found += self._passages(at, slots, text, losses, long)
        if self.literals is not None and (typed := self.query_terms.typed):
            best = best_positions(text - lost, when(slots), MAX_READ)
            shares = _as_typed(typed, slots.take(best), self.literals, self.segments)
            if len(positive := shares.nonzero()[0]):
                best = best.take(positive)
                worth = AS_TYPED_WEIGHT * shares.take(positive) * text.take(best)
                found.append(AddedScore("as typed", at.take(best), worth, 0.0, AS_TYPED_WEIGHT))
        if self.dates is not None:
            written = np.isin(slots, self.dates.written).nonzero()[0]
            worth = np.full(len(written), WRITTEN_DATE_WEIGHT, np.float32)
            worth[np.isin(slots.take(written), self.dates.titled)] *= 2
            most = 2 * WRITTEN_DATE_WEIGHT
            found.append(AddedScore("date written", at.take(written), worth, 0.0, most))
        return tuple(found)

    def _passages(
        self, places: Longs, slots: Longs, text: Floats, losses: Floats, long: Longs
    ) -> list[AddedScore]:
        widths = _passage_widths(self.segments, slots[long], self._passage_words)
        is_narrow = widths <= PASSAGE_WORDS
        at = long[is_narrow]
        if not len(at):
            return []
        won = losses[at] - _loss(np.maximum(widths[is_narrow], LENGTH_WORDS))
        worth = won * text[at]
        return [AddedScore("passage", places[at], worth, 0.0, float(worth.max()))]


def _loss(words: Floats | np.float32) -> Floats:
    """The share of the text score that a memory of this many words loses."""
    lost: Floats = np.float32(LENGTH_WEIGHT) * np.log2(1 + words / np.float32(LENGTH_WORDS))
    return lost


NO_WORD = -2
"""The number of no token."""
_PASSAGE_LOSS = _loss(np.float32(PASSAGE_WORDS))


def _as_typed(
    typed: Sequence[str], slots: Longs, literals: LiteralSearch, segments: Sequence[Segment]
) -> Floats:
    """The share of these texts that stand in each of the slots as they were typed."""
    may_hold = np.array([_may_hold(segments, slots, text) for text in typed])
    read = np.flatnonzero(may_hold.any(axis=0))
    shares = np.zeros(len(slots), np.float32)
    if len(read):
        shares[read] = literals.has_begun(slots.take(read), typed).sum(axis=0) / len(typed)
    return shares


def _may_hold(segments: Sequence[Segment], slots: Longs, text: str) -> Mask:
    """Whether each of these slots may hold a text as it was typed, as far as the index knows.

    Plain words must follow each other. A word that a memory has, but not as a token, is part of
    what is written together there (`leaseQueue`), which only the text itself can tell.
    """
    words = analysis.fold_text(text).split()
    if len(words) < 2 or not all(map(_is_plain_word, words)):
        return np.ones(len(slots), np.bool_)
    may = np.zeros(len(slots), np.bool_)
    for segment in segments:
        ranges = word_ranges(segment, words, last_is_prefix=True)
        at = ((slots >= segment.first) & (slots < segment.first + segment.count)).nonzero()[0]
        if ranges is None or not len(at):
            continue
        memories = slots.take(at) - segment.first
        starts, ends = segment.starts.take(memories), segment.starts.take(memories + 1)
        pieces = map(slice, starts.tolist(), ends.tolist())
        tokens = np.concatenate([segment.stream[piece] for piece in pieces])
        bounds = np.cumsum(ends - starts)
        token_masks = [in_range(tokens, *each) for each in ranges]
        first = token_masks[0][: len(tokens) - len(words) + 1]
        for step, mask in enumerate(token_masks[1:], 1):
            first = first & mask[step : len(first) + step]
        may[at[bounds.searchsorted(first.nonzero()[0], side="right")]] = True
        for (low, high), mask in zip(ranges, token_masks, strict=True):
            has = np.zeros(len(at), np.bool_)
            has[bounds.searchsorted(mask.nonzero()[0], side="right")] = True
            if not has.all():
                other = at[~has]
                has_word = np.zeros(segment.count, np.bool_)
                has_word[segment.ids[segment.indptr[low] : segment.indptr[high]]] = True
                may[other] |= has_word.take(slots[other] - segment.first)
    return may


def _is_plain_word(word: str) -> bool:
    return analysis.is_plain(word) and word.isalpha() and len(word) <= analysis.MAX_WORD_CHARS


def _passage_widths(
    segments: Sequence[Segment], slots: Longs, terms: Sequence[QueryTerm]
) -> Floats:
    """For each slot the words from first to last of the narrowest place with all terms."""
    widths = np.full(len(slots), np.inf, np.float32)
    left = MAX_PASSAGE_TOKENS
    for segment in segments:
        ends: list[int] = []
        positions: list[int] = []
        pieces = []
        memories = slots - segment.first
        starts = segment.starts.take(memories, mode="clip").tolist()
        followed = segment.starts.take(memories + 1, mode="clip").tolist()
        for at, (memory, start, end) in enumerate(
            zip(memories.tolist(), starts, followed, strict=True)
        ):
            if 0 <= memory < segment.count and end - start <= left:
                left -= end - start
                pieces.append(segment.stream[start:end])
                positions.append(at)
                ends.append(end - start + (ends[-1] if ends else 0))
        if positions:
            found = _narrowest(np.concatenate(pieces), np.array([0, *ends]), segment, terms)
            widths[positions] = found
    return widths


def _narrowest(tokens: Ints, bounds: Longs, segment: Segment, terms: Sequence[QueryTerm]) -> Floats:
    """For each text, from one bound to the next, the words of its narrowest place with all."""
    widths = np.full(len(bounds) - 1, np.inf, np.float32)
    places = [
        _holds(tokens, segment, part, term).nonzero()[0] for term in terms for part in term.parts
    ]
    if not all(map(len, places)):
        return widths
    ends = places[0] if len(places) == 1 else np.concatenate(places)
    earliest = ends
    none = np.array([-1])
    for each in places:
        last = np.concatenate([none, each]).take(each.searchsorted(ends, side="right"))
        earliest = np.minimum(earliest, last)
    text = bounds.searchsorted(ends, side="right") - 1
    inside = earliest >= bounds.take(text)
    np.minimum.at(widths, text[inside], (ends - earliest + 1)[inside].astype(np.float32))
    return widths


def _holds(tokens: Ints, segment: Segment, part: str, term: QueryTerm) -> Mask:
    """Whether each token is this word, or another form or completion of it."""
    if term.last_is_prefix and part == term.parts[-1]:
        first, last = segment.prefix_range(part)
        return (tokens >= first) & (tokens < last)
    forms = segment.words_with_stem(analysis.stem(part)).tolist()
    if not forms and (number := segment.find_word(part)) is not None:
        forms = [number]
    found: Mask = tokens == (forms[0] if forms else NO_WORD)
    for form in forms[1:]:
        found |= tokens == form
    return found
