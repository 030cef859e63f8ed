"""Find similar memories by their distinctive words, where there are no vectors.

The words of a memory are weighted as in BM25: rare ones high, common ones low. The dozen with the
highest weights are looked up in all other memories, and each memory scores the share of the weight
that it holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from memtui.model import CURRENT, STATUSES
from memtui.progress import Cancelled, IsCancelled
from memtui.search import analysis, hits
from memtui.search.array_types import Floats, Mask
from memtui.search.columns import Columns
from memtui.search.documents import FIELD_WEIGHTS, IndexedDocument
from memtui.search.matching import K1
from memtui.search.postings import Segment
from memtui.search.vector_search import find_nearest

MAX_WORDS = 12
"""Words that are looked up; more blur what the memory is about (Lucene's MoreLikeThis: 25)."""
MAX_SHARE = 0.2
"""Words in a larger share of all memories are not distinctive ..."""
FEW_MEMORIES = 3
"""... unless they are in no more memories than this."""
MIN_CHARS = 2
"""Characters of a distinctive word."""


def find_distinctive_words(
    document: IndexedDocument, segments: Sequence[Segment], alive: Mask | None = None
) -> list[tuple[str, float]]:
    """The words that distinguish a memory from the others.

    Args:
        document: The memory.
        segments: The index.
        alive: For each slot whether it counts; None: all.

    Returns:
        At most `MAX_WORDS` words with their weights, highest first.
    """
    often: Counter[str] = Counter()
    for text, weight in zip(document.fields(), FIELD_WEIGHTS, strict=True):
        for word in analysis.list_tokens(text):
            often[word] += weight  # type: ignore[assignment]  # halves and quarters
    if alive is None:
        count = sum(segment.count for segment in segments)
    else:
        count = int(np.count_nonzero(alive))
    weighted: list[tuple[str, float]] = []
    for word, times in often.items():
        if len(word) < MIN_CHARS or word in analysis.QUESTION_WORDS:
            continue
        holders = sum(
            hits.count_holders(segment, at, alive)
            for segment in segments
            if (at := segment.find_word(word)) is not None
        )
        if 1 < holders <= max(FEW_MEMORIES, MAX_SHARE * count):
            rarity = float(np.log1p((count - holders + 0.5) / (holders + 0.5)))
            weighted.append((word, rarity * times / (times + K1)))
    return sorted(weighted, key=lambda one: (-one[1], one[0]))[:MAX_WORDS]


def score_by_words(
    words: Sequence[tuple[str, float]],
    segments: Sequence[Segment],
    slots: int,
    cancelled: IsCancelled,
) -> Floats:
    """Score memories by the words that they share with another one.

    Args:
        words: Words and their weights, from `find_distinctive_words`.
        segments: The index.
        slots: How many slots there are.
        cancelled: Is asked before each word.

    Returns:
        For each slot the share of the words' total weight that it holds.

    Raises:
        Cancelled: `cancelled` became true.
    """
    near = np.zeros(slots, np.float32)
    total = sum(weight for _, weight in words)
    for word, weight in words:
        if cancelled():
            raise Cancelled
        for segment in segments:
            at = segment.find_word(word)
            if at is not None:
                holders = hits.read_terms(segment, [at]).slots
                near[holders[holders < slots]] += weight / total
    return near


def find_nearest_current(
    near: Floats, columns: Columns, slot: int, limit: int
) -> tuple[list[int], list[float]]:
    """The most similar current memories and their scores, without the slot itself.

    Args:
        near: For each slot how similar it is, 0..1.
        columns: The columns of all slots.
        slot: The memory that the others are compared to.
        limit: Most memories.
    """
    current = np.isin(columns.status, [STATUSES.index(status) for status in CURRENT])
    allowed = columns.alive & current
    allowed[slot] = False
    slots = find_nearest(near, allowed, limit)
    return slots.tolist(), near[slots].tolist()
