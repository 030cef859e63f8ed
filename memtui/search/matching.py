"""Which memories match a query, and how well their text does: one pass over the arrays.

Any word is enough; memories with all words are marked, so that ranking can put them first. Phrases
must be there, excluded terms must not. The text score is BM25 without length normalisation (B = 0:
recall@10 on LoCoMo .581 against .548 with the textbook value, long texts being no worse here),
as a share of the most that these words could give, so that it lies in 0..1 whatever the query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from memtui.progress import Cancelled, IsCancelled, never
from memtui.query import Term, TermKind
from memtui.search import analysis, expansion, hits
from memtui.search.hits import NO_SLOTS, Mask, Match, TermHits, read_terms
from memtui.search.postings import Ints, Longs, Segment
from memtui.search.query_terms import QueryTerm, QueryTerms, analyze_terms

K1 = 1.2
"""How soon a further occurrence adds little (BM25's usual value)."""
OTHER_FORM_WEIGHT = 0.75
"""What another form of a word counts: enough to find it, less than what was written."""
MAX_HIGHLIGHTS = 64
"""Words of a pattern that are named for highlighting."""

ExactLookup = Callable[[Term], Longs | None]
"""Slots that hold a phrase, pattern or misspelt word, from another index; None = ask the arrays."""


def match_terms(
    segments: Sequence[Segment],
    slots: int,
    terms: Sequence[Term],
    exact: ExactLookup | None = None,
    cancelled: IsCancelled = never,
    alive: Mask | None = None,
) -> Match:
    """Look for the terms of a query in all segments. Raises Cancelled.

    `slots`: how many slots there are; `alive`: which of them are found at all and count as holding
    a word, unless told all. Without a term that is looked for, all are found.
    """
    if alive is not None and alive.all():
        alive = None
    count = slots if alive is None else int(np.count_nonzero(alive))
    search = _Search(segments, slots, exact, cancelled, alive)
    asked = analyze_terms(terms)
    positive = (*asked.wanted, *asked.required)
    if not positive:
        return _without(_everything(slots), [search.mask(needle) for needle in asked.excluded])
    words: dict[str, None] = {}
    scores: list[TermHits] = []
    best = 0.0
    for needle in positive:
        scored, ceiling = _score(list(search.tiers(needle, words)), slots, count)
        scores.append(scored)
        best += ceiling
    sums = hits.sum_hits(scores, slots)
    missing = (n.term.text for n, s in zip(positive, scores, strict=True) if not len(s.slots))
    found = Match(
        slots,
        sums.slots,
        sums.sums * np.float32(1 / best),
        sums.term_counts == len(positive),
        words=tuple(words),
        missing=tuple(dict.fromkeys(missing)),
    )
    required = scores[len(asked.wanted) :]
    barred = [~_mask(part.slots, slots) for part in required]
    found = _without(found, [*barred, *(search.mask(needle) for needle in asked.excluded)])
    return replace(found, title=search.titled(asked, found))


def _everything(slots: int) -> Match:
    none = np.zeros(slots, np.bool_)
    return Match(slots, np.arange(slots), np.zeros(slots, np.float32), none)


def _without(found: Match, barred: Sequence[Mask]) -> Match:
    """The match without what one of these masks has."""
    if not barred:
        return found
    held = ~np.logical_or.reduce(barred)[found.slots]
    return replace(
        found,
        slots=found.slots[held],
        text=found.text[held],
        all_words=found.all_words[held],
    )


def _mask(held: Longs, slots: int) -> Mask:
    mask = np.zeros(slots, np.bool_)
    mask[held] = True
    return mask


def _score(tiers: Sequence[TermHits], slots: int, count: int) -> tuple[TermHits, float]:
    """The best tier's score for each slot, and the most that could be reached.

    `count`: the memories among the slots, by which it is told how rare a word is.
    """
    best = hits.NO_HITS
    ceiling = 0.0
    for tier in tiers:
        frequency = len(tier.slots)
        if frequency:
            rarity = math.log1p((count - frequency + 0.5) / (frequency + 0.5)) * (K1 + 1)
            ceiling = max(ceiling, rarity)
            scores = tier.weights * np.float32(rarity)
            scores /= tier.weights + np.float32(K1)
            best = hits.take_maximum(best, TermHits(tier.slots, scores), slots)
    return best, ceiling or math.log1p(2.0 * count + 1.0) * (K1 + 1)


class _Search:
    """One query over all segments."""

    def __init__(
        self,
        segments: Sequence[Segment],
        slots: int,
        exact: ExactLookup | None,
        cancelled: IsCancelled,
        alive: Mask | None,
    ) -> None:
        self._alive = alive
        self._segments = segments
        self._slots = slots
        self._exact = exact
        self._cancelled = cancelled

    def mask(self, needle: QueryTerm) -> Mask:
        """Where the needle is, whatever the score."""
        found = [tier.slots for tier in self.tiers(needle, {})]
        return _mask(np.concatenate(found), self._slots)

    def tiers(self, needle: QueryTerm, words: dict[str, None]) -> Iterator[TermHits]:
        """Ways to hold the needle, each as rare as it is: the word itself, then its completions.

        Adds what should be pointed out to `words`.
        """
        words.update(dict.fromkeys(needle.words))
        if self._exact is not None and needle.kind is not TermKind.WORD:
            slots = self._exact(needle.term)
            if slots is not None:
                slots = np.unique(slots[slots < self._slots])
                if self._alive is not None:
                    slots = slots[self._alive[slots]]
                yield TermHits(slots, np.ones(len(slots), np.float32))
                return
        match needle.kind:
            case TermKind.PHRASE:
                yield self._gather(lambda segment: _phrase(segment, needle))
            case TermKind.WILDCARD:
                yield self._expanded(needle, expansion.expand_wildcard, words)
            case TermKind.FUZZY:
                yield self._expanded(needle, expansion.expand_fuzzy, words)
            case _:
                yield from self._words(needle, words)

    def _words(self, needle: QueryTerm, words: dict[str, None]) -> Iterator[TermHits]:
        """A word, or a word written together or its parts; then what it may go on to."""
        if len(needle.parts) == 1:
            yield self._forms(needle.parts[0], words)
        else:
            yield self._forms(needle.whole, words)
            yield self._together(needle.parts, last_is_prefix=False, words=words)
        if needle.last_is_prefix:
            yield self._begun(needle.whole or needle.parts[-1])
            if len(needle.parts) > 1:
                yield self._together(needle.parts, last_is_prefix=True, words=words)

    def _forms(self, word: str, words: dict[str, None]) -> TermHits:
        """Memories with any form of an English word (others for a little less)."""
        stem = analysis.stem(word)

        def of(segment: Segment) -> TermHits:
            terms = _forms(segment, word, stem)
            forms = [segment.terms[term] for term in terms]
            words.update(dict.fromkeys(forms[:MAX_HIGHLIGHTS]))
            shares = [1.0 if form == word else OTHER_FORM_WEIGHT for form in forms]
            return hits.get_cached(
                segment, ("forms", word), partial(read_terms, segment, terms, shares)
            )

        return self._gather(of)

    def _begun(self, start: str) -> TermHits:
        def of(segment: Segment) -> TermHits:
            return hits.get_cached(
                segment, ("begun", start), lambda: hits.read_prefix(segment, start)
            )

        return self._gather(of)

    def _together(
        self, spine: Sequence[str], *, last_is_prefix: bool, words: dict[str, None]
    ) -> TermHits:
        """Memories with all parts; as often as the rarest of them."""
        *before, last = spine
        parts = [self._forms(word, words) for word in before]
        parts.append(self._begun(last) if last_is_prefix else self._forms(last, words))
        return hits.intersect_hits(parts)

    def _expanded(
        self,
        needle: QueryTerm,
        expand: Callable[[Segment, str, Callable[[], bool]], Ints],
        words: dict[str, None],
    ) -> TermHits:
        def of(segment: Segment) -> TermHits:
            terms = expand(segment, needle.parts[0], self._cancelled).tolist()
            for term in terms[: max(0, MAX_HIGHLIGHTS - len(words))]:
                words[segment.terms[term]] = None
            return read_terms(segment, terms)

        return self._gather(of)

    def _gather(self, of: Callable[[Segment], TermHits]) -> TermHits:
        """What each segment says. Raises Cancelled."""
        found = []
        for segment in self._segments:
            if self._cancelled():
                raise Cancelled
            found.append(of(segment))
        held = hits.concat_hits(found)
        return held if self._alive is None else hits.filter_hits(held, self._alive)

    def titled(self, asked: QueryTerms, found: Match) -> Longs:
        """Which of these have the asked words, all and no others, as their title."""
        parts = [_titled(segment, asked.asked, asked.last_is_prefix) for segment in self._segments]
        titled: Longs = np.concatenate([NO_SLOTS, *parts])
        if not len(titled):
            return titled
        all_words = _mask(found.slots[found.all_words], self._slots)
        return titled[all_words[titled]]


def _forms(segment: Segment, word: str, stem: str) -> list[int]:
    """Numbers of the word and its other forms in this segment."""
    terms: list[int] = segment.class_of(stem).tolist()
    if terms:
        return terms
    # Words that are their own stem, and the only ones with it, stand in no class.
    alone = {word, stem} if analysis.stem(stem) == stem else {word}
    return sorted(at for at in map(segment.find, alone) if at is not None)


def _ranges(
    segment: Segment, spine: Sequence[str], last_is_prefix: bool
) -> list[tuple[int, int]] | None:
    """For each word the range of its number; None where one is not in the segment."""
    ranges = []
    for at, word in enumerate(spine):
        if last_is_prefix and at == len(spine) - 1:
            first, last = segment.prefix(word)
        else:
            number = segment.find(word)
            first, last = (0, 0) if number is None else (number, number + 1)
        if first == last:
            return None
        ranges.append((first, last))
    return ranges


def _phrase(segment: Segment, needle: QueryTerm) -> TermHits:
    """Memories with these words in this order, as the stream has them."""
    ranges = _ranges(segment, needle.parts, needle.last_is_prefix)
    if ranges is None:
        return hits.NO_HITS
    rarest = min(
        range(len(ranges)),
        key=lambda at: int(segment.indptr[ranges[at][1]] - segment.indptr[ranges[at][0]]),
    )
    stream = segment.stream
    starts = _in_range(stream, *ranges[rarest]).nonzero()[0] - rarest
    starts = starts[(starts >= 0) & (starts <= len(stream) - len(ranges))]
    for at, (first, last) in enumerate(ranges):
        if at != rarest:
            starts = starts[_in_range(stream[starts + at], first, last)]
    return hits.count_memories(segment, np.searchsorted(segment.starts, starts, side="right") - 1)


def _in_range(values: Ints, first: int, last: int) -> Mask:
    return values == first if last == first + 1 else (values >= first) & (values < last)


def _titled(segment: Segment, spine: Sequence[str], last_is_prefix: bool) -> Longs:
    memories = segment.titled.get(len(spine), NO_SLOTS)
    ranges = _ranges(segment, spine, last_is_prefix) if len(memories) else None
    for at, (first, last) in enumerate(ranges or ()):
        words = segment.stream[segment.starts[memories] + at]
        memories = memories[_in_range(words, first, last)]
    return memories + segment.first if ranges else NO_SLOTS
