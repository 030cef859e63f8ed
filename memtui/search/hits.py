"""Slots and how often each holds something: taken from the postings, added, compared, joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memtui.search.postings import Longs, Segment

_CROWD = 16
"""With more postings than memories / _CROWD, counting over all memories beats sorting."""
_QUARTER, _WHOLE = np.float32(0.25), np.float32(1.0)
_KEPT = 8
"""Answers kept with each segment: a word stays the same while the next is typed."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Slots (ascending, each once) and how often, weighted by field, each holds something."""

    slots: Longs
    often: NDArray[np.float32]


NONE = Hits(np.empty(0, np.int64), np.empty(0, np.float32))


def of_terms(segment: Segment, terms: Sequence[int], shares: Sequence[float] = ()) -> Hits:
    """Memories of the segment that hold one of these words; `shares`: what each word counts."""
    parts = []
    for at, term in enumerate(terms):
        held = _of_term(segment, term)
        share = shares[at] if shares else 1.0
        parts.append(held if share == 1.0 else Hits(held.slots, held.often * np.float32(share)))
    return added(parts, segment)


def _of_term(segment: Segment, term: int) -> Hits:
    start, end = int(segment.indptr[term]), int(segment.indptr[term + 1])
    slots = segment.ids[start:end].astype(np.int64)
    if segment.first:
        slots += segment.first
    return Hits(slots, segment.weights[start:end] * _QUARTER)


def of_range(segment: Segment, first: int, last: int) -> Hits:
    """Memories that hold one of these neighbouring words."""
    start, end = int(segment.indptr[first]), int(segment.indptr[last])
    if last - first == 1:
        return _of_term(segment, first)
    return _sum(segment, segment.ids[start:end], segment.weights[start:end], _QUARTER)


def added(parts: Sequence[Hits], segment: Segment) -> Hits:
    """All parts in one, summed where a slot is in several. The parts are of this segment."""
    parts = [part for part in parts if len(part.slots)]
    if len(parts) <= 1:
        return parts[0] if parts else NONE
    slots = np.concatenate([part.slots for part in parts])
    often = np.concatenate([part.often for part in parts])
    return _sum(segment, slots - segment.first, often)


def counted(segment: Segment, memories: NDArray[Any]) -> Hits:
    """Once for each time a memory of the segment (by its number there) is named."""
    return _sum(segment, memories, np.ones(len(memories), np.float32))


def _sum(
    segment: Segment, ids: NDArray[Any], often: NDArray[Any], unit: np.float32 = _WHOLE
) -> Hits:
    if not len(ids):
        return NONE
    if len(ids) * _CROWD > segment.count:
        sums = np.bincount(ids, often, segment.count)
        held = (sums > 0).nonzero()[0]
        return Hits(held + segment.first, sums[held].astype(np.float32) * unit)
    order = ids.argsort(kind="stable")
    ordered = ids[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sums = np.add.reduceat(often[order], starts, dtype=np.float32)
    return Hits(ordered[starts].astype(np.int64) + segment.first, sums * unit)


def joined(parts: Iterable[Hits]) -> Hits:
    """Hits of different segments, one after the other."""
    found = sorted((part for part in parts if len(part.slots)), key=lambda p: int(p.slots[0]))
    if len(found) <= 1:
        return found[0] if found else NONE
    return Hits(
        np.concatenate([part.slots for part in found]),
        np.concatenate([part.often for part in found]),
    )


def highest(one: Hits, other: Hits, slots: int) -> Hits:
    """Both together, the higher value where a slot is in both."""
    if len(one.slots) < len(other.slots):
        one, other = other, one
    if not len(other.slots):
        return one
    at = np.searchsorted(one.slots, other.slots)
    at[at == len(one.slots)] = 0
    if (one.slots[at] == other.slots).all():
        merged = one.often.copy()
        merged[at] = np.maximum(merged[at], other.often)
        return Hits(one.slots, merged)
    values = np.zeros(slots, np.float32)
    values[one.slots] = one.often
    values[other.slots] = np.maximum(values[other.slots], other.often)
    found = np.union1d(one.slots, other.slots)
    return Hits(found, values[found])


def common(parts: Sequence[Hits]) -> Hits:
    """Slots that are in all parts, as often as in the part that has them least."""
    both = parts[0]
    for part in parts[1:]:
        slots, ours, theirs = np.intersect1d(
            both.slots, part.slots, assume_unique=True, return_indices=True
        )
        both = Hits(slots, np.minimum(both.often[ours], part.often[theirs]))
    return both


def kept(segment: Segment, question: tuple[str, str], ask: Callable[[], Hits]) -> Hits:
    """The answer to a question to this segment, remembered for the next keystrokes."""
    known: Hits | None = segment.recent.get(question)
    if known is None:
        known = ask()
        for former in list(segment.recent)[: max(0, len(segment.recent) - _KEPT + 1)]:
            segment.recent.pop(former, None)  # another thread may have been faster
        segment.recent[question] = known
    return known
