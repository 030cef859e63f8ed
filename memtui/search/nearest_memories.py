"""Find the memories nearest to a text or to another memory: by vectors, else by rare words.

Vectors are compared by their exact cosine over the slots of all stores.

33,000 memories take 2 to 5 ms, a million about 100; an approximate index is not worth it below
that. A store has one vector for each different text; `row_of` gives the vector of each slot, so
that a changed memory costs a number, not a copy.

Without vectors, the dozen words that distinguish a memory are searched for as any query is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from memtui.model import CURRENT, STATUSES
from memtui.progress import IsCancelled
from memtui.query import Term, TermKind
from memtui.search import analysis
from memtui.search.array_types import Floats, Keys, Longs, Mask
from memtui.search.columns import Columns
from memtui.search.documents import FIELD_WEIGHTS, IndexedDocument
from memtui.search.embedding import Embedder, PieceCounts
from memtui.search.index.segments import Segment
from memtui.search.matching import K1, TextIndex, match_terms
from memtui.search.query_terms import QueryTerm, QueryTerms

NEAR_WORDS = 4
"""Words that show why a memory is near."""
MAX_WORDS_COMPARED = 400
NearWords = tuple[tuple[str, float], ...]
"""Words with their cosines to the query, the nearest first."""


class StoreVectors(Struct, frozen=True, eq=False):
    """The vectors of one store."""

    rows: Floats
    counts: PieceCounts | None
    """The piece counts with which a query for these rows is embedded."""
    keys: Keys
    """The key of the text of each row."""
    is_saved: bool = True
    """Whether they are in the store's cache folder; else they were made since."""


class VectorIndex(Struct, frozen=True, eq=False):
    """The vectors of all slots. Immutable."""

    parts: tuple[StoreVectors, ...] = ()
    row_of: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    """The row of each slot, counted through all parts; -1 if it has no vector."""

    def __len__(self) -> int:
        return int((self.row_of >= 0).sum())

    def vector_of(self, slot: int) -> Floats | None:
        """The vector of this slot; None if it has none."""
        row = int(self.row_of[slot]) if slot < len(self.row_of) else -1
        if row < 0:
            return None
        for part in self.parts:
            if row < len(part.rows):
                vector: Floats = part.rows[row]
                return vector
            row -= len(part.rows)
        return None

    def append_part(self, part: StoreVectors) -> tuple[StoreVectors, ...]:
        """Return `parts` with a further part that is not saved; there is one of these at most,
        because each part costs time in every query."""
        *parts, last = self.parts
        if last.is_saved:
            return (*self.parts, part)
        rows = np.concatenate([last.rows, part.rows])
        keys = np.concatenate([last.keys, part.keys])
        return (*parts, StoreVectors(rows, part.counts, keys, is_saved=False))

    def compute_cosines(self, query_vectors: Sequence[Floats], slots: int) -> Floats:
        """The cosine of each slot to the query; 0 for a slot without a vector.

        Args:
            query_vectors: The vector of the query for each of `parts`.
        """
        near = np.zeros(slots, np.float32)
        if not self.parts:
            return near
        by_row = np.concatenate(
            [
                _products(part.rows, vector)
                for part, vector in zip(self.parts, query_vectors, strict=True)
            ]
        )
        rows = self.row_of[:slots]
        if len(by_row):
            np.multiply(by_row.take(rows, mode="clip"), rows >= 0, out=near[: len(rows)])
        return near


def _products(rows: Floats, vector: Floats) -> Floats:
    """`rows @ vector` on one thread.

    It is bound by memory: with the threads of OpenBLAS it took 8 ms (p95 17) on two busy cores,
    with one thread 1.5 ms.
    """
    return np.asarray(np.einsum("ij,j->i", rows, vector))


def find_nearest(
    cosines: Floats, allowed: NDArray[np.bool_], limit: int, order: Longs | None = None
) -> Longs:
    """The slots with the highest cosines above 0, highest first.

    Args:
        cosines: The cosine of each slot.
        allowed: The slots that may be found.
        order: All slots in the order that equal cosines have; None: that of the slots.
    """
    near = np.where(allowed, cosines, np.float32(0))
    least = np.partition(near, len(near) - limit)[len(near) - limit] if len(near) > limit else 0.0
    found = (near >= least) & (near > 0)
    slots = found.nonzero()[0] if order is None else order[found[order]]
    return slots[np.argsort(-near[slots], kind="stable")][:limit]


