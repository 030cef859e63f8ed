"""More like this: by the words that tell a memory from the others, where there are no vectors.

The words of a memory are worth what BM25 would give them: rare ones much, common ones little. The
dozen that are worth most are looked for in all others, each other counting by how much of that
worth it holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from memtui.model import CURRENT, STATUSES
from memtui.progress import Cancelled, IsCancelled
from memtui.search import analysis, hits
from memtui.search.columns import Columns, Mask
from memtui.search.documents import FIELD_WEIGHTS, IndexedDocument
from memtui.search.embedding import Floats
from memtui.search.matching import K1
from memtui.search.postings import Segment
from memtui.search.vector_search import find_nearest

MOST_WORDS = 12
"""Words that are looked for: more blur what the memory is about (Lucene's MoreLikeThis: 25)."""
MOST_COMMON = 0.2
"""Words that a larger share of all memories hold tell nothing."""
FEW = 3
"""... unless they are so few."""
SHORTEST = 2
"""Characters of a word that may tell something."""


def find_distinctive_words(
    document: IndexedDocument, segments: Sequence[Segment], alive: Mask | None = None
) -> list[tuple[str, float]]:
    """The words that tell this memory from the others, each with its worth, the rarest first.

    `alive`: the slots that count, unless told all.
    """
    often: Counter[str] = Counter()
    for text, weight in zip(document.fields(), FIELD_WEIGHTS, strict=True):
        for word in analysis.list_tokens(text):
            often[word] += weight  # type: ignore[assignment]  # halves and quarters
    if alive is None:
        count = sum(segment.count for segment in segments)
    else:
        count = int(np.count_nonzero(alive))
    worth: list[tuple[str, float]] = []
    for word, times in often.items():
        if len(word) < SHORTEST or word in analysis.QUESTION_WORDS:
            continue
        held = sum(
            hits.count_holders(segment, at, alive)
            for segment in segments
            if (at := segment.find_word(word)) is not None
        )
        if 1 < held <= max(FEW, MOST_COMMON * count):
            rarity = float(np.log1p((count - held + 0.5) / (held + 0.5)))
            worth.append((word, rarity * times / (times + K1)))
    return sorted(worth, key=lambda one: (-one[1], one[0]))[:MOST_WORDS]


def score_by_words(
    telling: Sequence[tuple[str, float]],
    segments: Sequence[Segment],
    slots: int,
    cancelled: IsCancelled,
) -> Floats:
    """For each slot the share of the words' worth that it holds. Raises Cancelled."""
    near = np.zeros(slots, np.float32)
    whole = sum(worth for _, worth in telling)
    for word, worth in telling:
        if cancelled():
            raise Cancelled
        for segment in segments:
            at = segment.find_word(word)
            if at is not None:
                held = hits.read_terms(segment, [at]).slots
                near[held[held < slots]] += worth / whole
    return near


def find_nearest_current(
    near: Floats, columns: Columns, slot: int, limit: int
) -> tuple[list[int], list[float]]:
    """The current memories that are nearest, without the one they are compared with."""
    current = np.isin(columns.status, [STATUSES.index(status) for status in CURRENT])
    among = columns.alive & current
    among[slot] = False
    slots = find_nearest(near, among, limit)
    return slots.tolist(), near[slots].tolist()
