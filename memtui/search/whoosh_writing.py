"""Writing Whoosh's files from the arrays: no text is analysed again, and nothing is sorted.

Handing Whoosh what its own sorting would arrive at makes 33,000 memories in 4 s instead of 12.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from memtui.search import postings as arrays
from memtui.search.documents import Document, summed
from memtui.search.postings import Cancelled, Segment, Tell, never, silent
from memtui.search.whoosh_fields import REF, SUM, Posting, codec, postings, schema

MOST_SEGMENTS = 8
"""Commits before small segments are merged: with 16 an OR query took twice the time."""
MEMORY_MB = 512
_TICK = 4096
"""Documents or postings between two looks at `cancelled`."""


def commit(
    index: Any,
    documents: Sequence[Document],
    gone: Collection[str],
    tell: Tell = silent,
    cancelled: Callable[[], bool] = never,
    segment: Segment | None = None,
    whole: bool = False,
) -> None:
    """Add documents to an index and forget the refs in `gone`, in one commit.

    `segment`: the arrays of exactly these documents. `whole`: the index is empty, and gets all it
    will hold, straight in the order of the arrays. Raises Cancelled or anything of Whoosh's.
    """
    writer = index.writer(codec=codec(), limitmb=MEMORY_MB)
    try:
        if gone:
            with index.reader() as reader:
                for ref in gone:
                    if (REF, ref) in reader:
                        matcher = reader.postings(REF, ref)
                        for number in list(matcher.all_ids()):
                            writer.delete_document(number)
        first = writer.docnum
        held = schema()
        for at, document in enumerate(documents):
            if at % _TICK == 0 and cancelled():
                raise Cancelled
            store = writer.perdocwriter
            store.start_doc(writer.docnum)
            store.add_field(REF, held[REF], document.ref, 0)
            store.add_field(SUM, held[SUM], summed(document), 0)
            store.finish_doc()
            writer.docnum += 1
            writer._added = True
        if segment is None:
            segment = arrays.build(documents, 0, cancelled)
        items = postings(segment, documents, first)
        if whole:
            total = len(segment.ids) + len(documents)
            writer.pool = _Sorted(_watched(items, total, tell, cancelled))
        else:
            for item in items:
                writer.pool.add(item)
        merge = not whole and len(writer.segments) >= MOST_SEGMENTS
        writer.commit(merge=merge)
    except BaseException:
        if not writer.is_closed:
            writer.cancel()
        raise


class _Sorted:
    """Stands in for Whoosh's sorting pool: the arrays are in order already."""

    def __init__(self, items: Iterator[Posting]) -> None:
        self._items = items

    def iter_postings(self) -> Iterator[Posting]:
        return self._items

    def cleanup(self) -> None:
        """Nothing lies on disk."""


def _watched(
    items: Iterator[Posting], total: int, tell: Tell, cancelled: Callable[[], bool]
) -> Iterator[Posting]:
    for at, item in enumerate(items):
        if at % _TICK == 0:
            if cancelled():
                raise Cancelled
            tell(at, total)
        yield item
