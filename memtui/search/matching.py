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
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from memtui.progress import Cancelled, IsCancelled, never
from memtui.query import TermKind
from memtui.search import analysis, expansion, hits, literals
from memtui.search.array_types import Floats, Ints, Longs, Mask, sort_unique, to_mask
from memtui.search.date_matches import DateHits
from memtui.search.hits import NO_SLOTS, TermHits, count_once, read_terms
from memtui.search.literals import LiteralSearch
from memtui.search.memory_index import Segment
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
    return Match(size, NO_SLOTS, hits.NO_HITS.weights, none, missing=tuple(dict.fromkeys(missing)))


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
        index: What to look them up in; `cancelled` is asked once for each term and segment, and
            while patterns are expanded.
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
    search = _Search(index, alive if count < size else None)
    positive = (*query_terms.optional, *query_terms.required)
    if not positive and query_terms.unusable:
        return match_none(size, query_terms.unusable)
    excluded = [search.mask(term) for term in query_terms.excluded]
    if not positive:
        none = np.zeros(size, np.float32)
        return _exclude(Match(size, np.arange(size), none, none > 0), excluded)
    words: dict[str, None] = {}
    scored: list[ScoredTerm] = []
    joined = join_neighbours(query_terms.optional)
    for number, term in enumerate(positive):
        ways = [*search.find_ways(term, words), *search.find_joined(joined.get(number, ()))]
        if dates is not None and term.term.text in dates.terms:
            ways += [count_once(dates.written), count_once(dates.timed)]
        if not as_written and not any(len(way.slots) for way in ways):
            ways = list(search.find_substitutes(term, words))
        scored.append(ScoredTerm(*_score(ways, size, count)))
    share = np.float32(1 / sum(each.highest for each in scored))
    text, held = np.zeros(size, np.float32), np.zeros(size, np.uint16)
    for each in scored:
        text[each.hits.slots] += each.hits.weights * share
        held[each.hits.slots] += np.uint16(1)
    slots = held.nonzero()[0]
    missing = [n.term.text for n, s in zip(positive, scored, strict=True) if not len(s.hits.slots)]
    found = Match(
        size,
        slots,
        text.take(slots),
        held.take(slots) == len(positive),
        words=tuple(words),
        missing=tuple(dict.fromkeys(missing)),
        substituted=tuple(search.substituted),
        terms=tuple(
            [each for term, each in zip(positive, scored, strict=True) if not has_just_begun(term)]
        ),
    )
    required = scored[len(query_terms.optional) :]
    found = _exclude(found, [*(~to_mask(each.hits.slots, size) for each in required), *excluded])
    return replace(found, title=_find_titles(index.segments, query_terms, found))


def _exclude(found: Match, excluded: Sequence[Mask]) -> Match:
    """Remove from the match the slots that are in one of these masks."""
    return found.narrowed(~np.logical_or.reduce(excluded)) if excluded else found


def _find_titles(segments: Sequence[Segment], query_terms: QueryTerms, found: Match) -> Longs:
    """The matches with all words whose title is exactly the words of the query."""
    parts = [
        literals.find_titles(segment, query_terms.title_words, query_terms.last_is_prefix)
        for segment in segments
    ]
    titled: Longs = np.concatenate([NO_SLOTS, *parts])
    return titled[to_mask(found.slots[found.all_words], found.size)[titled]]


def _score(ways: Iterable[TermHits], size: int, count: int) -> tuple[TermHits, float]:
    """The score of the best way to hold a term for each slot, and the highest possible score.

    `count` is the number of memories, from which the rarity of a word is computed.
    """
    best = hits.NO_HITS
    highest = 0.0
    for way in ways:
        frequency = len(way.slots)
        if frequency:
            rarity = math.log1p((count - frequency + 0.5) / (frequency + 0.5)) * (K1 + 1)
            highest = max(highest, rarity)
            scores = way.weights * np.float32(rarity)
            scores /= way.weights + np.float32(K1)
            scored = TermHits(way.slots, scores)
            best = hits.take_maximum(best, scored, size) if len(best.slots) else scored
    return best, highest or math.log1p(2.0 * count + 1.0) * (K1 + 1)


