"""Match the terms of a query against the word postings and score the text of each match.

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
from functools import partial
from typing import NamedTuple

import numpy as np

from memtui.dataclass import dataclass, field, replace
from memtui.progress import Cancelled, IsCancelled, never
from memtui.query import Term, TermKind
from memtui.search import analysis, expansion, hits, literals
from memtui.search.array_types import Ints, Longs, Mask, sort_unique, to_mask
from memtui.search.date_matches import DateHits
from memtui.search.hits import NO_SLOTS, Match, ScoredTerm, Substitution, TermHits, read_terms
from memtui.search.literals import LiteralSearch, find_title_matches
from memtui.search.match_bonuses import MatchBonuses
from memtui.search.postings import Segment
from memtui.search.query_terms import (
    QueryTerm,
    analyze_terms,
    get_whole_word,
    has_just_begun,
    join_neighbours,
)

K1 = 1.2
"""BM25's saturation of repeated words; the usual value."""
OTHER_FORM_WEIGHT = 0.75
"""Weight of another form of a word; the form that was typed has 1."""
MAX_HIGHLIGHTS = 64
"""Words of one pattern that are highlighted."""

ExactLookup = Callable[[Term], Longs | None]
"""Finds the slots with a phrase, pattern or fuzzy word in another index; None: use the postings."""


def match_terms(
    segments: Sequence[Segment],
    slots: int,
    terms: Sequence[Term],
    exact: ExactLookup | None = None,
    cancelled: IsCancelled = never,
    alive: Mask | None = None,
    literals: LiteralSearch | None = None,
    dates: DateHits | None = None,
    *,
    as_written: bool = False,
) -> Match:
    """Find the slots whose text matches the terms of a query, with their text scores.

    Args:
        segments: The postings of all memories.
        slots: How many slots there are.
        terms: Of the query. Without one that is not negated, all slots match.
        exact: Looks up phrases, patterns and fuzzy words in another index.
        cancelled: Is asked once for each term and segment, and while patterns are expanded.
        alive: For each slot whether it may match and counts as holding a word; None: all.
        literals: Reads the texts; without it terms without a word match nothing, and the
            punctuation of phrases does not count.
        dates: The memories with the dates of the query; they count as holding their words.
        as_written: Do not replace words that no memory holds.

    Returns:
        The matches, in no order, with scores in 0..1.

    Raises:
        Cancelled: `cancelled` became true.
    """
    count = slots if alive is None else int(np.count_nonzero(alive))
    if alive is not None and count == len(alive):
        alive = None
    search = _Search(segments, slots, exact, cancelled, alive, literals)
    query_terms = analyze_terms(terms)
    positive = (*query_terms.optional, *query_terms.required)
    if not positive and any(not term.negated for term in terms):
        return hits.match_none(slots, (term.text for term in terms if not term.negated))
    if not positive:
        none = np.zeros(slots, np.bool_)
        every = Match(slots, np.arange(slots), np.zeros(slots, np.float32), none)
        return _exclude(every, [search.mask(term) for term in query_terms.excluded])
    words: dict[str, None] = {}
    scored: list[ScoredTerm] = []
    joined = join_neighbours(query_terms.optional)
    for number, term in enumerate(positive):
        added = list(search.find_joined(joined.get(number, ())))
        if dates is not None and term.term.text in dates.terms:
            added += dates.tiers
        if not added and (known := search.score_word(term, words, count)) is not None:
            scored.append(known)
            continue
        tiers = [*search.find_tiers(term, words), *added]
        if not as_written and not any(len(tier.slots) for tier in tiers):
            tiers = list(search.find_substitutes(term, words))
        score, word = _score(tiers, slots, count), get_whole_word(term)
        scored.append(ScoredTerm(*score, word, is_open=term.last_is_prefix))
    scores = [each.hits for each in scored]
    sums = hits.sum_hits(scores, slots, 1 / sum([each.highest for each in scored]))
    missing = [n.term.text for n, s in zip(positive, scores, strict=True) if not len(s.slots)]
    found = hits.make_match(
        sums,
        slots,
        all_words=sums.term_counts == len(positive),
        words=tuple(words),
        missing=tuple(dict.fromkeys(missing)),
        substituted=tuple(search.substituted),
        terms=tuple(
            [each for term, each in zip(positive, scored, strict=True) if not has_just_begun(term)]
        ),
        is_plain=not query_terms.required and not query_terms.excluded,
        bonuses=MatchBonuses(query_terms, segments, literals, dates),
    )
    required = scores[len(query_terms.optional) :]
    excluded = [~to_mask(part.slots, slots) for part in required]
    found = _exclude(found, [*excluded, *(search.mask(term) for term in query_terms.excluded)])
    titled = find_title_matches(segments, query_terms, found)
    return found.changed(title=titled) if len(titled) else found


