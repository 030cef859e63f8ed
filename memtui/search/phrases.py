"""Find words in a row in the token streams of a segment: phrases, and whole titles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memtui.search import hits
from memtui.search.array_types import Ints, Longs, Mask
from memtui.search.hits import NO_SLOTS, TermHits
from memtui.search.postings import Segment
from memtui.search.query_terms import QueryTerm


def _word_ranges(
    segment: Segment, parts: Sequence[str], last_is_prefix: bool
) -> list[tuple[int, int]] | None:
    """The range of word numbers for each word; None if the segment lacks one of them."""
    ranges = []
    for at, word in enumerate(parts):
        if last_is_prefix and at == len(parts) - 1:
            first, last = segment.prefix_range(word)
        else:
            number = segment.find_word(word)
            first, last = (0, 0) if number is None else (number, number + 1)
        if first == last:
            return None
        ranges.append((first, last))
    return ranges


def find_phrase(segment: Segment, term: QueryTerm) -> TermHits:
    """Memories with these words in this order, found in the token stream."""
    ranges = _word_ranges(segment, term.parts, term.last_is_prefix)
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


def find_titles(segment: Segment, parts: Sequence[str], last_is_prefix: bool) -> Longs:
    """The slots whose title is exactly these words."""
    memories = segment.by_title_length.get(len(parts), NO_SLOTS)
    ranges = _word_ranges(segment, parts, last_is_prefix) if len(memories) else None
    for at, (first, last) in enumerate(ranges or ()):
        words = segment.stream[segment.starts[memories] + at]
        memories = memories[_in_range(words, first, last)]
    return memories + segment.first if ranges else NO_SLOTS
