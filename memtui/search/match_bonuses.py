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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from memtui.search import analysis
from memtui.search.array_types import Doubles, Floats, Ints, Longs, Mask
from memtui.search.date_matches import DateHits
from memtui.search.hits import AddedScore
from memtui.search.literals import LiteralSearch
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

    asked: QueryTerms
    segments: Sequence[Segment]
    literals: LiteralSearch | None = None
    dates: DateHits | None = None

    def losses(self, slots: Longs) -> Floats:
        """The share of its text score that each memory would lose for its length."""
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
        words = [term for term in (*self.asked.wanted, *self.asked.required) if term.parts]
        several = sum(len(term.parts) for term in words) > 1
        return words if several and not any(map(has_just_begun, words)) else ()

    @property
    def may_add(self) -> bool:
        """Whether `added` has something to look for."""
        typed = self.literals is not None and bool(self.asked.typed)
        return typed or self.dates is not None or bool(self._passage_words)

    def added(
        self, slots: Longs, text: Floats, losses: Floats, when: Doubles
    ) -> tuple[AddedScore, ...]:
        """The other parts, for matches with all words: their text scores, losses and times.

        Only the best are read; of equal ones the newest, as they are shown.
        """
        found: list[AddedScore] = []
        if self._passage_words:
            found += self._passages(slots, text, losses, when)
        if self.literals is not None and (typed := self.asked.typed):
            best = best_positions(text - losses * text, when, MAX_READ)
            found += _as_typed(typed, slots.take(best), text.take(best), self.literals)
        if self.dates is not None:
            written = slots[np.isin(slots, self.dates.written)]
            worth = np.full(len(written), WRITTEN_DATE_WEIGHT, np.float32)
            worth[np.isin(written, self.dates.titled)] *= 2
            found.append(AddedScore("date written", written, worth))
        return tuple(found)

    def _passages(
        self, slots: Longs, text: Floats, losses: Floats, when: Doubles
    ) -> list[AddedScore]:
        long = (losses > _PASSAGE_LOSS).nonzero()[0]
        if not len(long):
            return []
        long = long[best_positions(text.take(long), when.take(long), MAX_PASSAGES)]
        widths = _passage_widths(self.segments, slots[long], self._passage_words)
        there = widths <= PASSAGE_WORDS
        at = long[there]
        if not len(at):
            return []
        won = losses[at] - _loss(np.maximum(widths[there], LENGTH_WORDS))
        return [AddedScore("passage", slots[at], won * text[at])]


def _loss(words: Floats | np.float32) -> Floats:
    """The share of the text score that a memory of this many words loses."""
    lost: Floats = np.float32(LENGTH_WEIGHT) * np.log2(1 + words / np.float32(LENGTH_WORDS))
    return lost


_PASSAGE_LOSS = _loss(np.float32(PASSAGE_WORDS))


def _as_typed(
    typed: Sequence[str], slots: Longs, text: Floats, literals: LiteralSearch
) -> list[AddedScore]:
    shares = np.zeros(len(slots), np.float32)
    for piece in typed:
        kept = literals.filter(slots, piece, is_prefix=True)
        shares[np.isin(slots, kept)] += np.float32(1 / len(typed))
    at = np.flatnonzero(shares)
    if not len(at):
        return []
    return [AddedScore("as typed", slots[at], AS_TYPED_WEIGHT * shares[at] * text[at])]


def _passage_widths(
    segments: Sequence[Segment], slots: Longs, terms: Sequence[QueryTerm]
) -> Floats:
    """For each slot the words from first to last of the narrowest place with all terms."""
    widths = np.full(len(slots), np.inf, np.float32)
    left = MAX_PASSAGE_TOKENS
    for segment in segments:
        ends: list[int] = []
        held: list[int] = []
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
                held.append(at)
                ends.append(end - start + (ends[-1] if ends else 0))
        if held:
            found = _narrowest(np.concatenate(pieces), np.array([0, *ends]), segment, terms)
            widths[held] = found
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
    found = np.zeros(len(tokens), np.bool_)
    for form in forms:
        found |= tokens == form
    return found