def _exclude(found: Match, excluded: Sequence[Mask]) -> Match:
    """Remove from the match the slots that are in one of these masks."""
    if not excluded:
        return found
    is_left = ~np.logical_or.reduce(excluded)[found.slots]
    slots, text, all_words = found.slots[is_left], found.text[is_left], found.all_words[is_left]
    return replace(found, slots=slots, text=text, all_words=all_words)


def _score(tiers: Iterable[TermHits], slots: int, count: int) -> tuple[TermHits, float]:
    """The score of the best tier for each slot, and the highest score that a slot could have.

    `count` is the number of memories, from which the rarity of a word is computed.
    """
    best = hits.NO_HITS
    highest = 0.0
    for tier in tiers:
        frequency = len(tier.slots)
        if frequency:
            rarity = math.log1p((count - frequency + 0.5) / (frequency + 0.5)) * (K1 + 1)
            highest = max(highest, rarity)
            scores = tier.weights * np.float32(rarity)
            scores /= tier.weights + np.float32(K1)
            scored = TermHits(tier.slots, scores)
            best = hits.take_maximum(best, scored, slots) if len(best.slots) else scored
    return best, highest or math.log1p(2.0 * count + 1.0) * (K1 + 1)


class _CachedScore(NamedTuple):
    """The score of a word and its highlights, and the segments, slots and mask it is from."""

    table: tuple[object, ...]
    alive: Mask | None
    term: ScoredTerm
    words: dict[str, None]


