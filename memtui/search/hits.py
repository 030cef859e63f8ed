"""Read hits of words from postings, and sum, intersect, concatenate and filter them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memtui.search.array_types import Doubles, Floats, Longs, Mask
from memtui.search.groups import Context
from memtui.search.postings import Segment
from memtui.search.prefix_postings import MAX_WEIGHT

_DENSITY = 16
"""With more postings than memories / _DENSITY, a count over all memories is faster than a sort."""
_FEW = 512
"""Up to this many slots are searched in a longer list; more are marked in an array of all slots."""
_QUARTER = np.float32(0.25)
_CACHE_SIZE = 8
"""Hits cached with each segment: a word stays the same while the next is typed."""


@dataclass(frozen=True, slots=True)
class TermHits:
    """Slots, ascending and unique, and the weight (occurrences by field) of each."""

    slots: Longs
    weights: Floats


NO_HITS = TermHits(np.empty(0, np.int64), np.empty(0, np.float32))


def read_terms(segment: Segment, terms: Sequence[int], shares: Sequence[float] = ()) -> TermHits:
    """The hits of words of the segment, summed; `shares` are the factors of the words."""
    parts = []
    for at, term in enumerate(terms):
        start, end = int(segment.indptr[term]), int(segment.indptr[term + 1])
        unit = np.float32(0.25 * shares[at]) if shares else _QUARTER
        parts.append(_held(segment, segment.ids[start:end], segment.weights[start:end], unit))
    return _merge_parts(parts, segment)


def _held(
    segment: Segment, ids: NDArray[np.int32], weights: NDArray[np.uint8], unit: np.float32
) -> TermHits:
    slots = ids.astype(np.int64)
    if segment.first:
        slots += segment.first
    return TermHits(slots, weights * unit)


def read_prefix(segment: Segment, prefix: str) -> TermHits:
    """The hits of all words with this prefix, summed."""
    if (stored := segment.prefixes.find(prefix)) is not None:
        return _held(segment, *stored, _QUARTER)
    return read_range(segment, *segment.prefix_range(prefix))


def read_range(segment: Segment, first: int, last: int) -> TermHits:
    """The hits of the words numbered first..last-1, summed."""
    start, end = int(segment.indptr[first]), int(segment.indptr[last])
    ids, weights = segment.ids[start:end], segment.weights[start:end]
    if last - first <= 1:
        return _held(segment, ids, weights, _QUARTER)
    found = _sum(segment, ids, weights)
    capped = np.minimum(found.weights, np.float32(MAX_WEIGHT))
    capped *= _QUARTER
    return TermHits(found.slots, capped)


def _merge_parts(parts: Sequence[TermHits], segment: Segment) -> TermHits:
    """Hits of the same segment as one; the weights of a slot in several are added."""
    parts = [part for part in parts if len(part.slots)]
    if len(parts) <= 1:
        return parts[0] if parts else NO_HITS
    slots = np.concatenate([part.slots for part in parts])
    weights = np.concatenate([part.weights for part in parts])
    return _sum(segment, slots - segment.first, weights)


def count_memories(segment: Segment, memories: NDArray[Any]) -> TermHits:
    """Hits with the number of times that each memory (numbered in the segment) occurs."""
    return _sum(segment, memories, np.ones(len(memories), np.float32))


def _sum(segment: Segment, ids: NDArray[Any], weights: NDArray[Any]) -> TermHits:
    if not len(ids):
        return NO_HITS
    if len(ids) * _DENSITY > segment.count:
        counts = np.bincount(ids, weights, segment.count)
        held = (counts > 0).nonzero()[0]
        return TermHits(held + segment.first, counts.take(held).astype(np.float32))
    order = ids.argsort(kind="stable")
    ordered = ids.take(order)
    begins = np.empty(len(ordered), np.bool_)
    begins[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    starts = begins.nonzero()[0]
    sums = np.add.reduceat(weights.take(order), starts, dtype=np.float32)
    return TermHits(ordered.take(starts).astype(np.int64) + segment.first, sums)


def concat_hits(parts: Iterable[TermHits]) -> TermHits:
    """Concatenate hits of different segments."""
    found = [part for part in parts if len(part.slots)]
    if len(found) <= 1:
        return found[0] if found else NO_HITS
    found.sort(key=lambda part: int(part.slots[0]))
    return TermHits(
        np.concatenate([part.slots for part in found]),
        np.concatenate([part.weights for part in found]),
    )


def filter_hits(held: TermHits, mask: NDArray[np.bool_]) -> TermHits:
    """The hits in slots of the mask; slots beyond its end are dropped."""
    slots = held.slots
    inside = mask.take(slots, mode="clip")
    inside &= slots < len(mask)
    return held if inside.all() else TermHits(slots[inside], held.weights[inside])


def count_holders(segment: Segment, term: int, alive: NDArray[np.bool_] | None) -> int:
    """How many living memories of the segment hold the word with this number."""
    if alive is None:
        return segment.document_frequency(term)
    start, end = int(segment.indptr[term]), int(segment.indptr[term + 1])
    slots = segment.ids[start:end] + segment.first
    return int(np.count_nonzero(alive[slots[slots < len(alive)]]))


def take_maximum(one: TermHits, other: TermHits, size: int) -> TermHits:
    """The union, with the higher weight where a slot is in both; `size` is the number of slots."""
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


@dataclass(frozen=True, slots=True)
class HitSums:
    """Slots of several hits, unique and unordered, with the sum and the number of the hits."""

    slots: Longs
    sums: Floats
    term_counts: NDArray[np.uint16]


def sum_hits(parts: Sequence[TermHits], size: int) -> HitSums:
    """Add up hits with weights above 0; `size` is the number of slots."""
    first, *others = sorted(parts, key=lambda part: -len(part.slots))
    others = [part for part in others if len(part.slots)]
    if not others:
        return HitSums(first.slots, first.weights, np.ones(len(first.slots), np.uint16))
    values = np.zeros(size, np.float32)
    counts = np.zeros(size, np.uint16)
    values[first.slots] = first.weights
    counts[first.slots] = 1
    found = [first.slots]
    for part in others:
        before = counts.take(part.slots)
        found.append(part.slots[before == 0])
        values[part.slots] += part.weights
        before += np.uint16(1)
        counts[part.slots] = before
    slots = np.concatenate(found)
    return HitSums(slots, values.take(slots), counts.take(slots))


def get_cached(segment: Segment, key: tuple[str, str], compute: Callable[[], TermHits]) -> TermHits:
    """The cached hits under this key, computed and cached first if they are missing."""
    known: TermHits | None = segment.cached_hits.get(key)
    if known is None:
        known = compute()
        excess = max(0, len(segment.cached_hits) - _CACHE_SIZE + 1)
        for former in list(segment.cached_hits)[:excess]:
            segment.cached_hits.pop(former, None)  # another thread may have been faster
        segment.cached_hits[key] = known
    return known


NO_SLOTS = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class AddedScore:
    """A named part of the score that only some matches have."""

    name: str
    """As `--explain` shows it."""
    slots: Longs
    values: Floats


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

    def losses(self, slots: Longs, /) -> Floats:
        """The share of its text score that each memory would lose for its length."""
        ...

    @property
    def may_add(self) -> bool:
        """Whether `added` has something to look for."""
        ...

    def added(
        self, slots: Longs, text: Floats, losses: Floats, when: Doubles, /
    ) -> tuple[AddedScore, ...]:
        """Further parts for matches with all words, of which the best are looked at."""
        ...


@dataclass(frozen=True, slots=True)
class ScoredTerm:
    """What one term of the query adds to the text score of each slot that has it."""

    hits: TermHits
    """The weights are scores, before the sum is divided by the best."""
    highest: float
    """The highest score that a slot could have for this term."""
    word: str = ""
    """The word, if it is a single one and not still being typed."""


@dataclass(frozen=True)
class Match:
    """The slots that match the text of a query, before filters."""

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
    losses: Floats | None = None
    """The share of `text` that each of `slots` loses for its length if it has all words."""
    added: tuple[AddedScore, ...] = ()
    """Further parts of the score: passage, as typed, date."""
    bonuses: Bonuses | None = None
    """Computes `losses` and `added`."""
    substituted: tuple[Substitution, ...] = ()
    """Words that occur nowhere, with the words that were looked for instead."""

    @cached_property
    def found(self) -> Mask:
        """Whether each of all slots matches."""
        found = np.zeros(self.size, np.bool_)
        found[self.slots] = True
        return found

    def sum_added(self, slots: Longs) -> Floats:
        """The sum of the added parts and of the context for each of these slots."""
        sums = np.zeros(self.size, np.float32)
        if self.context is not None:
            sums[self.context.slots] = self.context.total
        for part in self.added:
            sums[part.slots] += part.values
        return sums.take(slots)

    @cached_property
    def added_range(self) -> float:
        """By how much the added parts of two memories can differ at most."""
        highest = sum(float(part.values.max(initial=0.0)) for part in self.added)
        return highest - sum(float(part.values.min(initial=0.0)) for part in self.added)

    def changed(self, **values: Any) -> Match:
        """`dataclasses.replace` in a fifth of the time, which a keystroke feels."""
        made = object.__new__(Match)
        held = made.__dict__
        held.update(self.__dict__)
        for name in _COMPUTED:
            held.pop(name, None)
        held.update(values)
        return made

    def with_slots(self, slots: Longs) -> Match:
        """The match with these slots added, with a text score of 0."""
        return self.with_fresh_slots(np.unique(slots[~self.found.take(slots)]))

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
            losses=None if self.losses is None else np.concatenate([self.losses, none]),
        )

    def find_position(self, slot: int) -> int:
        """The position of a slot in `slots`. Raises IndexError."""
        return int(np.flatnonzero(self.slots == slot)[0])


_COMPUTED = tuple(name for name, value in vars(Match).items() if isinstance(value, cached_property))


def match_none(size: int, missing: Iterable[str] = ()) -> Match:
    """A match without any slot; `missing` are the terms that matched nothing."""
    none = np.empty(0, np.float32)
    return Match(size, NO_SLOTS, none, np.empty(0, np.bool_), missing=tuple(dict.fromkeys(missing)))
