"""Match the terms of a query against the index and score the text of each match.

One word of several is enough; memories with all words are marked, and ranking puts them first. A
phrase is required, an excluded term must be absent. A term without letters or digits must stand
there as written; a word that no memory holds is replaced (`memtui.search.expansion`).

The text score is BM25 without length normalisation (b = 0: recall@10 on LoCoMo .581, against .548
with the textbook value, because long memories are no worse here), divided by the highest score that
these words can reach, so that it lies in 0..1 for every query.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from memtui.progress import Cancelled, IsCancelled, never
from memtui.query import TermKind
from memtui.search import analysis, expansion
from memtui.search.array_types import Floats, Longs, Mask, sort_unique, to_mask
from memtui.search.date_matches import DateHits
from memtui.search.index.segments import (
    NO_HITS,
    NO_SLOTS,
    Segment,
    TermHits,
    count_once,
    intersect_hits,
    join_hits,
    take_maximum,
)
from memtui.search.literals import LiteralSearch
from memtui.search.query_terms import QueryTerm, QueryTerms, has_just_begun, join_neighbours

K1 = 1.2
"""BM25's saturation of repeated words; the usual value."""
OTHER_FORM_WEIGHT = 0.75
"""Weight of another form of a word; the form that was typed has 1."""
MAX_HIGHLIGHTS = 64
"""Words of one pattern that are highlighted."""


MAX_SUBSTITUTES_NAMED = 8


class Substitution(Struct, frozen=True):
    """A word of the query that no memory holds, and what was looked for instead."""

    typed: str
    words: tuple[str, ...]
    """The best ones first; at most `MAX_SUBSTITUTES_NAMED`."""
    count: int
    """How many there are."""


class ScoredTerm(NamedTuple):
    """What one term of the query adds to the text score of each slot that has it."""

    hits: TermHits
    """The weights are scores, before the sum is divided by the best."""
    highest: float
    """The highest score that a slot could have for this term."""


class Match(Struct, frozen=True, dict=True):
    """The slots that match the text of a query."""

    size: int
    """How many slots there are."""
    slots: Longs
    """The matching slots, unique."""
    text: Floats
    """The text score of each of `slots`, 0..1."""
    all_words: Mask
    """Whether each of `slots` has all words."""
    title: Longs = field(default_factory=lambda: NO_SLOTS)
    """Slots whose title is exactly the words of the query."""
    words: tuple[str, ...] = ()
    """Folded words to highlight, with the forms and completions in the index."""
    missing: tuple[str, ...] = ()
    """Terms that match nothing, as they were typed."""
    terms: tuple[ScoredTerm, ...] = ()
    """The terms that are looked for, for the scores of what stands around a memory."""
    meaning: Floats | None = None
    """The score that the vectors add to each of `slots`; None without vectors
    (`memtui.search.fusion`)."""
    too_far: float | None = None
    """The best cosine, if the query asks for meaning and no memory is near enough."""
    substituted: tuple[Substitution, ...] = ()
    """Words that occur nowhere, with the words that were looked for instead."""

    @cached_property
    def found(self) -> Mask:
        """Whether each of all slots matches."""
        return to_mask(self.slots, self.size)

    def narrowed(self, passing: Mask) -> Match:
        """The match of those of its slots that pass; `passing` is over all slots."""
        at = passing.take(self.slots).nonzero()[0]
        return replace(
            self,
            slots=self.slots.take(at),
            text=self.text.take(at),
            all_words=self.all_words.take(at),
            meaning=None if self.meaning is None else self.meaning.take(at),
        )

    def with_slots(self, slots: Longs) -> Match:
        """The match with these slots added, with a text score of 0; those it has already stay."""
        fresh = sort_unique(slots[~self.found.take(slots)])
        none = np.zeros(len(fresh), np.float32)
        return replace(
            self,
            slots=np.concatenate([self.slots, fresh]),
            text=np.concatenate([self.text, none]),
            all_words=np.concatenate([self.all_words, none > 0]),
            meaning=None if self.meaning is None else np.concatenate([self.meaning, none]),
        )


def match_none(size: int, missing: Iterable[str] = ()) -> Match:
    """Return a match without any of `size` slots; `missing` are the terms that matched nothing."""
    none = np.empty(0, np.bool_)
    return Match(size, NO_SLOTS, NO_HITS.weights, none, missing=tuple(dict.fromkeys(missing)))


class TextIndex(NamedTuple):
    """What the terms of a query are looked up in."""

    segments: Sequence[Segment]
    """The index of all memories; until there is one the texts are read, for words as they are
    typed."""
    size: int
    """How many slots there are."""
    alive: Mask | None = None
    """For each slot whether it may match and counts as holding a word; None: all."""
    literals: LiteralSearch | None = None
    """Reads the texts; without it terms without a word match nothing, and the punctuation of
    phrases does not count."""
    cancelled: IsCancelled = never


