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
from dataclasses import replace

import numpy as np

from memtui.search import analysis
from memtui.search.array_types import Floats, Ints, Longs
from memtui.search.date_matches import DateHits
from memtui.search.hits import AddedScore, Match
from memtui.search.literals import LiteralSearch
from memtui.search.postings import Segment
from memtui.search.query_terms import QueryTerm, QueryTerms

LENGTH_WEIGHT = 0.2
LENGTH_WORDS = 8.0
"""The weight and the words of `length`, as measured."""
PASSAGE_WORDS = 40
"""Words from the first to the last of the query's words that are one passage: a paragraph."""
MAX_PASSAGE_TOKENS = 60_000
"""Words of texts that are searched for passages; the best texts first. Two milliseconds."""
AS_TYPED_WEIGHT = 0.5
"""Of the text score. Half as much as the text: more than any length takes from a short note."""
WRITTEN_DATE_WEIGHT = 0.3
"""For a date of the query that stands in the text: a little more than for one that is only the time
of the memory (`Weights.date`, .2); twice as much where it is the title, as of a daily note."""
MAX_READ = 64
"""Memories whose texts are read for what stands as typed; the best ones."""


def add_bonuses(
    match: Match,
    asked: QueryTerms,
    segments: Sequence[Segment],
    literals: LiteralSearch | None = None,
    dates: DateHits | None = None,
) -> Match:
    """Add the parts of the score to a match of words."""
    held = np.flatnonzero(match.all_words)
    if not len(held):
        return match
    slots, text = match.slots[held], match.text[held]
    lengths = _loss(_word_counts(segments, slots))
    added = [AddedScore("length", slots, -lengths * text)]
    words = [term for term in (*asked.wanted, *asked.required) if term.parts]
    if sum(len(term.parts) for term in words) > 1:
        long = np.flatnonzero(lengths > _loss(np.float32(PASSAGE_WORDS)))
        long = long[np.argsort(-text[long], kind="stable")]
        widths = _passage_widths(segments, slots[long], words)
        there = widths <= PASSAGE_WORDS
        at = long[there]
        if len(at):
            won = lengths[at] - _loss(np.maximum(widths[there], LENGTH_WORDS))
            added.append(AddedScore("passage", slots[at], won * text[at]))
    if literals is not None and asked.typed:
        added += _as_typed(asked.typed, slots, text - lengths * text, text, literals)
    if dates is not None:
        written = slots[np.isin(slots, dates.written)]
        worth = np.full(len(written), WRITTEN_DATE_WEIGHT, np.float32)
        worth[np.isin(written, dates.titled)] *= 2
        added.append(AddedScore("date written", written, worth))
    return replace(match, added=(*match.added, *added))


def _loss(words: Floats | np.float32) -> Floats:
    """The share of the text score that a memory of this many words loses."""
    lost: Floats = np.float32(LENGTH_WEIGHT) * np.log2(1 + words / np.float32(LENGTH_WORDS))
    return lost


def _word_counts(segments: Sequence[Segment], slots: Longs) -> Floats:
    counts = np.zeros(len(slots), np.float32)
    for segment in segments:
        inside = (slots >= segment.first) & (slots < segment.first + segment.count)
        counts[inside] = segment.word_counts[slots[inside] - segment.first]
    return counts


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
        fitting = int(np.searchsorted(np.cumsum(sizes), left, side="right"))
        inside, memories, sizes = inside[:fitting], memories[:fitting], sizes[:fitting]
        if not len(memories):
            continue
        left -= int(sizes.sum())
        ends = np.cumsum(sizes)
        first_of = np.repeat(ends - sizes, sizes)
        tokens = segment.stream[
            np.arange(int(ends[-1])) - first_of + np.repeat(segment.starts[memories], sizes)
        ]
        narrowest = _narrowest(tokens, segment, terms)
        narrowest[np.arange(len(tokens)) - narrowest + 1 < first_of] = np.inf
        widths[inside] = np.minimum.reduceat(narrowest, ends - sizes)
    return widths


def _narrowest(tokens: Ints, segment: Segment, terms: Sequence[QueryTerm]) -> Floats:
    """For each token the words back to where all terms have occurred; inf if they have not."""
    places = np.arange(len(tokens))
    earliest = places.copy()
    for term in terms:
        for part in term.parts:
            numbers = _word_numbers(segment, part, term)
            last_at = np.where(np.isin(tokens, numbers), places, -len(tokens) - 1)
            np.maximum.accumulate(last_at, out=last_at)
            np.minimum(earliest, last_at, out=earliest)
    found = (places - earliest + 1).astype(np.float32)
    found[earliest < 0] = np.inf
    return found


def _word_numbers(segment: Segment, part: str, term: QueryTerm) -> Ints | Longs:
    if term.last_is_prefix and part == term.parts[-1]:
        return np.arange(*segment.prefix_range(part))
    forms = segment.words_with_stem(analysis.stem(part))
    if len(forms):
        return forms
    number = segment.find_word(part)
    return np.array([] if number is None else [number], np.int64)
