"""How the index over sessions lies in Whoosh: its fields and its segments.

Whoosh's policy of merging compares counts of documents with small Fibonacci numbers, so that it
merges nothing here; `merge_alike` does. The files are those of Whoosh.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from memtui.search import analysis
from memtui.search.index.whoosh_patches import (
    CountedField,
    ListShape,
    columns,
    counting_writer,
    fields,
)

with warnings.catch_warnings():
    # As in `whoosh_patches`, which does without this module: memories are asked without it.
    warnings.simplefilter("ignore", SyntaxWarning)
    from whoosh import query

whoosh_query = query
"""For `session_index`."""

FILE, SESSION, PLACE, TEXT = "file", "session", "place", "text"

_LISTS = ListShape(block=1024, compression=9, short_list=17)
"""Most words are rare; with Whoosh's blocks of 128 and level 3 the index is a fourteenth larger."""
_ALIKE = 4
"""Segments of like size that are merged into one."""
_LARGEST = 1 << 14
"""Documents of a segment from which on it is merged no more, which would take much memory."""


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
            FILE: CountedField(_whole),
            SESSION: CountedField(_whole, columns.RefBytesColumn()),
            PLACE: fields.COLUMN(columns.FixedBytesColumn(_STORED.size)),
            TEXT: CountedField(_find_words),
        }
    )


def open_writer(opened: Any) -> Any:
    """A writer of an index with this schema, for `commit(mergetype=merge_alike)`."""
    return counting_writer(opened, _LISTS)


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
