"""What memtui replaces and subclasses in Whoosh 2.7.4, and why; an index is written through here.

- Whoosh keeps its tables as pickles, which could run code: only classes of an index are read, and
  those of an older Whoosh not at all.
- Its writer sorts each posting on disk, writes them one by one, and calls a method that is not
  there for short lists. Here whole lists are written: `counting_writer` keeps the postings of a
  segment in memory by their word, `list_writer` is given them in order. The files are those of
  Whoosh, and it reads them.
- Its storage in memory writes what it is adding into the folder for temporary files:
  `MemoryStorage`.
- Its fields make a tuple for each occurrence of a word: `CountedField` makes one for each word.
- Its BM25 gives mere counts where no lengths are stored: `Weighting`.

`tests/unit/search/test_whoosh_patches.py` has a test for each.
"""

from __future__ import annotations

import pickle
import sys
import warnings
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memtui.search.index.segments import EXTENT, FIELD, INFO, MAGIC, SIZE, load, loads

with warnings.catch_warnings():
    # Whoosh's own regular expressions, on the first import under Python 3.12 and later.
    warnings.simplefilter("ignore", SyntaxWarning)
    from whoosh import columns, fields, formats, index, legacy, scoring
    from whoosh.codec import base as codec_base
    from whoosh.codec import whoosh3
    from whoosh.filedb import filestore, filetables, structfile
    from whoosh.util import loading

__all__ = [
    "CountedField",
    "ListShape",
    "MemoryStorage",
    "PostingList",
    "Weighting",
    "columns",
    "counting_writer",
    "fields",
    "formats",
    "index",
    "list_writer",
    "whoosh3",
]


def _refuse(*_: Any, **__: Any) -> Any:
    raise pickle.UnpicklingError("an index of an older Whoosh")


structfile.load_pickle = load
whoosh3.loads = columns.loads = formats.loads = loads
index.pickle = SimpleNamespace(loads=loads, dumps=pickle.dumps, PicklingError=pickle.PicklingError)
index.toc_loaders = {}
legacy.RenamingUnpickler = loading.RenamingUnpickler = _refuse

_MOST = 255
"""Occurrences of a word in a document that are counted: a count is a byte."""
_PROTOCOL = 4
"""Of the pickles in lists of postings; with bytes as they are, and read in one piece."""


class PostingList(NamedTuple):
    """A word of a field with the documents that hold it."""

    field: str
    word: bytes
    documents: NDArray[np.integer[Any]]
    """Their numbers, ascending."""
    counts: NDArray[np.uint8]
    """How often each of them holds it, or another weight."""


class _ListFiles(codec_base.FieldWriter):  # type: ignore[misc]
    """Writes whole lists. What Whoosh reads as a sequence of small numbers is bytes here."""

    def __init__(self, codec: _Codec, storage: Any, segment: Any) -> None:
        self._shape = codec.shape
        terms = segment.create_file(storage, whoosh3.W3Codec.TERMS_EXT)
        self._terms = filetables.OrderedHashWriter(terms)
        self._ids: dict[str, int] = {}
        self._terms.extras["fieldmap"] = self._ids
        self._lists = segment.create_file(storage, whoosh3.W3Codec.POSTS_EXT)
        self.is_closed = False

    def add_postings(self, schema: Any, lengths: Any, items: Iterable[PostingList]) -> None:  # noqa: ARG002
        """Write lists in the order of their fields and words."""
        for field, word, documents, counts in items:
            id = self._ids.setdefault(field, len(self._ids))
            self._terms.add(FIELD.pack(id) + word, self._write(documents, counts))

    def _write(self, documents: NDArray[np.integer[Any]], counts: NDArray[np.uint8]) -> bytes:
        """Write the blocks of a list, or none if it is short. Returns what is kept of the word."""
        size, first, last = len(documents), int(documents[0]), int(documents[-1])
        is_short = size < self._shape.short_list
        most, total = float(counts.max()), float(counts.sum())
        info: bytes = INFO.pack(is_short, total, size, 0, 0, most, first, last)
        if is_short:
            return info + pickle.dumps((tuple(documents.tolist()), counts.tobytes(), ()), _PROTOCOL)
        begin = self._lists.tell()
        self._lists.write(MAGIC)
        for at in range(0, size, self._shape.block):
            block = slice(at, at + self._shape.block)
            self._lists.write(self._block(documents[block], counts[block], block.stop >= size))
        return info + EXTENT.pack(begin, self._lists.tell() - begin)

    def _block(
        self, documents: NDArray[np.integer[Any]], counts: NDArray[np.uint8], is_last: bool
    ) -> bytes:
        steps = documents.copy()
        steps[1:] -= documents[:-1]
        small = steps.max() < 256
        numbers = steps.astype(np.uint8).tobytes() if small else tuple(steps.tolist())
        data = pickle.dumps((numbers, counts.tobytes(), None), _PROTOCOL)
        level = self._shape.compression
        if level:
            data = zlib.compress(data, level)
        about = (len(documents), int(documents[-1]), float(counts.max()), level, 0, 0)
        info = pickle.dumps(about, _PROTOCOL)
        length = len(info) + len(data)
        return SIZE.pack(-length if is_last else length) + info + data

    def close(self) -> None:
        """Close the files."""
        self._terms.close()
        self._lists.close()
        self.is_closed = True