def match_terms(
    index: TextIndex,
    query_terms: QueryTerms,
    dates: DateHits | None = None,
    *,
    as_written: bool = False,
) -> Match:
    """Find the slots whose text matches the terms of a query, with their text scores.

    Args:
        index: What to look them up in; `cancelled` is asked between terms, and while texts are read
            and patterns expanded.
        query_terms: Of the query. Without one that is not negated, all slots match.
        dates: The memories with the dates of the query; they count as holding their words.
        as_written: Do not replace words that no memory holds.

    Returns:
        The matches, with scores in 0..1.

    Raises:
        Cancelled: `cancelled` became true.
    """
    size, alive = index.size, index.alive
    count = size if alive is None else int(np.count_nonzero(alive))
    if count == size:
        index = index._replace(alive=None)
    optional, required = query_terms.optional, query_terms.required
    positive = (*optional, *required)
    if not positive and query_terms.unusable:
        return match_none(size, query_terms.unusable)
    excluded = [_find_mask(index, term) for term in query_terms.excluded]
    if not positive:
        none = np.zeros(size, np.float32)
        return _exclude(Match(size, np.arange(size), none, none > 0), excluded)
    words: dict[str, None] = {}
    substituted: list[Substitution] = []
    scored: list[ScoredTerm] = []
    joined = join_neighbours(optional) if len(optional) > 1 else {}
    for number, term in enumerate(positive):
        if number and index.cancelled():
            raise Cancelled
        ways = find_ways(index, term, words)
        if number in joined:
            ways += _find_joined(index, joined[number])
        if dates is not None and term.term.text in dates.terms:
            ways += [count_once(dates.written), count_once(dates.timed)]
        if not as_written and not any(len(way.slots) for way in ways):
            ways, others = _find_substitutes(index, term)
            if others:
                shown = [word for word in words if word not in term.highlights]
                words = dict.fromkeys([*shown, *others])
                named = others[:MAX_SUBSTITUTES_NAMED]
                substituted.append(Substitution(term.term.text, named, len(others)))
        scored.append(_score(ways, size, count))
    share = np.float32(1 / sum(each.highest for each in scored))
    text, held = np.zeros(size, np.float32), np.zeros(size, np.uint16)
    for each in scored:
        text[each.hits.slots] += each.hits.weights * share
        held[each.hits.slots] += np.uint16(1)
    slots = held.nonzero()[0]
    missing = [n.term.text for n, s in zip(positive, scored, strict=True) if not len(s.hits.slots)]
    around = scored
    if len(scored) > 1:
        around = [s for term, s in zip(positive, scored, strict=True) if not has_just_begun(term)]
    found = Match(
        size,
        slots,
        text.take(slots),
        held.take(slots) == len(positive),
        words=tuple(words),
        missing=tuple(dict.fromkeys(missing)),
        substituted=tuple(substituted),
        terms=tuple(around),
    )
    excluded += [~to_mask(each.hits.slots, size) for each in scored[len(optional) :]]
    if excluded:
        found = _exclude(found, excluded)
    titles = [
        segment.find_titles(query_terms.title_words, query_terms.last_is_prefix)
        for segment in index.segments
    ]
    titled: Longs = np.concatenate([NO_SLOTS, *titles])
    return replace(found, title=titled[np.isin(titled, found.slots[found.all_words])])


def _exclude(found: Match, excluded: Sequence[Mask]) -> Match:
    """Remove from the match the slots that are in one of these masks."""
    return found.narrowed(~np.logical_or.reduce(excluded)) if excluded else found


def _score(ways: Iterable[TermHits], size: int, count: int) -> ScoredTerm:
    """The score of the best way to hold a term for each slot, and the highest possible score.

    `count` is the number of memories, from which the rarity of a word is computed.
    """
    best = NO_HITS
    highest = 0.0
    for way in ways:
        frequency = len(way.slots)
        if frequency:
            rarity = math.log1p((count - frequency + 0.5) / (frequency + 0.5)) * (K1 + 1)
            highest = max(highest, rarity)
            scores = way.weights * np.float32(rarity)
            scores /= way.weights + np.float32(K1)
            scored = TermHits(way.slots, scores)
            best = take_maximum(best, scored, size) if len(best.slots) else scored
    return ScoredTerm(best, highest or math.log1p(2.0 * count + 1.0) * (K1 + 1))


def _find_mask(index: TextIndex, term: QueryTerm) -> Mask:
    """Whether each slot holds the term."""
    found = [way.slots for way in find_ways(index, term, {})]
    return to_mask(np.concatenate([NO_SLOTS, *found]), index.size)


