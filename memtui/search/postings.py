"""Segments of the search index: for each word the memories that hold it, as arrays.

The memories of a segment are numbered 0..count-1; memory `i` has slot `first + i` (see
`memtui.search.columns`). A segment never changes: a changed memory gets a new slot in a further,
small segment.

    terms      all words in code point order, so that a prefix is a range
    indptr     where the postings of each word begin            (CSR)
    ids        memory numbers, ascending within a word
    weights    occurrences weighted by field, in quarters, at most 255
    stream     the words of every text in order, as word numbers, -1 after each field: for phrases
    starts     where the stream of each memory begins
    first_words   the first token of each memory's stream: to look there would map all of it
    stems      stems that several words share, sorted; stem_ptr, stem_terms: which words

The frequency of a word is summed over all segments at search time, so a memory in a small segment
is scored as one in a large segment. Its words are one piece of memory: as strings they take nine
times as much.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from memtui.progress import Cancelled, IsCancelled, never, stoppable
from memtui.search import analysis
from memtui.search.array_types import Ints, Longs, Mask
from memtui.search.documents import FIELD_WEIGHTS, IndexedDocument

_BATCH = 4096
"""Words that are made into strings at a time."""
_STEP = 16
"""Every 16th word is kept as a string for bisection: 3 MB for a million words, and a look-up
takes 6 microseconds instead of 29."""
LAST_CHARACTER = "\U0010ffff"
"""No word that begins with a prefix stands behind the prefix and this."""


class WordList(Sequence[str]):
    """Words in code point order, which is also the order of their bytes; none holds a newline."""

    def __init__(self, joined: bytes) -> None:
        """Take the words as UTF-8, a newline between two of them."""
        self.joined = joined
        ends = np.flatnonzero(np.frombuffer(joined, np.uint8) == ord("\n")) + 1
        last = [len(joined) + 1] if joined else []
        self._starts = np.concatenate([[0], ends, last]).astype(np.int64)
        """Where each word begins, and where a further one would."""

    @classmethod
    def of(cls, words: Iterable[str]) -> WordList:
        """The list of these words, which are in order."""
        return cls("\n".join(words).encode("utf-8", "surrogatepass"))

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            numbers = range(*at.indices(len(self)))
            if numbers.step == 1:
                return self._between(numbers.start, numbers.stop)
            return [self[number] for number in numbers]
        first = at if at >= 0 else at + len(self)
        if not 0 <= first < len(self):
            raise IndexError(at)
        return self._text(first, first + 1)

    def __iter__(self) -> Iterator[str]:
        for _, word in self.numbered(0, len(self)):
            yield word

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordList) and self.joined == other.joined

    __hash__ = None  # type: ignore[assignment]

    def numbered(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Each word from number `first` to before `last`, with its number."""
        for begin in range(first, last, _BATCH):
            yield from enumerate(self._between(begin, min(begin + _BATCH, last)), begin)

    def find(self, word: str) -> int | None:
        """The number of this word; None if it is not in the list."""
        at = self._place(word)
        return at if at < len(self) and self[at] == word else None

    def prefix_range(self, start: str) -> tuple[int, int]:
        """The half-open range of the words with this prefix."""
        return self._place(start), self._place(start + LAST_CHARACTER)

    def containing(self, part: str) -> list[int]:
        """The numbers of the words with this part (.3 ms at 63,000 words)."""
        encoded = part.encode("utf-8", "surrogatepass")
        found: list[int] = []
        at = self.joined.find(encoded)
        while at >= 0:
            found.append(int(np.searchsorted(self._starts, at, side="right")) - 1)
            at = self.joined.find(encoded, int(self._starts[found[-1] + 1]))
        return found

    @cached_property
    def _marks(self) -> list[str]:
        return [self[at] for at in range(0, len(self), _STEP)]

    def _place(self, word: str) -> int:
        """The number that this word has or would have."""
        first = max(0, bisect_left(self._marks, word) - 1) * _STEP
        return first + bisect_left(self._between(first, min(first + _STEP, len(self))), word)

    def _between(self, first: int, last: int) -> list[str]:
        return self._text(first, last).split("\n") if first < last else []

    def _text(self, first: int, last: int) -> str:
        begin, end = self._starts.item(first), self._starts.item(last) - 1
        return self.joined[begin:end].decode("utf-8", "surrogatepass")


QUARTERS = np.array([round(4 * weight) for weight in FIELD_WEIGHTS], np.uint16)
LENGTH_WORDS = 8.0
"""Words from which a memory counts as long; see `memtui.search.ranking`."""
FIELD_END = -1
MAX_WEIGHT = 255
"""Cap of a weight, in quarters: 64 occurrences score within 2 % of infinitely many."""


