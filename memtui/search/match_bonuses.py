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

import numpy as np

from memtui.search import analysis
from memtui.search.array_types import Floats, Ints, Longs, Mask
from memtui.search.date_matches import DateHits
from memtui.search.hits import AddedScore
from memtui.search.literals import LiteralSearch
from memtui.search.postings import LENGTH_WORDS, Segment
from memtui.search.query_terms import QueryTerm, QueryTerms

LENGTH_WEIGHT = 0.2
"""The weight of `length`, as measured (with `postings.LENGTH_WORDS`)."""
PASSAGE_WORDS = 40
"""Words from the first to the last of the query's words that are one passage: a paragraph."""
MAX_PASSAGES = 64
MAX_PASSAGE_TOKENS = 8_000
"""Long memories that are searched for passages, the best ones, and their words in all: a tenth of a
millisecond."""
AS_TYPED_WEIGHT = 1.5
"""Of the text score: more than length takes and session and subject add together."""
WRITTEN_DATE_WEIGHT = 0.3
"""For a date of the query that stands in the text: a little more than for one that is only the time
of the memory (`Weights.date`, .2); twice as much where it is the title, as of a daily note."""
MAX_READ = 64
"""Memories whose texts are read for what stands as typed; the best ones."""


@dataclass(frozen=True, slots=True)
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

    def added(self, slots: Longs, text: Floats, losses: Floats) -> tuple[AddedScore, ...]:
        """The other parts, for matches with all words: their text scores and losses."""
        found: list[AddedScore] = []
        asked = self.asked
        words = [term for term in (*asked.wanted, *asked.required) if term.parts]
        if sum(len(term.parts) for term in words) > 1:
            found += self._passages(slots, text, losses, words)
        if self.literals is not None and asked.typed:
            found += _as_typed(asked.typed, slots, text - losses * text, text, self.literals)
        if self.dates is not None:
            written = slots[np.isin(slots, self.dates.written)]
            worth = np.full(len(written), WRITTEN_DATE_WEIGHT, np.float32)
            worth[np.isin(written, self.dates.titled)] *= 2
            found.append(AddedScore("date written", written, worth))
        return tuple(found)

    def _passages(
        self, slots: Longs, text: Floats, losses: Floats, words: Sequence[QueryTerm]
    ) -> list[AddedScore]:
        long = np.flatnonzero(losses > _loss(np.float32(PASSAGE_WORDS)))
        if len(long) > MAX_PASSAGES:
            long = long[np.argsort(-text[long], kind="stable")[:MAX_PASSAGES]]
        if not len(long):
            return []
        widths = _passage_widths(self.segments, slots[long], words)
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


def _as_typed(
    typed: Sequence[str], slots: Longs, order: Floats, text: Floats, literals: LiteralSearch
) -> list[AddedScore]:
    best = np.argsort(-order, kind="stable")[:MAX_READ]
    shares = np.zeros(len(slots), np.float32)
    for piece in typed:
        kept = literals.filter(slots[best], piece, is_prefix=True)
        shares[best[np.isin(slots[best], kept)]] += np.float32(1 / len(typed))
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
        inside = np.flatnonzero((slots >= segment.first) & (slots < segment.first + segment.count))
        memories = slots[inside] - segment.first
        sizes = segment.starts[memories + 1] - segment.starts[memories]
        fits = sizes <= left
        fits &= np.cumsum(np.where(fits, sizes, 0)) <= left
        inside, memories, sizes = inside[fits], memories[fits], sizes[fits]
        if not len(memories):
            continue
        left -= int(sizes.sum())
        ends = np.cumsum(sizes)
        begins = ends - sizes
        places = np.arange(int(ends[-1]))
        tokens = segment.stream.take(places + np.repeat(segment.starts[memories] - begins, sizes))
        earliest = _earliest(tokens, segment, terms)
        width = (places + 1 - earliest).astype(np.float32)
        width[earliest < np.repeat(begins, sizes)] = np.inf
        widths[inside] = np.minimum.reduceat(width, begins)
    return widths


def _earliest(tokens: Ints, segment: Segment, terms: Sequence[QueryTerm]) -> Ints:
    """For each token the place back to which all terms have occurred; -1 if they have not."""
    places = np.arange(len(tokens), dtype=np.int32)
    earliest = places
    for term in terms:
        for part in term.parts:
            last_at = np.where(_holds(tokens, segment, part, term), places, np.int32(-1))
            np.maximum.accumulate(last_at, out=last_at)
            earliest = np.minimum(earliest, last_at)
    return earliest


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
