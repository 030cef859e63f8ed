"""Which memories match a query, and how well their text does: one pass over the arrays.

Any word is enough; memories with all words are marked, so that ranking can put them first. Phrases
must be there, excluded terms must not. The text score is BM25 without length normalisation (B = 0:
recall@10 on LoCoMo .581 against .548 with the textbook value, long texts being no worse here),
as a share of the most that these words could give, so that it lies in 0..1 whatever the query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memtui.query import Term, TermKind
from memtui.search import analysis, expansion
from memtui.search.needles import Needle, Needles, needles
from memtui.search.postings import FIELD_END, Cancelled, Ints, Longs, Segment, never

K1 = 1.2
"""How soon a further occurrence adds little (BM25's usual value)."""
OTHER_FORM = 0.75
"""What another form of a word counts: enough to find it, less than what was written."""
MOST_WORDS = 64
"""Words of a pattern that are named for highlighting."""
_CROWD = 16
"""With more postings than slots / _CROWD, counting over all slots beats sorting."""

Mask = NDArray[np.bool_]
Floats = NDArray[np.float32]
Exact = Callable[[Term], Longs | None]
"""Slots that hold a phrase, pattern or misspelt word, from another index; None = ask the arrays."""


@dataclass(frozen=True)
class Match:
    """What the text of a query finds; filters are not looked at."""

    found: Mask
    text: Floats
    """0..1 by slot; 0 where nothing is found."""
    all_words: Mask
    title: Longs
    """Slots whose whole title is what was asked."""
    words: tuple[str, ...] = ()
    """Folded words to point out, the forms and completions that are in the index included."""
    missing: tuple[str, ...] = ()
    """What was asked and matches nothing at all, as it was written."""


@dataclass(frozen=True, slots=True)
class _Hits:
    """Slots (ascending) and how often, weighted by field, each holds something."""

    slots: NDArray[Any]
    often: NDArray[Any]


_NO_HITS = _Hits(np.empty(0, np.int64), np.empty(0, np.float32))


def match(
    segments: Sequence[Segment],
    slots: int,
    terms: Sequence[Term],
    exact: Exact | None = None,
    cancelled: Callable[[], bool] = never,
) -> Match:
    """Look for the terms of a query in all segments. Raises Cancelled.

    `slots`: how many slots there are. Without a term that is looked for, all are found.
    """
    search = _Search(segments, slots, exact, cancelled)
    asked = needles(terms)
    text = np.zeros(slots, np.float32)
    hits = np.zeros(slots, np.uint16)
    words: dict[str, None] = {}
    missing: dict[str, None] = {}
    must = np.ones(slots, np.bool_)
    best = 0.0
    for needle in (*asked.wanted, *asked.required):
        scores, ceiling = _score(list(search.tiers(needle, words)), slots)
        best += ceiling
        if scores is None:
            missing[needle.term.text] = None
        else:
            text[scores.slots] += scores.often
            hits[scores.slots] += 1
        if needle in asked.required:
            must &= _mask((scores or _NO_HITS).slots, slots)
    looked_for = len(asked.wanted) + len(asked.required)
    found = must & (hits > 0) if looked_for else must
    for needle in asked.excluded:
        found &= ~search.mask(needle)
    if best:
        text /= best
    text[~found] = 0
    all_words = found & (hits == (looked_for or 1))
    title = search.titled(asked, all_words) if looked_for else np.empty(0, np.int64)
    return Match(found, text, all_words, title, tuple(words), tuple(missing))


def _mask(held: NDArray[Any], slots: int) -> Mask:
    mask = np.zeros(slots, np.bool_)
    mask[held] = True
    return mask


def _score(tiers: Sequence[_Hits], slots: int) -> tuple[_Hits | None, float]:
    """The best tier's score for each slot, and the most that could be reached."""
    best: _Hits | None = None
    ceiling = 0.0
    for hits in tiers:
        frequency = len(hits.slots)
        if not frequency:
            continue
        rarity = float(np.log1p((slots - frequency + 0.5) / (frequency + 0.5)))
        scores = hits.often * np.float32(rarity * (K1 + 1)) / (hits.often + np.float32(K1))
        ceiling = max(ceiling, rarity * (K1 + 1))
        scored = _Hits(hits.slots, scores)
        best = scored if best is None else _highest(best, scored, slots)
    return best, ceiling or float(np.log1p(2.0 * slots + 1.0)) * (K1 + 1)


def _highest(one: _Hits, other: _Hits, slots: int) -> _Hits:
    """Both together, the higher value where a slot is in both."""
    if len(one.slots) < len(other.slots):
        one, other = other, one
    at = np.searchsorted(one.slots, other.slots)
    inside = at < len(one.slots)
    inside[inside] = one.slots[at[inside]] == other.slots[inside]
    if inside.all():
        merged = one.often.copy()
        merged[at] = np.maximum(merged[at], other.often)
        return _Hits(one.slots, merged)
    values = np.zeros(slots, np.float32)
    values[one.slots] = one.often
    values[other.slots] = np.maximum(values[other.slots], other.often)
    found = np.union1d(one.slots, other.slots)
    return _Hits(found, values[found])


class _Search:
    """One query over all segments."""

    def __init__(
        self,
        segments: Sequence[Segment],
        slots: int,
        exact: Exact | None,
        cancelled: Callable[[], bool],
    ) -> None:
        self._segments = segments
        self._slots = slots
        self._exact = exact
        self._cancelled = cancelled

    def mask(self, needle: Needle) -> Mask:
        """Where the needle is, whatever the score."""
        found = [hits.slots for hits in self.tiers(needle, {})]
        return _mask(np.concatenate(found), self._slots)

    def tiers(self, needle: Needle, words: dict[str, None]) -> Iterator[_Hits]:
        """Ways to hold the needle, each as rare as it is: the word itself, then its completions.

        Adds what should be pointed out to `words`.
        """
        if self._exact is not None and needle.kind is not TermKind.WORD:
            slots = self._exact(needle.term)
            if slots is not None:
                words.update(dict.fromkeys(analysis.spine(needle.term.text)))
                yield _Hits(np.unique(slots), np.ones(len(slots), np.float32))
                return
        match needle.kind:
            case TermKind.PHRASE:
                words.update(dict.fromkeys(needle.spine))
                yield self._gather(lambda segment: _phrase(segment, needle))
            case TermKind.WILDCARD:
                yield self._expanded(needle, expansion.wildcard, words)
            case TermKind.FUZZY:
                words[needle.spine[0]] = None
                yield self._expanded(needle, expansion.fuzzy, words)
            case _:
                words.update(dict.fromkeys(needle.words))
                yield from self._words(needle, words)

    def _words(self, needle: Needle, words: dict[str, None]) -> Iterator[_Hits]:
        """A word, or a word written together or its parts; then what it may go on to."""
        if len(needle.spine) == 1:
            yield self._forms(needle.spine[0], words)
        else:
            yield self._forms(needle.whole, words)
            yield self._together(needle.spine, open_end=False, words=words)
        if needle.open_end:
            yield self._begun(needle.whole or needle.spine[-1])
            if len(needle.spine) > 1:
                yield self._together(needle.spine, open_end=True, words=words)

    def _forms(self, word: str, words: dict[str, None]) -> _Hits:
        """Memories with any form of an English word, or just the word."""
        stem = analysis.stem(word)
        return self._gather(lambda segment: _of_forms(segment, word, stem, words))

    def _begun(self, start: str) -> _Hits:
        return self._gather(lambda segment: _of_range(segment, *segment.prefix(start)))

    def _together(self, spine: Sequence[str], *, open_end: bool, words: dict[str, None]) -> _Hits:
        """Memories with all parts; as often as the rarest of them."""
        *before, last = spine
        parts = [self._forms(word, words) for word in before]
        parts.append(self._begun(last) if open_end else self._forms(last, words))
        common = parts[0]
        for part in parts[1:]:
            slots, ours, theirs = np.intersect1d(
                common.slots, part.slots, assume_unique=True, return_indices=True
            )
            common = _Hits(slots, np.minimum(common.often[ours], part.often[theirs]))
        return common

    def _expanded(
        self,
        needle: Needle,
        expand: Callable[[Segment, str, Callable[[], bool]], Ints],
        words: dict[str, None],
    ) -> _Hits:
        def of(segment: Segment) -> Iterable[_Hits]:
            terms = expand(segment, needle.spine[0], self._cancelled)
            for term in terms[: max(0, MOST_WORDS - len(words))]:
                words[segment.terms[term]] = None
            return _of_terms(segment, terms)

        return self._gather(of)

    def _gather(self, of: Callable[[Segment], Iterable[_Hits]]) -> _Hits:
        """The hits of each segment, summed by slot."""
        found: list[_Hits] = []
        for segment in self._segments:
            if self._cancelled():
                raise Cancelled
            hits = _summed(list(of(segment)), segment.count)
            if len(hits.slots):
                found.append(_Hits(hits.slots + segment.first, hits.often))
        if len(found) <= 1:
            return found[0] if found else _NO_HITS
        found.sort(key=lambda hits: int(hits.slots[0]))
        return _Hits(
            np.concatenate([hits.slots for hits in found]),
            np.concatenate([hits.often for hits in found]),
        )

    def titled(self, asked: Needles, among: Mask) -> Longs:
        """Which of these have the asked words, all and no others, as their title."""
        found = [_titled(segment, asked.asked, asked.open_end, among) for segment in self._segments]
        return np.concatenate(found) if found else np.empty(0, np.int64)


def _forms(segment: Segment, word: str, stem: str, words: dict[str, None]) -> Ints:
    """Numbers of the word and its other forms in this segment."""
    terms = segment.class_of(stem)
    if len(terms):
        words.update(dict.fromkeys(segment.terms[term] for term in terms[:MOST_WORDS]))
        return terms
    return np.array(sorted({at for at in map(segment.find, _alone(word, stem)) if at is not None}))


def _alone(word: str, stem: str) -> tuple[str, ...]:
    """Words that are their own stem stand in no class."""
    return (word, stem) if analysis.stem(stem) == stem else (word,)


def _of_forms(segment: Segment, word: str, stem: str, words: dict[str, None]) -> Iterator[_Hits]:
    """The word itself, and its other forms for a little less."""
    for term in _forms(segment, word, stem, words).tolist():
        share = 1.0 if segment.terms[term] == word else OTHER_FORM
        for hits in _of_range(segment, term, term + 1):
            yield hits if share == 1.0 else _Hits(hits.slots, hits.often * np.float32(share))


def _of_terms(segment: Segment, terms: Ints) -> Iterator[_Hits]:
    for term in terms.tolist():
        yield from _of_range(segment, term, term + 1)


def _of_range(segment: Segment, first: int, last: int) -> Iterator[_Hits]:
    """The postings of neighbouring words; a memory comes once for each word it holds."""
    start, end = int(segment.indptr[first]), int(segment.indptr[last])
    if start < end:
        yield _Hits(segment.ids[start:end], segment.weights[start:end])


def _summed(parts: Sequence[_Hits], count: int) -> _Hits:
    """One value for each memory, in whole occurrences."""
    if not parts:
        return _NO_HITS
    ids = parts[0].slots if len(parts) == 1 else np.concatenate([part.slots for part in parts])
    often = parts[0].often if len(parts) == 1 else np.concatenate([part.often for part in parts])
    if len(ids) * _CROWD > count:
        sums = np.bincount(ids, often, count)
        held = np.flatnonzero(sums)
        return _Hits(held, sums[held].astype(np.float32) / 4)
    held, place = np.unique(ids, return_inverse=True)
    sums = np.bincount(place, often, len(held))
    return _Hits(held.astype(np.int64), sums.astype(np.float32) / 4)


def _ranges(segment: Segment, spine: Sequence[str], open_end: bool) -> list[tuple[int, int]] | None:
    """For each word the range of its number; None where one is not in the segment."""
    ranges = []
    for at, word in enumerate(spine):
        if open_end and at == len(spine) - 1:
            first, last = segment.prefix(word)
        else:
            number = segment.find(word)
            first, last = (0, 0) if number is None else (number, number + 1)
        if first == last:
            return None
        ranges.append((first, last))
    return ranges


def _phrase(segment: Segment, needle: Needle) -> Iterator[_Hits]:
    """Memories with these words in this order, as the stream has them."""
    ranges = _ranges(segment, needle.spine, needle.open_end)
    if ranges is None:
        return
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
    if len(starts):
        memories = np.searchsorted(segment.starts, starts, side="right") - 1
        yield _Hits(memories, np.full(len(memories), 4, np.float32))


def _in_range(values: Ints, first: int, last: int) -> Mask:
    return values == first if last == first + 1 else (values >= first) & (values < last)


def _titled(segment: Segment, spine: Sequence[str], open_end: bool, among: Mask) -> Longs:
    ranges = _ranges(segment, spine, open_end)
    end = segment.first + segment.count
    slots = np.flatnonzero(among[segment.first : end]) + segment.first
    if not ranges or not len(slots):
        return np.empty(0, np.int64)
    starts = segment.starts[slots - segment.first]
    fits = starts + len(ranges) < segment.starts[slots - segment.first + 1]
    slots, starts = slots[fits], starts[fits]
    for at, (first, last) in enumerate([*ranges, (FIELD_END, FIELD_END + 1)]):
        same = _in_range(segment.stream[starts + at], first, last)
        slots, starts = slots[same], starts[same]
    return slots
