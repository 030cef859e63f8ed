"""Read hits of words from postings, and sum, intersect, concatenate and filter them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from memtui.dataclass import dataclass, field
from memtui.search.array_types import Doubles, Floats, Longs, Mask, sort_unique, to_mask
from memtui.search.groups import Context
from memtui.search.postings import MAX_WEIGHT, Segment

_DENSITY = 16
"""With more postings than memories / _DENSITY, a count over all memories is faster than a sort."""
_FEW = 512
"""Up to this many slots are searched in a longer list; more are marked in an array of all slots."""
_QUARTER = np.float32(0.25)
_CACHE_SIZE = 8
"""Hits cached with each segment: a word stays the same while the next is typed."""


class TermHits(NamedTuple):
    """Slots, ascending and unique, and the weight (occurrences by field) of each."""

    slots: Longs
    weights: Floats


NO_HITS = TermHits(np.empty(0, np.int64), np.empty(0, np.float32))


def read_terms(segment: Segment, terms: Sequence[int], shares: Sequence[float] = ()) -> TermHits:
    """The hits of the words `terms` of a `segment`, summed; `shares` are the words' factors."""
    parts = []
    for at, term in enumerate(terms):
        start, end = segment.indptr[term : term + 2].tolist()
        unit = np.float32(0.25 * shares[at]) if shares else _QUARTER
        parts.append(_to_hits(segment, segment.ids[start:end], segment.weights[start:end], unit))
    parts = [part for part in parts if len(part.slots)]
    if len(parts) <= 1:
        return parts[0] if parts else NO_HITS
    slots, weights = map(np.concatenate, zip(*parts, strict=True))
    return _sum(segment, slots - segment.first, weights)


def read_words(segment: Segment, words: Iterable[str]) -> TermHits:
    """The hits of those of the `words` that the `segment` has, summed."""
    found = (segment.find_word(word) for word in words)
    return read_terms(segment, [number for number in found if number is not None])


def _to_hits(
    segment: Segment, ids: NDArray[np.int32], weights: NDArray[np.uint8], unit: np.float32
) -> TermHits:
    slots = ids.astype(np.int64)
    if segment.first:
        slots += segment.first
    return TermHits(slots, weights * unit)


def read_prefix(segment: Segment, prefix: str) -> TermHits:
    """The hits of all words of a `segment` that begin with `prefix`, summed."""
    if (stored := segment.prefixes.find(prefix)) is not None:
        return _to_hits(segment, *stored, _QUARTER)
    return read_range(segment, *segment.terms.prefix_range(prefix))


def read_range(segment: Segment, first: int, last: int) -> TermHits:
    """The hits of the words of a `segment` numbered `first` to `last` - 1, summed."""
    start, end = int(segment.indptr[first]), int(segment.indptr[last])
    ids, weights = segment.ids[start:end], segment.weights[start:end]
    if last - first <= 1:
        return _to_hits(segment, ids, weights, _QUARTER)
    found = _sum(segment, ids, weights)
    capped = np.minimum(found.weights, np.float32(MAX_WEIGHT))
    capped *= _QUARTER
    return TermHits(found.slots, capped)


def count_memories(segment: Segment, memories: NDArray[Any]) -> TermHits:
    """Return how often each of the `memories`, numbered in the `segment`, occurs, as hits."""
    return _sum(segment, memories, np.ones(len(memories), np.float32))