class ListShape(NamedTuple):
    """How lists of postings are written."""

    block: int
    """Documents of a block of a list."""
    compression: int
    """Of the blocks; the level of zlib."""
    short_list: int
    """Lists of fewer documents lie beside their word."""


class _Codec(whoosh3.W3Codec):  # type: ignore[misc]
    length_stats = False

    def __init__(self, shape: ListShape) -> None:
        super().__init__()
        self.shape = shape

    def field_writer(self, storage: Any, segment: Any) -> Any:
        return _ListFiles(self, storage, segment)

    def new_segment(self, storage: Any, indexname: str) -> Any:  # noqa: ARG002
        """Of Whoosh's codec, which reads what this one wrote."""
        return whoosh3.W3Segment(whoosh3.W3Codec(), indexname)


class _CountedWords:
    """The postings of a segment to which documents are added one by one, by their word."""

    def __init__(self) -> None:
        self._fields: dict[str, dict[bytes, array[int]]] = {}

    def add(self, item: tuple[str, bytes, int, float, bytes]) -> None:
        """Add one; a document has the next number and the count of the word in its low byte."""
        field, word, document, count, _ = item
        words = self._fields.setdefault(field, {})
        found = words.get(word)
        if found is None:
            found = words[word] = array("I")
        found.append(document << 8 | min(int(count), _MOST))

    def iter_postings(self) -> Iterator[PostingList]:
        """The lists in order; each is dropped as it is passed."""
        for field in sorted(self._fields):
            words = self._fields.pop(field)
            for word in sorted(words):
                found = np.frombuffer(words.pop(word), np.uint32)
                yield PostingList(field, word, found >> 8, (found & _MOST).astype(np.uint8))

    def cleanup(self) -> None:
        """Drop what is left."""
        self._fields.clear()


class _SortedLists:
    """The postings of a segment that are given in order."""

    def __init__(self, lists: Iterable[PostingList]) -> None:
        self._lists = lists

    def add(self, item: tuple[str, bytes, int, float, bytes]) -> None:
        """Refuse: documents have only columns. Raises TypeError."""
        raise TypeError(item)

    def iter_postings(self) -> Iterable[PostingList]:
        """The lists as they were given."""
        return self._lists

    def cleanup(self) -> None:
        """Do nothing: nothing is left."""


def counting_writer(opened: Any, shape: ListShape) -> Any:
    """A writer of an open index whose fields have no positions; documents are added to it."""
    writer = opened.writer(codec=_Codec(shape))
    writer.pool = _CountedWords()
    return writer


def list_writer(opened: Any, lists: Iterable[PostingList], short_list: int) -> Any:
    """A writer of a segment with these lists; columns of its documents are added to it.

    Each of its files lies alone, and a list is one block, which is not compressed.
    """
    codec = _Codec(ListShape(sys.maxsize, 0, short_list))
    writer = opened.writer(codec=codec, compound=False)
    writer.pool = _SortedLists(lists)
    return writer


class MemoryStorage(filestore.RamStorage):  # type: ignore[misc]
    """Files in memory. Whoosh's own writes what it is adding into the folder for temporary files,
    where nothing with a secret may be."""

    def temp_storage(self, name: str | None = None) -> Any:  # noqa: ARG002
        return MemoryStorage()


class CountedField(fields.FieldType):  # type: ignore[misc]
    """A field with words that count, without positions and analyzers, since sessions are large."""

    def __init__(self, split: Callable[[str], Iterable[bytes]], column: Any = None) -> None:
        self.format = formats.Existence()
        self.analyzer = self.vector = None
        self.scorable = self.stored = self.unique = self.spelling = False
        self.indexed = True
        self.multitoken_query = "default"
        self.column_type = column
        self._split = split

    def index(self, value: str, **_: Any) -> Iterator[tuple[bytes, int, float, bytes]]:
        """The postings of a text."""
        for word, count in Counter(self._split(value)).items():
            yield word, count, count, b""


SATURATION = 1.2
"""`k1` of BM25. Lengths of messages do not count (formats page of sessions, 8)."""


class Weighting(scoring.WeightingModel):  # type: ignore[misc]
    """BM25 without lengths. Whoosh's own gives mere counts where no lengths are stored."""

    def scorer(self, searcher: Any, fieldname: str, text: bytes, qf: float = 1) -> Any:  # noqa: ARG002
        """The scorer of a word."""
        rarity = searcher.get_parent().idf(fieldname, text)
        return _Scorer(rarity, searcher.term_info(fieldname, text).max_weight())


class _Scorer(scoring.BaseScorer):  # type: ignore[misc]
    def __init__(self, rarity: float, most: float) -> None:
        self._rarity = rarity
        self._most = most

    def _rate(self, count: float) -> float:
        return self._rarity * count * (SATURATION + 1) / (count + SATURATION)

    def supports_block_quality(self) -> bool:
        return True

    def score(self, matcher: Any) -> float:
        return self._rate(matcher.weight())

    def max_quality(self) -> float:
        return self._rate(self._most)

    def block_quality(self, matcher: Any) -> float:
        return self._rate(matcher.block_max_weight())
