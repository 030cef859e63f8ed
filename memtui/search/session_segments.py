"""How the index over sessions lies in Whoosh: its fields, its segments and its scores.

Whoosh's writer sorts each posting on disk, and its policy of merging compares counts of documents
with small Fibonacci numbers, so that it merges nothing here. `open_writer` keeps the postings of a
segment in memory by their word, which takes a fifth of the time; the files are those of Whoosh.
"""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from memtui.search import analysis
from memtui.search.whoosh_index import columns, fields, formats, scoring, whoosh3

FILE, SESSION, PLACE, TEXT = "file", "session", "place", "text"

_SHORT_LIST = 17
"""Lists of fewer documents lie beside their word: most words are rare."""
_BLOCK, _COMPRESSION = 1024, 9
"""Documents of a block of a longer list, and the level of zlib: with Whoosh's 128 and 3 the index
is a fourteenth larger."""
_ALIKE = 4
"""Segments of like size that are merged into one."""
_LARGEST = 1 << 14
"""Documents of a segment from which on it is merged no more, which would take much memory."""
_MOST = 255
"""Occurrences of a word in a message that are counted."""
_SATURATION = 1.2
"""`k1` of BM25. Lengths of messages do not count (formats page of sessions, 8)."""


def _set_inline(info: Any, documents: array[int], counts: array[float], _: Any) -> None:
    """Put a short list beside its word; without counts if all are one."""
    given = () if set(counts) == {1.0} else map(int, counts)
    info.set_inlined(documents, given, ())


whoosh3.W3TermInfo.set_inline = _set_inline
"""Whoosh's writer of postings calls a method that is not there (it is named `set_inlined`)."""


class Stored(NamedTuple):
    """What is kept of a message besides its words."""

    is_user: bool
    offset: int
    length: int
    number: int
    """Of several messages of one line, which."""
    digest: int
    """Of its text."""
    time: int
    """Seconds since 1970; `NO_TIME` without one."""
    id: int
    """Digest of the program's id of it; 0 without one."""


NO_TIME = -(1 << 62)
_STORED = struct.Struct("<?QIIQqQ")


def pack(stored: Stored) -> bytes:
    """The bytes of the column `PLACE`."""
    return _STORED.pack(*stored)


def unpack(data: bytes) -> Stored:
    """What `pack` was given."""
    return Stored(*_STORED.unpack(data))


_ID = struct.Struct("<Q")


def unpack_id(data: bytes) -> int:
    """`Stored.id` of what `pack` made."""
    id: int = _ID.unpack_from(data, _STORED.size - _ID.size)[0]
    return id


class _Field(fields.FieldType):  # type: ignore[misc]
    """A field with words that count, and without positions, since sessions are large."""

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


def _find_words(text: str) -> Iterable[bytes]:
    """The stems of a text's words and compounds."""
    return chain.from_iterable(map(_words_of_chunk, analysis.find_chunks(text)))


@lru_cache(maxsize=analysis.CACHE_SIZE)
def _words_of_chunk(chunk: str) -> tuple[bytes, ...]:
    parts, compounds = analysis.split_chunk(chunk)
    return tuple(map(_encode, (*map(analysis.stem, parts), *compounds)))


def _encode(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")


def _whole(value: str) -> Iterable[bytes]:
    return (_encode(value),)


def make_schema() -> Any:
    """The fields of a message: its file and session, where it lies, and its words."""
    return fields.Schema(
        **{
            FILE: _Field(_whole),
            SESSION: _Field(_whole, columns.RefBytesColumn()),
            PLACE: fields.COLUMN(columns.FixedBytesColumn(_STORED.size)),
            TEXT: _Field(_find_words),
        }
    )


class _Postings:
    """The postings of the segment that is written: for each field and word its documents."""

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

    def iter_postings(self) -> Iterator[tuple[str, bytes, array[int]]]:
        """Field, word and its documents in order; each word is dropped as it is passed."""
        for field in sorted(self._fields):
            words = self._fields.pop(field)
            for word in sorted(words):
                yield field, word, words.pop(word)

    def cleanup(self) -> None:
        """Drop what is left."""
        self._fields.clear()


class _FieldWriter(whoosh3.W3FieldWriter):  # type: ignore[misc]
    def add_postings(self, schema: Any, lengths: Any, items: Any) -> None:  # noqa: ARG002
        """Write what `_Postings.iter_postings` yields."""
        opened = ""
        for field, word, documents in items:
            if field != opened:
                if opened:
                    self.finish_field()
                self.start_field(field, schema[field])
                opened = field
            self.start_term(word)
            for document in documents:
                self.add(document >> 8, document & _MOST, b"", None)
            self.finish_term()
        if opened:
            self.finish_field()


class _Codec(whoosh3.W3Codec):  # type: ignore[misc]
    length_stats = False

    def field_writer(self, storage: Any, segment: Any) -> Any:
        return _FieldWriter(self, storage, segment)

    def new_segment(self, storage: Any, indexname: str) -> Any:  # noqa: ARG002
        """Of Whoosh's codec, which reads what this one wrote."""
        return whoosh3.W3Segment(whoosh3.W3Codec(), indexname)


def open_writer(opened: Any) -> Any:
    """A writer of an index with this schema, for `commit(mergetype=merge_alike)`."""
    writer = opened.writer(codec=_Codec(_BLOCK, _COMPRESSION, _SHORT_LIST))
    writer.pool = _Postings()
    return writer


def keep_all(_: Any, segments: list[Any]) -> list[Any]:
    """A merge policy: merge none."""
    return segments


def is_merge_due(segments: list[Any]) -> bool:
    """Whether `merge_alike` would merge any of them."""
    return bool(_due(segments))


def merge_alike(writer: Any, segments: list[Any]) -> list[Any]:
    """A merge policy: merge segments of like size, so that there are few, and each is merged
    seldom; and those of which a quarter was taken out."""
    return _merge(writer, segments, _due(segments))


def _due(segments: list[Any]) -> list[Any]:
    alike: dict[int, list[Any]] = {}
    for segment in segments:
        if segment.doc_count_all() < _LARGEST:
            alike.setdefault(segment.doc_count_all().bit_length() // 2, []).append(segment)
    many = [each for group in alike.values() if len(group) >= _ALIKE for each in group]
    worn = [each for each in segments if each.deleted_count() * 4 > each.doc_count_all()]
    return [*many, *worn]


def merge_deleted(writer: Any, segments: list[Any]) -> list[Any]:
    """A merge policy: write all segments anew from which anything was taken out."""
    return _merge(writer, segments, [each for each in segments if each.deleted_count()])


def _merge(writer: Any, segments: list[Any], merged: list[Any]) -> list[Any]:
    from whoosh.reading import SegmentReader

    kept = []
    for segment in segments:
        if segment in merged:
            reader = SegmentReader(writer.storage, writer.schema, segment)
            writer.add_reader(reader)
            reader.close()
        else:
            kept.append(segment)
    return kept


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
        return self._rarity * count * (_SATURATION + 1) / (count + _SATURATION)

    def supports_block_quality(self) -> bool:
        return True

    def score(self, matcher: Any) -> float:
        return self._rate(matcher.weight())

    def max_quality(self) -> float:
        return self._rate(self._most)

    def block_quality(self, matcher: Any) -> float:
        return self._rate(matcher.block_max_weight())
