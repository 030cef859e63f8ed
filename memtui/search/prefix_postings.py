"""Beginnings that many memories have: which ones, added up beforehand.

`de` is begun by thousands of words, and adding up who holds one of them is most of what the letter
costs. So every beginning of two or three letters that has many postings keeps its sum beside them
(nearly as much again as the postings); longer or rarer ones are added up when they are asked, and
so are single letters, which would take half as much once more for a keystroke that says nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PREFIX_LENGTHS = (2, 3)
"""Letters; what is longer begins few words."""
MIN_SHARE = 32
"""Kept are beginnings with more postings than a share of this many of all memories ..."""
MIN_POSTINGS = 256
"""... and than this."""
MAX_WEIGHT = 255
"""What a sum is cut at, in quarters: the score of 64 occurrences is within 2 % of the highest."""

_AFTER_ALL = "\U0010ffff"


@dataclass(frozen=True, eq=False)
class PrefixPostings:
    """Beginnings in order; for each the memories, ascending, and how often they hold it."""

    starts: list[str]
    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    weights: NDArray[np.uint8]

    def find(self, start: str) -> tuple[NDArray[np.int32], NDArray[np.uint8]] | None:
        """The memories and their weights; None where they must be added up."""
        at = bisect_left(self.starts, start)
        if at == len(self.starts) or self.starts[at] != start:
            return None
        begin, end = int(self.ptr[at]), int(self.ptr[at + 1])
        return self.ids[begin:end], self.weights[begin:end]


def build_prefix_postings(
    terms: Sequence[str],
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    weights: NDArray[np.uint8],
    count: int,
) -> PrefixPostings:
    """The heads of these words and postings (see `memtui.search.postings`) of `count` memories."""
    least = max(MIN_POSTINGS, count // MIN_SHARE)
    found: list[tuple[str, NDArray[np.int32], NDArray[np.uint8]]] = []
    for start, begin, end in _frequent(terms, indptr, least):
        sums = np.bincount(ids[begin:end], weights[begin:end], count)
        held = np.flatnonzero(sums)
        often = np.minimum(sums[held], MAX_WEIGHT).astype(np.uint8)
        found.append((start, held.astype(np.int32), often))
    found.sort(key=lambda head: head[0])
    ptr = np.zeros(len(found) + 1, np.int64)
    np.cumsum([len(held) for _, held, _ in found], out=ptr[1:])
    return PrefixPostings(
        [start for start, _, _ in found],
        ptr,
        np.concatenate([np.empty(0, np.int32), *(held for _, held, _ in found)]),
        np.concatenate([np.empty(0, np.uint8), *(often for _, _, often in found)]),
    )


def _frequent(
    terms: Sequence[str], indptr: NDArray[np.int64], least: int
) -> Iterator[tuple[str, int, int]]:
    """Beginnings of several words with more than `least` postings, and where those stand."""
    ranges = [(0, len(terms))]
    for length in range(1, max(PREFIX_LENGTHS) + 1):
        longer: list[tuple[int, int]] = []
        for first, last in ranges:
            longer += _split(terms, first, last, length)
        ranges = [(a, b) for a, b in longer if b - a > 1 and indptr[b] - indptr[a] > least]
        for first, last in ranges if length in PREFIX_LENGTHS else ():
            yield terms[first][:length], int(indptr[first]), int(indptr[last])


def _split(terms: Sequence[str], first: int, last: int, length: int) -> Iterator[tuple[int, int]]:
    """The words of a range that are so long, by their first `length` letters."""
    while first < last:
        start = terms[first][:length]
        end = bisect_left(terms, start + _AFTER_ALL, first, last)
        if len(start) == length:
            yield first, end
            first = end
        else:
            first += 1
