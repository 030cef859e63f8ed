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
        if sum(len(term.parts) for term in words) > 1 and not any(map(has_just_begun, words)):
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
        ends: list[int] = []
        held: list[int] = []
        pieces = []
        for at, memory in enumerate((slots - segment.first).tolist()):
            if 0 <= memory < segment.count:
                start, end = int(segment.starts[memory]), int(segment.starts[memory + 1])
                if end - start <= left:
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
    for each in places:
        last = each.searchsorted(ends, side="right") - 1
        earliest = np.minimum(earliest, np.where(last < 0, -1, each.take(last)))
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