class _Search(Struct):
    """One query over all segments."""

    index: TextIndex
    alive: Mask | None
    substituted: list[Substitution] = field(default_factory=list)

    def mask(self, term: QueryTerm) -> Mask:
        """Whether each slot holds the term."""
        found = [way.slots for way in self.find_ways(term, {})]
        return to_mask(np.concatenate([NO_SLOTS, *found]), self.index.size)

    def find_ways(self, term: QueryTerm, words: dict[str, None]) -> Iterator[TermHits]:
        """The memories that hold the term, by each way to hold it: the word, then its completions.

        Each way is scored by its own rarity. Adds the words to highlight to `words`.
        """
        words.update(dict.fromkeys(term.highlights))
        if not term.parts or not self.index.segments:
            if self.index.literals is not None:
                yield count_once(self._read_texts(term, self.index.literals))
            return
        match term.kind:
            case TermKind.PHRASE:
                yield self._phrases(term)
            case TermKind.WILDCARD:
                yield self._expand(term, expansion.expand_wildcard, words)
            case TermKind.FUZZY:
                yield self._expand(term, expansion.expand_fuzzy, words)
            case _:
                yield from self._words(term, words)

    def _read_texts(self, term: QueryTerm, texts: LiteralSearch) -> Longs:
        """The memories with a term as it is typed."""
        if term.kind is TermKind.WILDCARD and term.parts:
            return texts.find_words(term.parts[0])
        return texts.find(term.literal or term.term.text, is_prefix=term.last_is_prefix)

    def _phrases(self, term: QueryTerm) -> TermHits:
        """Memories with the words in this order and with the punctuation as typed."""
        found = self._gather(lambda segment: literals.find_phrase(segment, term))
        if self.index.literals is None or term.literal.replace(" ", "").isalnum():
            return found
        slots = self.index.literals.filter(found.slots, term.literal, is_prefix=term.last_is_prefix)
        return hits.TermHits(slots, found.weights[np.searchsorted(found.slots, slots)])

    def find_joined(self, joined: Sequence[tuple[str, bool]]) -> Iterator[TermHits]:
        """The memories with words written together that the query has apart."""
        for each in joined:
            if (found := self._look_up_joined(*each)) is not None:
                yield found

    def _look_up_joined(self, word: str, is_prefix: bool) -> TermHits | None:
        begun = [segment.first_completion(word) for segment in self.index.segments]
        if is_prefix and any(begun):
            return self._completions(word)
        return self._forms(word, {}) if word in begun else None

    def find_substitutes(self, term: QueryTerm, words: dict[str, None]) -> Iterator[TermHits]:
        """The memories with words in place of one that occurs nowhere (see `expansion`)."""
        if term.kind is TermKind.PHRASE and self.index.literals is not None:
            yield count_once(self.index.literals.find(term.literal, whole_words=False))
            return
        if term.kind is not TermKind.WORD or not term.parts:
            return
        if len(analysis.find_chunks(term.term.text)) > 1:  # an address or a path is exact
            return
        word = term.compound or term.parts[0]
        for parts in expansion.split_word(word, self.index.segments):
            apart = term._replace(kind=TermKind.PHRASE, parts=parts, compound="")
            found = self._gather(partial(literals.find_phrase, term=apart))
            if len(found.slots):
                self._note(term, (" ".join(parts),), words)
                yield found
                return
        others = expansion.find_substitutes(
            word,
            self.index.segments,
            self.alive,
            is_prefix=term.last_is_prefix,
            cancelled=self.index.cancelled,
        )
        if others:
            self._note(term, others, words)
            yield self._gather(lambda segment: hits.read_words(segment, others))

    def _note(self, term: QueryTerm, others: Sequence[str], words: dict[str, None]) -> None:
        for other in term.highlights:
            words.pop(other, None)
        words.update(dict.fromkeys(others))
        named = tuple(others[:MAX_SUBSTITUTES_NAMED])
        self.substituted.append(Substitution(term.term.text, named, len(others)))

    def _words(self, term: QueryTerm, words: dict[str, None]) -> Iterator[TermHits]:
        """One word; or a compound, or all its parts; then their completions."""
        if not term.has_forms:
            pass
        elif len(term.parts) == 1:
            yield self._forms(term.parts[0], words)
        else:
            yield self._forms(term.compound, words)
            yield self._all_parts(term.parts, last_is_prefix=False, words=words)
        if term.last_is_prefix:
            yield self._completions(term.compound or term.parts[-1])
            if len(term.parts) > 1:
                yield self._all_parts(term.parts, last_is_prefix=True, words=words)

    def _forms(self, word: str, words: dict[str, None]) -> TermHits:
        """Memories with any form of an English word."""
        stem = analysis.stem(word)

        def of(segment: Segment) -> TermHits:
            if not (terms := segment.words_with_stem(stem)):
                return hits.NO_HITS
            forms = [segment.terms[term] for term in terms]
            words.update(dict.fromkeys(forms[:MAX_HIGHLIGHTS]))
            shares = [1.0 if form == word else OTHER_FORM_WEIGHT for form in forms]
            return read_terms(segment, terms, shares)

        return self._gather(of)

    def _completions(self, start: str) -> TermHits:
        return self._gather(lambda segment: hits.read_prefix(segment, start))

    def _all_parts(
        self, parts: Sequence[str], *, last_is_prefix: bool, words: dict[str, None]
    ) -> TermHits:
        """Memories with all parts, weighted as the part that they hold least."""
        *before, last = parts
        found = [self._forms(word, words) for word in before]
        found.append(self._completions(last) if last_is_prefix else self._forms(last, words))
        return hits.intersect_hits(found)

    def _expand(
        self,
        term: QueryTerm,
        expand: Callable[[Segment, str, Callable[[], bool]], Ints],
        words: dict[str, None],
    ) -> TermHits:
        def of(segment: Segment) -> TermHits:
            numbers = expand(segment, term.parts[0], self.index.cancelled).tolist()
            for number in numbers[: max(0, MAX_HIGHLIGHTS - len(words))]:
                words[segment.terms[number]] = None
            return read_terms(segment, numbers)

        return self._gather(of)

    def _gather(self, of: Callable[[Segment], TermHits]) -> TermHits:
        """The hits of all segments, of living memories only. Raises Cancelled."""
        found = []
        for segment in self.index.segments:
            if self.index.cancelled():
                raise Cancelled
            found.append(of(segment))
        gathered = found[0] if len(found) == 1 else hits.concat_hits(found)
        return gathered if self.alive is None else hits.filter_hits(gathered, self.alive)