@dataclass(slots=True)
class _Search:
    """One query over all segments."""

    segments: Sequence[Segment]
    slots: int
    exact: ExactLookup | None
    cancelled: IsCancelled
    alive: Mask | None
    literals: LiteralSearch | None
    substituted: list[Substitution] = field(default_factory=list)
    _joined: dict[tuple[str, bool], TermHits | None] = field(default_factory=dict)

    def score_word(self, term: QueryTerm, words: dict[str, None], count: int) -> ScoredTerm | None:
        """The score of a single word, kept while the next is typed.

        That of a word that is being typed is kept too, as most letters leave it the same
        completions. None for other terms, and for words that no memory holds. Adds the words to
        highlight.
        """
        if not (self.segments and term.has_forms and len(term.parts) == 1):
            return None
        word, forms = term.parts[0], hits.NO_HITS
        key = ("score", word)
        if term.last_is_prefix:
            words.update(dict.fromkeys(term.highlights))
            forms = self._forms(word, words)
            ranges = [segment.terms.prefix_range(word) for segment in self.segments]
            key = ("begun", word if len(forms.slots) else str(ranges))

        def compute() -> _CachedScore:
            found: dict[str, None] = {}
            begun = (forms, self._completions(word)) if term.last_is_prefix else ()
            score = _score(begun or self.find_tiers(term, found), self.slots, count)
            scored = ScoredTerm(*score, get_whole_word(term), is_open=term.last_is_prefix)
            return _CachedScore(table, self.alive, scored, found)

        first, table = self.segments[0], (*self.segments, self.slots)
        known = hits.get_cached(first, key, compute)
        if known.table != table or known.alive is not self.alive:
            first.cached_hits.pop(key, None)
            known = hits.get_cached(first, key, compute)
        if not len(known.term.hits.slots):
            return None
        words.update(known.words)
        return known.term

    def mask(self, term: QueryTerm) -> Mask:
        """Whether each slot holds the term."""
        found = [tier.slots for tier in self.find_tiers(term, {})]
        return to_mask(np.concatenate([NO_SLOTS, *found]), self.slots)

    def find_tiers(self, term: QueryTerm, words: dict[str, None]) -> Iterator[TermHits]:
        """The memories that hold the term, by each way to hold it: the word, then its completions.

        Each way is scored by its own rarity. Adds the words to highlight to `words`.
        """
        words.update(dict.fromkeys(term.highlights))
        if not term.parts:
            if self.literals is not None:
                yield _count_once(self.literals.find(term.literal))
            return
        found = None
        if self.exact is not None and term.kind is not TermKind.WORD:
            found = self._look_up(self.exact(term.term))
        match term.kind:
            case TermKind.PHRASE:
                yield self._phrases(term, found)
            case _ if found is not None:
                yield found
            case TermKind.WILDCARD:
                yield self._expand(term, expansion.expand_wildcard, words)
            case TermKind.FUZZY:
                yield self._expand(term, expansion.expand_fuzzy, words)
            case _:
                yield from self._words(term, words)

    def _look_up(self, slots: Longs | None) -> TermHits | None:
        """What another index has found, of living memories only."""
        if slots is None:
            return None
        slots = sort_unique(slots[slots < self.slots])
        return _count_once(slots if self.alive is None else slots[self.alive[slots]])

    def _phrases(self, term: QueryTerm, found: TermHits | None) -> TermHits:
        """Memories with the words in this order and with the punctuation as typed."""
        if found is None:
            found = self._gather(lambda segment: literals.find_phrase(segment, term))
        if self.literals is None or not _has_punctuation(term.literal):
            return found
        slots = self.literals.filter(found.slots, term.literal, is_prefix=term.last_is_prefix)
        return hits.TermHits(slots, found.weights[np.searchsorted(found.slots, slots)])

    def find_joined(self, joined: Sequence[tuple[str, bool]]) -> Iterator[TermHits]:
        """The memories with words written together that the query has apart."""
        for each in joined:
            if each not in self._joined:
                self._joined[each] = self._look_up_joined(*each)
            if (found := self._joined[each]) is not None:
                yield found

    def _look_up_joined(self, word: str, is_prefix: bool) -> TermHits | None:
        begun = [segment.first_completion(word) for segment in self.segments]
        if is_prefix and any(begun):
            return self._completions(word)
        return self._forms(word, {}) if word in begun else None

    def find_substitutes(self, term: QueryTerm, words: dict[str, None]) -> Iterator[TermHits]:
        """The memories with words in place of one that occurs nowhere (see `expansion`)."""
        if term.kind is TermKind.PHRASE and self.literals is not None:
            yield _count_once(self.literals.find(term.literal, whole_words=False))
            return
        if term.kind is not TermKind.WORD or not term.parts:
            return
        if len(analysis.find_chunks(term.term.text)) > 1:  # an address or a path is exact
            return
        word = term.compound or term.parts[0]
        for parts in expansion.split_word(word, self.segments):
            apart = term._replace(kind=TermKind.PHRASE, parts=parts, compound="")
            found = self._gather(partial(literals.find_phrase, term=apart))
            if len(found.slots):
                self._note(term, (" ".join(parts),), words)
                yield found
                return
        others = expansion.find_substitutes(
            word,
            self.segments,
            self.alive,
            is_prefix=term.last_is_prefix,
            cancelled=self.cancelled,
        )
        if others:
            self._note(term, others, words)
            yield self._gather(lambda segment: hits.read_words(segment, others))

    def _note(self, term: QueryTerm, others: Sequence[str], words: dict[str, None]) -> None:
        for other in term.highlights:
            words.pop(other, None)
        words.update(dict.fromkeys(others))
        named = tuple(others[: hits.MAX_SUBSTITUTES_NAMED])
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
            if not (terms := segment.forms_of(word, stem)):
                return hits.NO_HITS
            forms = [segment.terms[term] for term in terms]
            words.update(dict.fromkeys(forms[:MAX_HIGHLIGHTS]))
            shares = [1.0 if form == word else OTHER_FORM_WEIGHT for form in forms]
            return read_terms(segment, terms, shares)

        return self._gather(of)

    def _completions(self, start: str) -> TermHits:
        def of(segment: Segment) -> TermHits:
            return hits.get_cached(
                segment, ("prefix", start), lambda: hits.read_prefix(segment, start)
            )

        return self._gather(of)

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
            numbers = expand(segment, term.parts[0], self.cancelled).tolist()
            for number in numbers[: max(0, MAX_HIGHLIGHTS - len(words))]:
                words[segment.terms[number]] = None
            return read_terms(segment, numbers)

        return self._gather(of)

    def _gather(self, of: Callable[[Segment], TermHits]) -> TermHits:
        """The hits of all segments, of living memories only. Raises Cancelled."""
        found = []
        for segment in self.segments:
            if self.cancelled():
                raise Cancelled
            found.append(of(segment))
        gathered = found[0] if len(found) == 1 else hits.concat_hits(found)
        return gathered if self.alive is None else hits.filter_hits(gathered, self.alive)


def _count_once(slots: Longs) -> TermHits:
    return TermHits(slots, np.ones(len(slots), np.float32))


def _has_punctuation(text: str) -> bool:
    return not text.replace(" ", "").isalnum()
