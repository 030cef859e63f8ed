"""Precomputed postings for frequent prefixes of two and three letters.

Thousands of words begin with `de`, and merging their postings is most of the work for that
keystroke. So each prefix of two or three letters with many postings is stored merged, which takes
nearly as much space again as the postings. Longer or rarer prefixes are merged when they are
asked for, and so are single letters, which would take half as much space once more and are rarely
searched alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PREFIX_LENGTHS = (2, 3)
"""In letters; longer prefixes have few words."""
SHARE_DIVISOR = 32
"""A prefix is stored if it has more postings than the number of memories divided by this ..."""
MIN_POSTINGS = 256
"""... and more than this."""
MAX_WEIGHT = 255
"""Cap of a weight, in quarters: 64 occurrences score within 2 % of infinitely many."""

_LAST_CHARACTER = "\U0010ffff"


@dataclass(frozen=True, eq=False)
class PrefixPostings:
    """Sorted prefixes; for each the memories, ascending, and their weights."""

    names: list[str]
    ptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    weights: NDArray[np.uint8]

    def find(self, prefix: str) -> tuple[NDArray[np.int32], NDArray[np.uint8]] | None:
        """The memories and their weights; None where the prefix is not stored."""
        at = bisect_left(self.names, prefix)
        if at == len(self.names) or self.names[at] != prefix:
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
    """Merge the postings of the frequent prefixes.

    Args:
        terms: All words, in order; this and the next three as in `memtui.search.postings`.
        indptr: Where the postings of each word begin.
        ids: The numbers of the memories.
        weights: The weights of the words in them.
        count: How many memories there are.

    Returns:
        The merged postings of each prefix that is frequent enough.
    """
    least = max(MIN_POSTINGS, count // SHARE_DIVISOR)
    found: list[tuple[str, NDArray[np.int32], NDArray[np.uint8]]] = []
    for start, begin, end in _frequent(terms, indptr, least):
        sums = np.bincount(ids[begin:end], weights[begin:end], count)
        memories = np.flatnonzero(sums)
        often = np.minimum(sums[memories], MAX_WEIGHT).astype(np.uint8)
        found.append((start, memories.astype(np.int32), often))
    found.sort(key=lambda entry: entry[0])
    ptr = np.zeros(len(found) + 1, np.int64)
    np.cumsum([len(memories) for _, memories, _ in found], out=ptr[1:])
    return PrefixPostings(
        [start for start, _, _ in found],
        ptr,
        np.concatenate([np.empty(0, np.int32), *(memories for _, memories, _ in found)]),
        np.concatenate([np.empty(0, np.uint8), *(often for _, _, often in found)]),
    )


def _frequent(
    terms: Sequence[str], indptr: NDArray[np.int64], least: int
) -> Iterator[tuple[str, int, int]]:
    """Prefixes of several words with more than `least` postings, and the range of those."""
    ranges = [(0, len(terms))]
    for length in range(1, max(PREFIX_LENGTHS) + 1):
        longer: list[tuple[int, int]] = []
        for first, last in ranges:
            longer += _split(terms, first, last, length)
        ranges = [(a, b) for a, b in longer if b - a > 1 and indptr[b] - indptr[a] > least]
        for first, last in ranges if length in PREFIX_LENGTHS else ():
            yield terms[first][:length], int(indptr[first]), int(indptr[last])


def _split(terms: Sequence[str], first: int, last: int, length: int) -> Iterator[tuple[int, int]]:
    """Split a range of words by their first `length` letters; shorter words are left out."""
    while first < last:
        start = terms[first][:length]
        end = bisect_left(terms, start + _LAST_CHARACTER, first, last)
        if len(start) == length:
            yield first, end
            first = end
        else:
            first += 1