def find_ways(index: TextIndex, term: QueryTerm, words: dict[str, None]) -> list[TermHits]:
    """The memories that hold a term, by each way to hold it: the word, a compound, or all its
    parts; then its completions. Each way is scored by its own rarity.

    Adds the words to highlight to `words`. Raises Cancelled.
    """
    words.update(dict.fromkeys(term.highlights))
    if not term.parts or not index.segments:
        return [] if index.literals is None else [count_once(_read_texts(index.literals, term))]
    if term.kind is TermKind.PHRASE:
        return [_find_phrase(index, term)]
    if term.kind is not TermKind.WORD:
        return [_find_similar(index, term, words)]
    ways = []
    if term.has_forms and len(term.parts) == 1:
        ways.append(_find_forms(index, term.parts[0], words))
    elif term.has_forms:
        ways.append(_find_forms(index, term.compound, words))
        ways.append(_find_all(index, term.parts, last_is_prefix=False, words=words))
    if term.last_is_prefix:
        ways.append(_find_completions(index, term.compound or term.parts[-1]))
        if len(term.parts) > 1:
            ways.append(_find_all(index, term.parts, last_is_prefix=True, words=words))
    return ways


def _find_forms(index: TextIndex, word: str, words: dict[str, None]) -> TermHits:
    """Memories with any form of an English word."""
    stem = analysis.stem(word)
    found = []
    for segment in index.segments:
        forms = segment.forms_of(stem)
        words.update(dict.fromkeys([*forms][:MAX_HIGHLIGHTS]))
        shares = [1.0 if form == word else OTHER_FORM_WEIGHT for form in forms]
        found.append(segment.read_words([*forms.values()], shares))
    return join_hits(found, index.alive)


def _find_completions(index: TextIndex, start: str) -> TermHits:
    return join_hits([segment.read_prefix(start) for segment in index.segments], index.alive)


def _find_all(
    index: TextIndex, parts: Sequence[str], *, last_is_prefix: bool, words: dict[str, None]
) -> TermHits:
    """Memories with all parts, weighted as the part that they hold least."""
    *before, last = parts
    found = [_find_forms(index, word, words) for word in before]
    found.append(
        _find_completions(index, last) if last_is_prefix else _find_forms(index, last, words)
    )
    return intersect_hits(found)


def _find_similar(index: TextIndex, term: QueryTerm, words: dict[str, None]) -> TermHits:
    """Memories with words that match a pattern, or are like a misspelt one. Raises Cancelled."""
    is_pattern = term.kind is TermKind.WILDCARD
    expand = expansion.expand_wildcard if is_pattern else expansion.expand_fuzzy
    found = []
    for segment in index.segments:
        numbers = expand(segment, term.parts[0], index.cancelled).tolist()
        for number in numbers[: max(0, MAX_HIGHLIGHTS - len(words))]:
            words[segment.terms[number]] = None
        found.append(segment.read_words(numbers))
    return join_hits(found, index.alive)


def _find_words(index: TextIndex, parts: Sequence[str], last_is_prefix: bool = False) -> TermHits:
    """Memories with these words in their order."""
    found = [segment.find_phrase(parts, last_is_prefix) for segment in index.segments]
    return join_hits(found, index.alive)


def _find_phrase(index: TextIndex, term: QueryTerm) -> TermHits:
    """Memories with the words in this order and with the punctuation as typed."""
    found = _find_words(index, term.parts, term.last_is_prefix)
    if index.literals is None or term.literal.replace(" ", "").isalnum():
        return found
    slots = index.literals.filter(found.slots, term.literal, is_prefix=term.last_is_prefix)
    return TermHits(slots, found.weights[np.searchsorted(found.slots, slots)])


def _read_texts(texts: LiteralSearch, term: QueryTerm) -> Longs:
    """The memories with a term as it is typed."""
    if term.kind is TermKind.WILDCARD and term.parts:
        return texts.find_words(term.parts[0])
    return texts.find(term.literal or term.term.text, is_prefix=term.last_is_prefix)


def _find_joined(index: TextIndex, joined: Iterable[tuple[str, bool]]) -> list[TermHits]:
    """The memories with words written together that the query has apart."""
    found = []
    for word, is_prefix in joined:
        begun = [segment.first_completion(word) for segment in index.segments]
        if is_prefix and any(begun):
            found.append(_find_completions(index, word))
        elif word in begun:
            found.append(_find_forms(index, word, {}))
    return found


def _find_substitutes(index: TextIndex, term: QueryTerm) -> tuple[list[TermHits], tuple[str, ...]]:
    """The memories with words in place of a term that occurs nowhere (see `expansion`), and the
    words, where they are others."""
    if term.kind is TermKind.PHRASE and index.literals is not None:
        return [count_once(index.literals.find(term.literal, whole_words=False))], ()
    if term.kind is not TermKind.WORD or not term.parts:
        return [], ()
    if len(analysis.find_chunks(term.term.text)) > 1:  # an address or a path is exact
        return [], ()
    word = term.compound or term.parts[0]
    for parts in expansion.split_word(word, index.segments):
        found = _find_words(index, parts)
        if len(found.slots):
            return [found], (" ".join(parts),)
    others = expansion.find_substitutes(
        word,
        index.segments,
        index.alive,
        is_prefix=term.last_is_prefix,
        cancelled=index.cancelled,
    )
    if not others:
        return [], ()
    found = join_hits([segment.find_words(others) for segment in index.segments], index.alive)
    return [found], others