def _sum(segment: Segment, ids: NDArray[Any], weights: NDArray[Any]) -> TermHits:
    if not len(ids):
        return NO_HITS
    if len(ids) * _DENSITY > segment.count:
        counts = np.bincount(ids, weights, segment.count)
        memories = (counts > 0).nonzero()[0]
        return TermHits(memories + segment.first, counts.take(memories).astype(np.float32))
    order = ids.argsort(kind="stable")
    ordered = ids.take(order)
    begins = np.empty(len(ordered), np.bool_)
    begins[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    starts = begins.nonzero()[0]
    sums = np.add.reduceat(weights.take(order), starts, dtype=np.float32)
    return TermHits(ordered.take(starts).astype(np.int64) + segment.first, sums)


def concat_hits(parts: Iterable[TermHits]) -> TermHits:
    """Return the hits of several segments as one."""
    found = [part for part in parts if len(part.slots)]
    if len(found) <= 1:
        return found[0] if found else NO_HITS
    found.sort(key=lambda part: int(part.slots[0]))
    return TermHits(*map(np.concatenate, zip(*found, strict=True)))


def filter_hits(term_hits: TermHits, mask: NDArray[np.bool_]) -> TermHits:
    """The `term_hits` in slots of the `mask`; slots beyond its end are dropped."""
    slots = term_hits.slots
    inside = mask.take(slots, mode="clip")
    inside &= slots < len(mask)
    return term_hits if inside.all() else TermHits(slots[inside], term_hits.weights[inside])


def count_holders(segment: Segment, term: int, alive: NDArray[np.bool_] | None) -> int:
    """How many memories of a `segment` that are `alive` hold the word numbered `term`."""
    start, end = int(segment.indptr[term]), int(segment.indptr[term + 1])
    if alive is None:
        return end - start
    slots = segment.ids[start:end] + segment.first
    return int(np.count_nonzero(alive[slots[slots < len(alive)]]))


def take_maximum(one: TermHits, other: TermHits, size: int) -> TermHits:
    """The union of `one` and `other`, with the higher weight for each of the `size` slots."""
    if len(one.slots) < len(other.slots):
        one, other = other, one
    if not len(other.slots):
        return one
    if len(other.slots) <= _FEW:
        at = one.slots.searchsorted(other.slots)
        at[at == len(one.slots)] = 0
        if (one.slots.take(at) == other.slots).all():
            weights = one.weights.copy()
            weights[at] = np.maximum(weights.take(at), other.weights)
            return TermHits(one.slots, weights)
    values = np.zeros(size, np.float32)
    values[other.slots] = other.weights
    higher = np.maximum(one.weights, values.take(one.slots, mode="clip"))
    values[one.slots] = 0
    rest = values.take(other.slots, mode="clip") > 0
    if not rest.any():
        return TermHits(one.slots, higher)
    slots = np.concatenate([one.slots, other.slots[rest]])
    order = slots.argsort(kind="stable")
    return TermHits(slots[order], np.concatenate([higher, other.weights[rest]])[order])


def intersect_hits(parts: Sequence[TermHits]) -> TermHits:
    """The slots in all parts, each with its lowest weight."""
    both = parts[0]
    for part in parts[1:]:
        slots, ours, theirs = np.intersect1d(
            both.slots, part.slots, assume_unique=True, return_indices=True
        )
        both = TermHits(slots, np.minimum(both.weights[ours], part.weights[theirs]))
    return both


class HitSums(NamedTuple):
    """Slots of several hits, unique and unordered, with the sum and the number of the hits."""

    slots: Longs
    sums: Floats
    term_counts: NDArray[np.uint8] | NDArray[np.uint16]
    by_slot: Floats | None
    """The sum for each of all slots, and a last 0; None where there was nothing to add up."""


_last_sums: tuple[Sequence[TermHits], int, float, HitSums | None] = ((), 0, 0.0, None)
"""What was added up last, for the next letter. Assigned as a whole, for any thread."""


def sum_hits(parts: Sequence[TermHits], size: int, share: float) -> HitSums:
    """Return the sum of hits with weights above 0.

    Args:
        parts: The hits.
        size: The number of slots.
        share: What the weights are multiplied with.
    """
    global _last_sums
    known, *numbers, sums = _last_sums
    if sums is not None and numbers == [size, share] and [*map(id, known)] == [*map(id, parts)]:
        return sums
    unit, one = np.float32(share), (np.uint8 if len(parts) < 256 else np.uint16)(1)
    first, *others = sorted(parts, key=lambda part: -len(part.slots))
    if not others or not len(others[0].slots):
        once = np.ones(len(first.slots), one.dtype)
        return HitSums(first.slots, first.weights * unit, once, None)
    values, counts = np.zeros(size + 1, np.float32), np.zeros(size, one.dtype)
    values[first.slots] = first.weights * unit
    counts[first.slots] = one
    found = [first.slots]
    for part in others:
        before = counts.take(part.slots)
        found.append(part.slots.take((before == 0).nonzero()[0]))
        values[part.slots] += part.weights * unit
        counts[part.slots] = before + one
    slots = np.concatenate(found)
    sums = HitSums(slots, values.take(slots), counts.take(slots), values)
    _last_sums = parts, size, share, sums
    return sums


_Cached = TypeVar("_Cached")


def get_cached(segment: Segment, key: tuple[str, str], compute: Callable[[], _Cached]) -> _Cached:
    """Return what a `segment` caches under `key`, from `compute` if missing; the last used stay."""
    known: _Cached | None = segment.cached_hits.pop(key, None)
    if known is None:
        known = compute()
        excess = max(0, len(segment.cached_hits) - _CACHE_SIZE + 1)
        for former in list(segment.cached_hits)[:excess]:
            segment.cached_hits.pop(former, None)  # another thread may have been faster
    segment.cached_hits[key] = known
    return known


NO_SLOTS = np.empty(0, np.int64)


class AddedScore(NamedTuple):
    """A named part of the score that only some matches have."""

    name: str
    """As `--explain` shows it."""
    at: Longs | slice
    """The positions of these in `Match.slots`; a slice for all."""
    values: Floats
    least: float
    most: float
    """Between which the values are; 0 is between them."""


@dataclass(frozen=True, slots=True)
class Substitution:
    """A word of the query that no memory holds, and what was looked for instead."""

    typed: str
    words: tuple[str, ...]
    """The best ones first; at most `MAX_SUBSTITUTES_NAMED`."""
    count: int
    """How many there are."""


MAX_SUBSTITUTES_NAMED = 8


class Bonuses(Protocol):
    """Computes the parts of the score that only matches with all words have."""

    def added(self, slots: Longs, text: Floats, when: Doubles, /) -> list[AddedScore]:
        """The parts for these `slots`, by their `text` score and the time (`when`) of all."""


@dataclass(frozen=True, slots=True)
class ScoredTerm:
    """What one term of the query adds to the text score of each slot that has it."""

    hits: TermHits
    """The weights are scores, before the sum is divided by the best."""
    highest: float
    """The highest score that a slot could have for this term."""
    word: str = ""
    """The word, if it is a single one and not still being typed."""
    is_open: bool = False
    """Its last letter is still being typed."""
    cache: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was computed from it."""

    def by_slot(self, size: int) -> Floats:
        """The score for each of so many slots, and a last 0."""
        known: Floats | None = self.cache.get("by slot")
        if known is None or len(known) != size + 1:
            known = np.zeros(size + 1, np.float32)
            known[self.hits.slots] = self.hits.weights
            self.cache["by slot"] = known
        return known


@dataclass(frozen=True)
class Match:
    """The slots that match the text of a query."""

    size: int
    """How many slots there are."""
    slots: Longs
    """The matching slots, unique, in no order."""
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
    is_plain: bool = False
    """All terms are words, none is excluded or required, so that memories with none of them may
    join (`memtui.search.context`)."""
    time_words: Longs = field(default_factory=lambda: NO_SLOTS)
    """Slots with a word of time, if the query asks when."""
    context: Context | None = None
    """What stands around the matches; None for a query of one term."""
    meaning: Floats | None = None
    """The score that the vectors add to each of `slots`; None without vectors
    (`memtui.search.fusion`)."""
    too_far: float | None = None
    """The best cosine, if the query asks for meaning and no memory is near enough."""
    added: tuple[AddedScore, ...] = ()
    """Further parts of the score: length, passage, as typed, date."""
    bonuses: Bonuses | None = None
    """Computes `added`."""
    substituted: tuple[Substitution, ...] = ()
    """Words that occur nowhere, with the words that were looked for instead."""

    @cached_property
    def found(self) -> Mask:
        """Whether each of all slots matches."""
        return to_mask(self.slots, self.size)

    @cached_property
    def text_by_slot(self) -> Floats:
        """The text score of each of all slots, and a last 0."""
        text = np.zeros(self.size + 1, np.float32)
        text[self.slots] = self.text
        return text

    @property
    def added_range(self) -> float:
        """By how much the added parts of two memories can differ at most."""
        return sum(part.most - part.least for part in self.added)

    def changed(self, **values: Any) -> Match:
        """Return `dataclasses.replace` in a fifth of the time, which a keystroke feels."""
        made = object.__new__(Match)
        fields = made.__dict__
        fields.update(self.__dict__)
        if "slots" in values:
            fields.pop("found", None)
            fields.pop("text_by_slot", None)
        fields.update(values)
        return made

    def narrowed(self, passing: Mask) -> Match:
        """The match of those of its slots that pass."""
        at = passing.nonzero()[0]
        if len(at) == len(self.slots):
            return self
        return self.changed(
            slots=self.slots.take(at),
            text=self.text.take(at),
            all_words=self.all_words.take(at),
            meaning=None if self.meaning is None else self.meaning.take(at),
        )

    def with_slots(self, slots: Longs) -> Match:
        """The match with these slots added, with a text score of 0."""
        return self.with_fresh_slots(sort_unique(slots[~self.found.take(slots)]))

    def with_fresh_slots(self, fresh: Longs) -> Match:
        """The same for slots that are unique and do not match yet."""
        if not len(fresh):
            return self
        none = np.zeros(len(fresh), np.float32)
        return self.changed(
            slots=np.concatenate([self.slots, fresh]),
            text=np.concatenate([self.text, none]),
            all_words=np.concatenate([self.all_words, np.zeros(len(fresh), np.bool_)]),
            meaning=None if self.meaning is None else np.concatenate([self.meaning, none]),
        )


_EMPTY = Match(0, NO_SLOTS, NO_HITS.weights, np.empty(0, np.bool_))


def make_match(sums: HitSums, size: int, **values: Any) -> Match:
    """The match of hits summed in `sums` over `size` slots; see `Match` for the values."""
    found = _EMPTY.changed(size=size, slots=sums.slots, text=sums.sums, **values)
    if sums.by_slot is not None:
        found.__dict__["text_by_slot"] = sums.by_slot
    return found


def match_none(size: int, missing: Iterable[str] = ()) -> Match:
    """Return a match without any of `size` slots; `missing` are the terms that matched nothing."""
    return _EMPTY.changed(size=size, missing=tuple(dict.fromkeys(missing)))
