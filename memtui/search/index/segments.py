"""A segment of a Whoosh index, read as arrays and without Whoosh: its words, lists and texts.

Whoosh reads a list document by document, and finds the words of a range one by one. The files are
those of its codec `W3`, as `whoosh_patches` writes them: of the file of terms the end says where
the words begin, each with what is kept of it; a short list is beside its word, a longer one is a
block in the file of lists. Both are pickles, of which only plain values are read.
"""

from __future__ import annotations

import io
import mmap
import pickle
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import IO, Any, NamedTuple, overload

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from memtui.search import analysis
from memtui.search.array_types import Floats, Ints, Longs, Mask
from memtui.search.documents import FIELD_WEIGHTS

# ---- the files -------------------------------------------------------------------------------

Buffer = bytes | mmap.mmap

INFO = struct.Struct("!BfIBBfII")
"""Kept of a word: whether its list is short, the sum of the counts, the number of documents, two
lengths, the highest count, the first and the last document."""
_NUMBER_AT = 5
"""Where in it the number of documents is."""
EXTENT = struct.Struct("!qi")
"""Where a list begins, and its bytes."""
_LENGTHS = struct.Struct("!ii")
"""Bytes of a word with its field, and of what is kept of it."""
SIZE = struct.Struct("!i")
"""Bytes of a block, negative if it is the last; of what stands at the end of the file of terms."""
FIELD = struct.Struct("!H")
"""Number of the field, before a word."""
MAGIC = b"W3Bl"
"""At the beginning of a list."""

ALLOWED = frozenset(
    {
        ("whoosh.codec.whoosh3", "W3Segment"),
        ("whoosh.codec.whoosh3", "W3Codec"),
        ("collections", "defaultdict"),
        ("builtins", "int"),
        ("builtins", "set"),
    }
)
"""The only globals in a pickle of our index; the schema is passed in, so its own is never read."""


class _Restricted(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) not in ALLOWED:
            raise pickle.UnpicklingError(f"the index asks for {module_name}.{global_name}")
        return super().find_class(module_name, global_name)


def load(file: IO[bytes]) -> Any:
    """Return as `pickle.load`, but only classes of an index. Raises UnpicklingError."""
    return _Restricted(file).load()


def loads(data: bytes) -> Any:
    """Return as `pickle.loads`, but only classes of an index. Raises UnpicklingError."""
    return _Restricted(io.BytesIO(data)).load()


