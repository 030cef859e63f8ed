"""Read hits of words from the index, and sum, intersect, concatenate and filter them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memtui.search.array_types import Floats, Longs, Mask
from memtui.search.memory_index import Segment

_QUARTER = np.float32(0.25)
NO_SLOTS = np.empty(0, np.int64)


class TermHits(NamedTuple):
    """Slots, ascending and unique, and the weight (occurrences by field) of each."""

    slots: Longs
    weights: Floats


NO_HITS = TermHits(NO_SLOTS, np.empty(0, np.float32))


def count_once(slots: Longs) -> TermHits:
    """Return the hits of something that each of these slots has once."""
    return TermHits(slots, np.ones(len(slots), np.float32))


def read_terms(segment: Segment, terms: Sequence[int], shares: Sequence[float] = ()) -> TermHits:
    """The hits of the words `terms` of a `segment`, summed; `shares` are the words' factors."""
    parts = []
    for at, term in enumerate(terms):
        ids, weights = segment.read(term)
        parts.append((ids, weights * (np.float32(0.25 * shares[at]) if shares else _QUARTER)))
    if not parts:
        return NO_HITS
    if len(parts) == 1:
        return _to_hits(segment, *parts[0])
    ids, values = map(np.concatenate, zip(*parts, strict=True))
    return _sum(segment, ids, values)


def read_words(segment: Segment, words: Iterable[str]) -> TermHits:
    """The hits of those of the `words` that the `segment` has, summed."""
    found = (segment.find_word(word) for word in words)
    return read_terms(segment, [number for number in found if number is not None])


def _to_hits(segment: Segment, ids: NDArray[Any], weights: Floats) -> TermHits:
    return TermHits(segment.slots.take(ids), weights)


def read_prefix(segment: Segment, start: str) -> TermHits:
    """The hits of the words of a `segment` with a prefix, summed."""
    ids, weights = segment.read_prefix(start)
    return _to_hits(segment, ids, weights * _QUARTER)


def count_memories(segment: Segment, memories: NDArray[Any]) -> TermHits:
    """Return how often each of the `memories`, numbered in the `segment`, occurs, as hits."""
    return _sum(segment, memories, np.ones(len(memories), np.float32))


def _sum(segment: Segment, ids: NDArray[Any], weights: NDArray[Any]) -> TermHits:
    counts = np.bincount(ids, weights, segment.count)
    memories = (counts > 0).nonzero()[0]
    return _to_hits(segment, memories, counts.take(memories).astype(np.float32))


def concat_hits(parts: Iterable[TermHits]) -> TermHits:
    """Return the hits of several segments as one, in the order of their slots."""
    found = [part for part in parts if len(part.slots)]
    if len(found) <= 1:
        return found[0] if found else NO_HITS
    slots, weights = map(np.concatenate, zip(*found, strict=True))
    order = slots.argsort(kind="stable")
    return TermHits(slots[order], weights[order])


def filter_hits(term_hits: TermHits, mask: Mask) -> TermHits:
    """The `term_hits` in slots of the `mask`; slots beyond its end are dropped."""
    slots = term_hits.slots
    inside = mask.take(slots, mode="clip") & (slots < len(mask))
    return term_hits if inside.all() else TermHits(slots[inside], term_hits.weights[inside])


def count_holders(segment: Segment, term: int, alive: Mask | None) -> int:
    """How many memories of a `segment` that are `alive` hold the word numbered `term`."""
    if alive is None:
        return int(segment.lists.sizes[term])
    slots = segment.slots.take(segment.read(term)[0])
    return int(np.count_nonzero(alive[slots[slots < len(alive)]]))


def take_maximum(one: TermHits, other: TermHits, size: int) -> TermHits:
    """The union of `one` and `other`, with the higher weight for each of the `size` slots."""
    values = np.zeros(size, np.float32)
    values[one.slots] = one.weights
    values[other.slots] = np.maximum(values.take(other.slots), other.weights)
    slots = values.nonzero()[0]
    return TermHits(slots, values.take(slots))


def intersect_hits(parts: Sequence[TermHits]) -> TermHits:
    """The slots in all parts, each with its lowest weight."""
    both = parts[0]
    for part in parts[1:]:
        slots, ours, theirs = np.intersect1d(
            both.slots, part.slots, assume_unique=True, return_indices=True
        )
        both = TermHits(slots, np.minimum(both.weights[ours], part.weights[theirs]))
    return both
