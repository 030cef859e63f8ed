"""The words of memories in order: for each word the memories that hold it, as arrays.

`build` makes them of texts; `memtui.search.index.memory_index` writes and reads them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memtui.progress import Cancelled, IsCancelled, never, stoppable
from memtui.search import analysis
from memtui.search.array_types import Ints, Longs
from memtui.search.documents import FIELD_WEIGHTS, IndexedDocument
from memtui.search.index.segments import FIELD_END, MAX_WEIGHT

QUARTERS = np.array([round(4 * weight) for weight in FIELD_WEIGHTS], np.uint16)
BEGINNING_CHARS = 3
"""The longest beginnings of words that have lists of their own: few words have a longer one, and
their lists are added when it is looked for. With 2, three letters take twice the time."""


class Lists(Struct, frozen=True, eq=False):
    """Words in order, and for each the memories that hold it."""

    words: list[str]
    indptr: Longs
    """Where the list of each word begins, and the last ends."""
    ids: Ints
    """Memory numbers, ascending within a word."""
    weights: NDArray[np.uint8]
    """Occurrences weighted by field, in quarters, at most `MAX_WEIGHT`."""


class Postings(Struct, frozen=True, eq=False):
    """The words of `count` memories, which are numbered from 0."""

    count: int
    words: Lists
    beginnings: Lists
    """The first letters of words, up to `BEGINNING_CHARS`."""
    stream: Ints
    """The words of every text in order, as word numbers, `FIELD_END` after each field."""
    starts: Longs
    """Where the stream of each memory begins, and the last ends."""


def build(
    documents: Iterable[IndexedDocument],
    cancelled: IsCancelled = never,
) -> Postings:
    """Return the words of these documents, in their order.

    Raises:
        Cancelled: `cancelled` became true.
    """
    texts = _chunk_texts(documents, cancelled)
    vocabulary, part_table, compound_table = _vocabulary(texts.chunks)
    if cancelled():
        raise Cancelled
    stream, source = _expand(texts.numbers, *part_table)
    joined, joined_source = _expand(texts.numbers, *compound_table)
    memory = np.repeat(np.arange(texts.count, dtype=np.int32), np.diff(texts.starts))
    field = np.zeros(len(texts.numbers), np.int64)
    ends = texts.numbers == 0
    field[1:] = np.cumsum(ends)[:-1] % len(QUARTERS)
    weight = QUARTERS[field]
    is_token = stream >= 0
    words = _lists(
        vocabulary,
        np.concatenate([stream[is_token], joined]),
        np.concatenate([memory[source[is_token]], memory[joined_source]]),
        np.concatenate([weight[source[is_token]], weight[joined_source]]),
        texts.count,
    )
    lengths = np.diff(part_table[0])[texts.numbers]
    starts = np.concatenate([[0], np.cumsum(lengths)])[texts.starts]
    return Postings(texts.count, words, _beginnings(words, texts.count), stream, starts)


def _beginnings(words: Lists, count: int) -> Lists:
    """The lists of all beginnings of up to `BEGINNING_CHARS` letters."""
    sizes = range(1, BEGINNING_CHARS + 1)
    starts = sorted({word[:size] for word in words.words for size in sizes})
    numbers = {start: number for number, start in enumerate(starts)}
    of_words = [
        [numbers[word[:size]] if len(word) >= size else -1 for word in words.words]
        for size in sizes
    ]
    held = np.diff(words.indptr)
    terms = np.concatenate([np.repeat(np.array(each, np.int32), held) for each in of_words])
    ids, weights = np.tile(words.ids, len(sizes)), np.tile(words.weights, len(sizes))
    is_begun = terms >= 0
    return _lists(starts, terms[is_begun], ids[is_begun], weights[is_begun], count)


class _ChunkNumbers(dict[str, int]):
    """Numbers chunks in the order of their first use, from 1; 0 is the end of a field."""

    def __missing__(self, chunk: str) -> int:
        number = len(self) + 1
        self[chunk] = number
        return number


class _ChunkedTexts(Struct, frozen=True):
    """The texts as numbers of chunks, 0 after each field."""

    count: int
    chunks: list[str]
    """Chunk n is number n + 1."""
    numbers: Ints
    starts: Longs


def _chunk_texts(documents: Iterable[IndexedDocument], cancelled: IsCancelled) -> _ChunkedTexts:
    numbers = _ChunkNumbers()
    number_of = numbers.__getitem__
    stream = array("i")
    starts = array("q", [0])
    for document in stoppable(documents, cancelled):
        for text in document.fields():
            for piece in analysis.split_blocks(text):
                stream.extend(map(number_of, analysis.find_chunks(piece)))
            stream.append(0)
        starts.append(len(stream))
    return _ChunkedTexts(
        len(starts) - 1,
        list(numbers),
        np.frombuffer(stream, np.int32) if stream else np.empty(0, np.int32),
        np.frombuffer(starts, np.int64),
    )


_Table = tuple[Longs, Ints]
"""For chunk number n: the term numbers in the second array from first[n] to first[n + 1]."""


def _vocabulary(chunks: Sequence[str]) -> tuple[list[str], _Table, _Table]:
    """All words in order, and for each chunk the numbers of its parts and of its compounds."""
    numbers: dict[str, int] = {}
    part_ptr, part_terms = array("q", [0, 1]), array("i", [FIELD_END])
    compound_ptr, compound_terms = array("q", [0, 0]), array("i")
    number = numbers.setdefault
    for chunk in chunks:
        parts, compounds = analysis.split_chunk(chunk)
        for word in parts:
            part_terms.append(number(word, len(numbers)))
        for word in compounds:
            compound_terms.append(number(word, len(numbers)))
        part_ptr.append(len(part_terms))
        compound_ptr.append(len(compound_terms))
    words = list(numbers)
    order = sorted(range(len(words)), key=words.__getitem__)
    place = np.empty(len(words) + 1, np.int32)
    place[np.array(order, np.int64)] = np.arange(len(words), dtype=np.int32)
    place[FIELD_END] = FIELD_END
    return (
        [words[at] for at in order],
        (np.array(part_ptr, np.int64), place[np.array(part_terms, np.int32)]),
        (np.array(compound_ptr, np.int64), place[np.array(compound_terms, np.int32)]),
    )


def _expand(numbers: Ints, ptr: Longs, terms: Ints) -> tuple[Ints, Longs]:
    """Replace each chunk by its terms; also returns the position of the chunk of each term."""
    lengths = (ptr[1:] - ptr[:-1])[numbers]
    source = np.repeat(np.arange(len(numbers), dtype=np.int64), lengths)
    ends = np.cumsum(lengths)
    within = np.arange(len(source), dtype=np.int64) - (ends - lengths)[source]
    return terms[ptr[numbers][source] + within], source


def _lists(
    words: list[str], terms: Ints, memories: Ints, weights: NDArray[Any], count: int
) -> Lists:
    """The lists of words from occurrences in any order; the weights of a memory are summed.

    Args:
        terms: Of each occurrence the number of the word.
        memories: Of each occurrence the memory.
        count: How many memories there are.
    """
    factor = max(count, 1)
    keys = terms.astype(np.int64) * factor + memories
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
    none = np.empty(0, np.int64)
    summed = np.add.reduceat(weights[order], firsts, dtype=np.int64) if len(firsts) else none
    keys = keys[firsts]
    indptr = np.searchsorted(keys, np.arange(len(words) + 1, dtype=np.int64) * factor)
    return Lists(
        words,
        indptr.astype(np.int64),
        (keys % factor).astype(np.int32),
        np.minimum(summed, MAX_WEIGHT).astype(np.uint8),
    )