# ---- words and lists ---------------------------------------------------------------------------

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
        self._count = len(self._starts) - 1

    @classmethod
    def of(cls, words: Iterable[str]) -> WordList:
        """The list of these words, which are in order."""
        return cls("\n".join(words).encode("utf-8", "surrogatepass"))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            numbers = range(*at.indices(self._count))
            if numbers.step == 1:
                return self.between(numbers.start, numbers.stop)
            return [self[number] for number in numbers]
        if not -self._count <= at < self._count:
            raise IndexError(at)
        return self.between(at % self._count, at % self._count + 1)[0]

    def __iter__(self) -> Iterator[str]:
        for _, word in self.numbered(0, self._count):
            yield word

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordList) and self.joined == other.joined

    __hash__ = None  # type: ignore[assignment]

    def between(self, first: int, last: int) -> list[str]:
        """The words from number `first` to before `last`."""
        if first >= last:
            return []
        begin, end = self._starts.item(first), self._starts.item(last) - 1
        return self.joined[begin:end].decode("utf-8", "surrogatepass").split("\n")

    def numbered(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Each word from number `first` to before `last`, with its number."""
        for begin in range(first, last, _BATCH):
            yield from enumerate(self.between(begin, min(begin + _BATCH, last)), begin)

    def find(self, word: str) -> int | None:
        """The number of this word; None if it is not in the list."""
        at = self._place(word)
        return at if self.between(at, min(at + 1, self._count)) == [word] else None

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
        return [self[at] for at in range(0, self._count, _STEP)]

    def _place(self, word: str) -> int:
        """The number that this word has or would have."""
        first = max(0, bisect_left(self._marks, word) - 1) * _STEP
        return first + bisect_left(self.between(first, min(first + _STEP, self._count)), word)


class FieldLists(NamedTuple):
    """The words of one field of a segment, and their lists as arrays."""

    words: WordList
    sizes: Longs
    """How many documents hold each."""
    places: NDArray[np.uint32]
    """Where each begins in the file of terms."""
    terms: Buffer
    """The file of terms, which has the short lists."""
    lists: Buffer
    """The file of the other lists."""

    def read(self, number: int) -> tuple[Ints, NDArray[np.uint8]]:
        """The documents that hold the word of this number, ascending, and their counts."""
        documents, counts = self._read(number)
        return np.asarray(documents, np.int32), np.frombuffer(counts, np.uint8)

    def read_range(self, first: int, last: int) -> tuple[Ints, NDArray[np.uint8]]:
        """The lists of the words from number `first` to before `last`, one after the other."""
        short: list[int] = []
        short_counts: list[bytes] = []
        long: list[Ints] = []
        long_counts: list[bytes] = []
        for number in range(first, last):
            documents, counts = self._read(number)
            if isinstance(documents, tuple):
                short += documents
                short_counts.append(counts)
            else:
                long.append(documents)
                long_counts.append(counts)
        return (
            np.concatenate([np.array(short, np.int32), *long]),
            np.frombuffer(b"".join((*short_counts, *long_counts)), np.uint8),
        )

    def _read(self, number: int) -> tuple[tuple[int, ...] | Ints, bytes]:
        place = int(self.places[number])
        key, value = _LENGTHS.unpack_from(self.terms, place)
        at = place + _LENGTHS.size + key
        rest = at + INFO.size
        if self.terms[at]:  # a short list
            kept = io.BytesIO(self.terms[rest : at + value])
            documents, counts, _ = _Restricted(kept).load()
            return documents, counts
        begin, length = EXTENT.unpack_from(self.terms, rest)
        block = io.BytesIO(self.lists[begin + len(MAGIC) : begin + length])
        block.seek(SIZE.size)
        _Restricted(block).load()
        steps, counts, _ = _Restricted(block).load()
        numbers = np.frombuffer(steps, np.uint8) if isinstance(steps, bytes) else np.array(steps)
        return numbers.cumsum(dtype=np.int32), counts


NO_LISTS = FieldLists(WordList(b""), np.empty(0, np.int64), np.empty(0, np.uint32), b"", b"")


def read_fields(terms: Buffer, lists: Buffer) -> dict[str, FieldLists]:
    """The fields of a segment that `whoosh_patches.list_writer` wrote, by name.

    Args:
        terms: The file of terms.
        lists: The file of lists.

    Raises:
        Exception: Any, if a file is damaged.
    """
    end = len(terms) - SIZE.size
    begin = end - SIZE.unpack_from(terms, end)[0]
    about = loads(terms[begin:end])
    kind = np.dtype(f">{about['indextype']}")
    count = int(about["indexlen"])
    places = np.frombuffer(terms, kind, count, end - count * kind.itemsize).astype(np.uint32)
    ids = about["fieldmap"]
    found = {}
    for name, id in ids.items():
        first, last = (
            bisect_left(
                places, key, key=lambda place: FIELD.unpack_from(terms, place + _LENGTHS.size)[0]
            )
            for key in (id, id + 1)
        )
        found[name] = _read_field(places[first:last], terms, lists)
    return found


_WORDS_AT_ONCE = 4096
"""Words that are read at a time: what is needed for that takes much more memory than they."""


def _read_field(places: NDArray[np.uint32], terms: Buffer, lists: Buffer) -> FieldLists:
    data = np.frombuffer(terms, np.uint8)
    words, counts = [], [NO_LISTS.sizes]
    for first in range(0, len(places), _WORDS_AT_ONCE):
        starts = places[first : first + _WORDS_AT_ONCE] + np.int64(_LENGTHS.size)
        ends = starts + _read_numbers(data, starts - _LENGTHS.size, ">i4")
        starts += FIELD.size
        if ((ends < starts) | (ends + INFO.size > len(data))).any():
            raise ValueError("no file of terms")
        lengths = ends - starts + 1
        offsets = lengths.cumsum()
        within = np.arange(int(offsets[-1])) - np.repeat(offsets - lengths, lengths)
        joined = data.take(np.repeat(starts, lengths) + within)
        joined[offsets - 1] = ord("\n")
        words.append(joined.tobytes())
        counts.append(_read_numbers(data, ends + _NUMBER_AT, ">u4"))
    return FieldLists(WordList(b"".join(words)[:-1]), np.concatenate(counts), places, terms, lists)


def _read_numbers(data: NDArray[np.uint8], places: NDArray[np.integer[Any]], kind: str) -> Longs:
    """The numbers of a type at these places."""
    bytes_of = np.arange(np.dtype(kind).itemsize, dtype=places.dtype)
    found = data.take(places[:, None] + bytes_of)
    return found.view(kind).ravel().astype(np.int64)


# ---- hits ----------------------------------------------------------------------------------------

_QUARTER = np.float32(0.25)
FIELD_END = -1
"""Behind each field in the stream of a memory."""
MAX_WEIGHT = 255
"""Cap of a weight, in quarters: 64 occurrences score within 2 % of infinitely many."""
LENGTH_WORDS = 8.0
"""Words from which a memory counts as long; see `memtui.search.ranking`."""
NO_SLOTS = np.empty(0, np.int64)


class TermHits(NamedTuple):
    """Slots, ascending and unique, and the weight (occurrences by field) of each."""

    slots: Longs
    weights: Floats


NO_HITS = TermHits(NO_SLOTS, np.empty(0, np.float32))


def count_once(slots: Longs) -> TermHits:
    """Return the hits of something that each of these slots has once."""
    return TermHits(slots, np.ones(len(slots), np.float32))


def join_hits(parts: Iterable[TermHits], alive: Mask | None = None) -> TermHits:
    """Return the hits of several segments as one, in the order of their slots.

    Args:
        alive: For each slot whether it counts; slots beyond its end do not. None: all do.
    """
    found = [part for part in parts if len(part.slots)]
    if not found:
        return NO_HITS
    slots, weights = found[0]
    if len(found) > 1:
        slots, weights = map(np.concatenate, zip(*found, strict=True))
        order = slots.argsort(kind="stable")
        slots, weights = slots[order], weights[order]
    if alive is not None:
        inside = alive.take(slots, mode="clip") & (slots < len(alive))
        slots, weights = slots[inside], weights[inside]
    return TermHits(slots, weights)


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


class Segment(Struct, frozen=True, eq=False, dict=True):
    """The words of memories as arrays; any thread may read it.

    A memory is numbered in the segment, from 0, and has a slot (see `memtui.search.columns`).
    """

    slots: Longs
    """The slot of each memory, ascending."""
    words: FieldLists
    beginnings: FieldLists
    """The first letters of words."""
    stream: Ints
    """The words of every text in order, as word numbers, `FIELD_END` after each field."""
    starts: Longs
    """Where the words of each memory begin in the stream, and the last end."""
    release: Callable[[], None] = field(default=lambda: None)
    """Called after a search: leaves the files that it has read to the page cache, if the segment
    is mapped files."""

    @property
    def count(self) -> int:
        return len(self.slots)

    @property
    def terms(self) -> WordList:
        """All words, in order."""
        return self.words.words

    def spread(self, slots: Sequence[int] | Longs) -> Segment:
        """The segment with these slots for its memories, which ascend."""
        return replace(self, slots=np.asarray(slots, np.int64))

    @cached_property
    def _memory_of(self) -> Ints:
        """For each slot from the first to the last the memory; -1 where it has none."""
        first, last = (self.slots[0], self.slots[-1]) if self.count else (0, -1)
        memories = np.full(int(last - first) + 1, -1, np.int32)
        memories[self.slots - first] = np.arange(self.count, dtype=np.int32)
        return memories

    def memories_of(self, slots: Longs) -> Ints:
        """The memory in each of these slots; -1 where the segment has none."""
        if not len(self.slots):
            return np.full(len(slots), -1, np.int32)
        places = slots - self.slots[0]
        found: Ints = self._memory_of.take(places, mode="clip")
        found[(places < 0) | (places >= len(self._memory_of))] = -1
        return found

    # ---- words -----------------------------------------------------------------------------------

    def word_range(self, word: str, is_prefix: bool) -> tuple[int, int]:
        """The half-open range of the number of a `word`; `is_prefix`: of all that begin so."""
        if is_prefix:
            return self.words.words.prefix_range(word)
        number = self.words.words.find(word)
        return (0, 0) if number is None else (number, number + 1)

    def first_completion(self, start: str) -> str:
        """The first word with this prefix; empty if there is none."""
        first, last = self.words.words.prefix_range(start)
        return next(iter(self.words.words.between(first, min(first + 1, last))), "")

    def forms_of(self, stem: str) -> dict[str, int]:
        """The words with this stem of an English word, or the word itself, and their numbers."""
        words = self.words.words
        if len(stem) < 2 or not (stem.isascii() and stem.isalpha()):  # it has no other forms
            number = words.find(stem)
            return {} if number is None else {stem: number}
        first, last = words.prefix_range(analysis.prefix_of_stem(stem))
        found = enumerate(words.between(first, last), first)
        return {word: number for number, word in found if analysis.stem(word) == stem}

    # ---- hits ------------------------------------------------------------------------------------

    def read_words(self, numbers: Sequence[int], shares: Sequence[float] = ()) -> TermHits:
        """The hits of the words of these numbers, summed; `shares` are the words' factors."""
        if not numbers:
            return NO_HITS
        parts = []
        for at, number in enumerate(numbers):
            ids, counts = self.words.read(number)
            weights = counts * (np.float32(0.25 * shares[at]) if shares else _QUARTER)
            parts.append((ids, weights))
        if len(parts) == 1:
            return TermHits(self.slots.take(parts[0][0]), parts[0][1])
        return self._sum(*map(np.concatenate, zip(*parts, strict=True)))

    def find_words(self, words: Iterable[str]) -> TermHits:
        """The hits of those of the words that there are, summed."""
        found = map(self.words.words.find, words)
        return self.read_words([number for number in found if number is not None])

    def read_prefix(self, start: str) -> TermHits:
        """The hits of the words with a prefix, summed, up to `MAX_WEIGHT` quarters each."""
        if (at := self.beginnings.words.find(start)) is not None:
            memories, counts = self.beginnings.read(at)
            return TermHits(self.slots.take(memories), counts * _QUARTER)
        first, last = self.words.words.prefix_range(start)
        if first == last:
            return NO_HITS
        found = self._sum(*self.words.read_range(first, last))
        return TermHits(found.slots, np.minimum(found.weights, MAX_WEIGHT) * _QUARTER)

    def _sum(self, memories: NDArray[Any], weights: NDArray[Any]) -> TermHits:
        """The hits of memories, each of which may be there several times."""
        sums = np.bincount(memories, weights, self.count)
        found = sums.nonzero()[0]
        return TermHits(self.slots.take(found), sums.take(found).astype(np.float32))

    def count_holders(self, number: int, alive: Mask | None) -> int:
        """How many memories that are `alive` hold the word of this number."""
        if alive is None:
            return int(self.words.sizes[number])
        slots = self.slots.take(self.words.read(number)[0])
        return int(np.count_nonzero(alive[slots[slots < len(alive)]]))

    # ---- texts -----------------------------------------------------------------------------------

    @cached_property
    def titles(self) -> tuple[Longs, Ints]:
        """The memories that have a title and the first word of each, in the order of the words."""
        first_words = self.stream.take(self.starts[:-1])
        memories = first_words.argsort(kind="stable")
        first_words = first_words.take(memories)
        titled = slice(first_words.searchsorted(np.int32(FIELD_END), side="right"), None)
        return memories[titled], first_words[titled]

    @cached_property
    def lengths(self) -> Floats:
        """Return log2(1 + words / 8) of each memory, over all its fields."""
        words: Longs = np.maximum(np.diff(self.starts) - len(FIELD_WEIGHTS), 0)
        return np.log2(1 + words / LENGTH_WORDS).astype(np.float32)

    @cached_property
    def longest(self) -> float:
        """The highest of `lengths`."""
        return float(self.lengths.max(initial=0.0))

    def find_phrase(self, parts: Sequence[str], last_is_prefix: bool = False) -> TermHits:
        """The memories with these words in their order.

        With `last_is_prefix` the last stands for all words that begin with it.
        """
        ranges = []
        for at, word in enumerate(parts):
            first, last = self.word_range(word, last_is_prefix and at == len(parts) - 1)
            if first == last:
                return NO_HITS
            ranges.append((first, last))
        rarest = min(
            range(len(ranges)), key=lambda at: int(self.words.sizes[slice(*ranges[at])].sum())
        )
        starts = _in_range(self.stream, *ranges[rarest]).nonzero()[0] - rarest
        starts = starts[(starts >= 0) & (starts <= len(self.stream) - len(ranges))]
        for at, (first, last) in enumerate(ranges):
            if at != rarest:
                starts = starts[_in_range(self.stream[starts + at], first, last)]
        memories = np.searchsorted(self.starts, starts, side="right") - 1
        return self._sum(memories, np.ones(len(memories), np.float32))

    def find_titles(self, parts: Sequence[str], last_is_prefix: bool = False) -> Longs:
        """The slots with a title that is exactly these words.

        With `last_is_prefix` the last word of the title need only begin with the last of them.
        """
        memories, words = self.titles
        for at, word in enumerate(parts):
            numbers = self.word_range(word, last_is_prefix and at == len(parts) - 1)
            if at == 0:
                begin, end = words.searchsorted(np.array(numbers, np.int32)).tolist()
                memories = memories[begin:end]
            else:
                here = self.stream.take(self.starts.take(memories) + at)
                memories = memories[_in_range(here, *numbers)]
            if not len(memories):
                return NO_SLOTS
        behind = self.stream.take(self.starts.take(memories) + len(parts))
        titled: Longs = memories[behind == FIELD_END]
        return self.slots.take(titled)


def _in_range(values: Ints, first: int, last: int) -> Mask:
    """Return for each of the `values` whether it is at least `first` and below `last`."""
    if last == first + 1:
        return np.equal(values, first)
    found: Mask = values >= first
    found &= values < last
    return found