class Segment(Struct, frozen=True, eq=False, dict=True):
    """Arrays over the words of `count` memories, the first of which has slot `first`."""

    first: int
    count: int
    terms: WordList
    indptr: Longs
    ids: Ints
    weights: NDArray[np.uint8]
    stream: Ints
    starts: Longs
    first_words: Ints
    stems: WordList
    stem_ptr: Ints
    stem_terms: Ints
    is_complete: bool = True
    """Whether stems were computed; if not, they are when asked for."""
    release: Callable[[], None] = field(default=lambda: None)
    """Gives back the memory in which a search has read the arrays, where they are mapped files."""

    @cached_property
    def titles(self) -> tuple[Longs, Ints]:
        """The memories that have a title and the first word of each, in the order of the words."""
        memories = self.first_words.argsort(kind="stable")
        first_words = self.first_words.take(memories)
        titled = slice(first_words.searchsorted(np.int32(FIELD_END), side="right"), None)
        return memories[titled], first_words[titled]

    def find_word(self, word: str) -> int | None:
        """The number of this word, or None if no memory holds it."""
        return self.terms.find(word)

    def first_completion(self, start: str) -> str:
        """The first word with this prefix; empty if there is none."""
        first, last = self.terms.prefix_range(start)
        return self.terms[first] if first < last else ""

    @cached_property
    def lengths(self) -> NDArray[np.float32]:
        """Return log2(1 + words / 8) of each memory, over all its fields."""
        words: Longs = np.maximum(np.diff(self.starts) - len(FIELD_WEIGHTS), 0)
        return np.log2(1 + words / LENGTH_WORDS).astype(np.float32)

    @cached_property
    def holds(self) -> Mask:
        """Of each memory whether it was indexed; a segment that was `spread` has gaps."""
        held: Mask = np.diff(self.starts) > 0
        return held

    @cached_property
    def longest(self) -> float:
        """The highest of `lengths`."""
        return float(self.lengths.max(initial=0.0))

    def word_range(self, word: str, is_prefix: bool) -> tuple[int, int]:
        """The half-open range of the number of a `word`; `is_prefix`: of all that begin so."""
        if is_prefix:
            return self.terms.prefix_range(word)
        number = self.find_word(word)
        return (0, 0) if number is None else (number, number + 1)

    def words_with_stem(self, stem: str) -> Ints:
        """The numbers of the words with this stem if it is in `stems`; else empty."""
        if not self.is_complete:
            words = self.terms.numbered(*self.terms.prefix_range(analysis.prefix_of_stem(stem)))
            return np.fromiter((at for at, word in words if analysis.stem(word) == stem), np.int32)
        at = self.stems.find(stem)
        if at is None:
            return self.stem_terms[:0]
        return self.stem_terms[self.stem_ptr[at] : self.stem_ptr[at + 1]]

    def forms_of(self, word: str, stem: str) -> list[int]:
        """The numbers of the `word` and of all other words with its `stem`."""
        terms: list[int] = self.words_with_stem(stem).tolist()
        if terms:
            return terms
        # A word that is its own stem, and the only one with it, is in no class of words.
        alone = {word, stem} if stem != word and analysis.stem(stem) == stem else {word}
        return sorted(at for at in map(self.find_word, alone) if at is not None)


def spread(segment: Segment, slots: Sequence[int] | Longs) -> Segment:
    """Return a segment whose memories have these slots, which ascend; others may lie between."""
    first, count = int(slots[0]), int(slots[-1]) - int(slots[0]) + 1
    if count == segment.count:
        return replace(segment, first=first)
    places = np.asarray(slots, np.int32) - np.int32(first)
    first_words = np.full(count, FIELD_END, np.int32)
    first_words[places] = segment.first_words
    return replace(
        segment,
        first=first,
        count=count,
        ids=places[segment.ids],
        starts=segment.starts[places.searchsorted(np.arange(count + 1))],
        first_words=first_words,
    )


def build(
    documents: Iterable[IndexedDocument],
    first: int = 0,
    cancelled: IsCancelled = never,
    *,
    is_complete: bool = True,
) -> Segment:
    """Return the segment of these documents.

    Args:
        documents: In the order of their slots.
        first: The slot of the first one.
        is_complete: False for a provisional segment, without stems.

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
    indptr, ids, weights = _postings(
        np.concatenate([stream[is_token], joined]),
        np.concatenate([memory[source[is_token]], memory[joined_source]]),
        np.concatenate([weight[source[is_token]], weight[joined_source]]),
        len(vocabulary),
        texts.count,
    )
    lengths = np.diff(part_table[0])[texts.numbers]
    before = np.concatenate([[0], np.cumsum(lengths)])
    stems, stem_ptr, stem_terms = _stem_classes(vocabulary if is_complete else ())
    starts = before[texts.starts]
    return Segment(
        first, texts.count, WordList.of(vocabulary), indptr, ids, weights, stream, starts,
        stream[starts[:-1]], WordList.of(stems), stem_ptr, stem_terms, is_complete,
    )  # fmt: skip


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


def _postings(
    terms: Ints, memories: Ints, weights: NDArray[np.uint16], vocabulary: int, count: int
) -> tuple[Longs, Ints, NDArray[np.uint8]]:
    """One posting for each word and memory, sorted by both, weights summed."""
    factor = max(count, 1)
    keys = terms.astype(np.int64) * factor + memories
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
    none = np.empty(0, np.int64)
    summed = np.add.reduceat(weights[order], firsts, dtype=np.int64) if len(firsts) else none
    keys = keys[firsts]
    indptr = np.searchsorted(keys, np.arange(vocabulary + 1, dtype=np.int64) * factor)
    return (
        indptr.astype(np.int64),
        (keys % factor).astype(np.int32),
        np.minimum(summed, MAX_WEIGHT).astype(np.uint8),
    )


def _stem_classes(vocabulary: Sequence[str]) -> tuple[list[str], Ints, Ints]:
    """The stems with several words, or with one word other than the stem itself."""
    classes: dict[str, list[int]] = {}
    for number, word in enumerate(vocabulary):
        stem = analysis.stem.__wrapped__(word)
        if stem != word or word.isalpha():
            classes.setdefault(stem, []).append(number)
    stems = sorted(
        stem
        for stem, numbers in classes.items()
        if len(numbers) > 1 or vocabulary[numbers[0]] != stem
    )
    ptr = np.zeros(len(stems) + 1, np.int32)
    np.cumsum([len(classes[stem]) for stem in stems], out=ptr[1:])
    terms = np.array([number for stem in stems for number in classes[stem]], np.int32)
    return stems, ptr, terms
