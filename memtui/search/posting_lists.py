"""Read the words and lists of a segment of a Whoosh index as arrays, without Whoosh.

Whoosh reads a list document by document, and finds the words of a range one by one. The files are
those of its codec `W3`, as `memtui.search.whoosh_patches` writes them: of the file of terms the end
says where the words begin, each with what is kept of it; a short list is beside its word, a longer
one is a block in the file of lists. Both are pickles, of which only plain values are read.
"""

from __future__ import annotations

import io
import mmap
import pickle
import struct
from bisect import bisect_left
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memtui.search.array_types import Ints, Longs

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
    return load(io.BytesIO(data))


class FieldLists(NamedTuple):
    """The words of one field of a segment, and their lists as arrays."""

    words: bytes
    """In the order of their bytes, a newline between two of them."""
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
            documents, counts, _ = loads(self.terms[rest : at + value])
            return documents, counts
        begin, length = EXTENT.unpack_from(self.terms, rest)
        block = io.BytesIO(self.lists[begin + len(MAGIC) : begin + length])
        block.seek(SIZE.size)
        load(block)
        steps, counts, _ = load(block)
        numbers = np.frombuffer(steps, np.uint8) if isinstance(steps, bytes) else np.array(steps)
        return numbers.cumsum(dtype=np.int32), counts


NO_LISTS = FieldLists(b"", np.empty(0, np.int64), np.empty(0, np.uint32), b"", b"")


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
    for field, id in ids.items():
        first, last = (
            bisect_left(
                places, key, key=lambda place: FIELD.unpack_from(terms, place + _LENGTHS.size)[0]
            )
            for key in (id, id + 1)
        )
        found[field] = _read_field(places[first:last], terms, lists)
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
    return FieldLists(b"".join(words)[:-1], np.concatenate(counts), places, terms, lists)


def _read_numbers(data: NDArray[np.uint8], places: NDArray[np.integer[Any]], kind: str) -> Longs:
    """The numbers of a type at these places."""
    bytes_of = np.arange(np.dtype(kind).itemsize, dtype=places.dtype)
    found = data.take(places[:, None] + bytes_of)
    return found.view(kind).ravel().astype(np.int64)