def embed_query(embedder: Embedder, index: VectorIndex, text: str) -> tuple[Floats, ...]:
    """Embed a query for each part of the index.

    Args:
        embedder: The one that made the vectors of the index.
        index: Its parts may have different statistics.

    Returns:
        One vector for each part.

    Raises:
        EmbeddingError, OSError: The embedder failed.
        ValueError: The vector has another length than those of the index.
    """
    if embedder.remote:
        vector = embedder.embed([text], None)[0]
        return tuple(_check_length(vector, part) for part in index.parts)
    return tuple(
        _check_length(embedder.embed([text], part.counts)[0], part) for part in index.parts
    )


def _check_length(vector: Floats, part: StoreVectors) -> Floats:
    if len(vector) != part.rows.shape[1]:
        raise ValueError("the model's vectors have another length than those in the cache")
    return vector


def compare_to_slot(index: VectorIndex, slot: int, slots: int) -> Floats | None:
    """The cosine of each slot to this one; None if it has no vector.

    Args:
        index: The vectors of all slots.
        slot: The one that the others are compared to.
    """
    vector = index.vector_of(slot)
    if vector is None:
        return None
    same_length = all(part.rows.shape[1] == len(vector) for part in index.parts)
    return index.compute_cosines([vector] * len(index.parts), slots) if same_length else None


def find_near_words(
    embedder: Embedder, counts: PieceCounts | None, query_text: str, text: str
) -> NearWords:
    """Return the words of a text that are nearest in meaning to a query, nearest first.

    Args:
        embedder: Embeds the query and the words.
        counts: The statistics of the store that the text comes from.
        text: Its first `MAX_WORDS_COMPARED` words are compared.
    """
    words = [
        word
        for word in dict.fromkeys(analysis.list_words(text))
        if len(word) > 2 and not word.isdigit() and word not in analysis.QUESTION_WORDS
    ]
    vectors = embedder.embed([query_text, *words[:MAX_WORDS_COMPARED]], counts)
    cosines = vectors[1:] @ vectors[0]
    best = np.argsort(-cosines, kind="stable")[:NEAR_WORDS].tolist()
    return tuple((words[at], float(cosines[at])) for at in best if cosines[at] > 0)


MAX_WORDS = 12
"""Words that are looked up; more blur what the memory is about (Lucene's MoreLikeThis: 25)."""
MAX_SHARE = 0.2
"""Words in a larger share of all memories are not distinctive ..."""
FEW_MEMORIES = 3
"""... unless they are in no more memories than this."""
MIN_CHARS = 2
"""Characters of a distinctive word."""


def find_distinctive_words(
    document: IndexedDocument, segments: Sequence[Segment], alive: Mask
) -> tuple[str, ...]:
    """The words that distinguish a memory from the others.

    Args:
        document: The memory.
        alive: For each slot whether it counts.

    Returns:
        At most `MAX_WORDS` words, those that say most first.
    """
    often: Counter[str] = Counter()
    for text, weight in zip(document.fields(), FIELD_WEIGHTS, strict=True):
        for word in analysis.list_tokens(text):
            often[word] += weight  # type: ignore[assignment]  # halves and quarters
    count = int(np.count_nonzero(alive))
    weighted: list[tuple[str, float]] = []
    for word, times in often.items():
        if len(word) < MIN_CHARS or word in analysis.QUESTION_WORDS:
            continue
        holders = sum(
            segment.count_holders(at, alive)
            for segment in segments
            if (at := segment.terms.find(word)) is not None
        )
        if 1 < holders <= max(FEW_MEMORIES, MAX_SHARE * count):
            rarity = float(np.log1p((count - holders + 0.5) / (holders + 0.5)))
            weighted.append((word, rarity * times / (times + K1)))
    weighted.sort(key=lambda one: (-one[1], one[0]))
    return tuple(word for word, _ in weighted[:MAX_WORDS])


def match_words(
    words: Iterable[str],
    segments: Sequence[Segment],
    columns: Columns,
    cancelled: IsCancelled,
) -> Floats:
    """The text score that a search for any of these words gives each slot, 0..1.

    Raises Cancelled.
    """
    terms = tuple(QueryTerm(Term(word), TermKind.WORD, (word,)) for word in words)
    near = np.zeros(len(columns), np.float32)
    if terms:
        index = TextIndex(segments, len(columns), columns.alive, cancelled=cancelled)
        found = match_terms(index, QueryTerms(terms), as_written=True)
        near[found.slots] = found.text
    return near


def find_nearest_current(
    near: Floats, columns: Columns, slot: int, limit: int
) -> tuple[list[int], list[float]]:
    """The most similar current memories and their scores, newest first if equal, without the slot
    itself.

    Args:
        near: For each slot how similar it is, 0..1.
        slot: The memory that the others are compared to.
    """
    current = np.isin(columns.status, [STATUSES.index(status) for status in CURRENT])
    allowed = columns.alive & current
    allowed[slot] = False
    slots = find_nearest(near, allowed, limit, columns.newest_first)
    return slots.tolist(), near[slots].tolist()
