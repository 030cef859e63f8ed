"""The Whoosh documents of an index, how they are written, and the restricted unpickling.

A document has a ref, a digest of its text, and its words with positions. Nothing else is stored,
and there is no numeric, date or sortable field: filters, order and counts come from
`memtui.search.columns`, at a hundredth of the cost.
"""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from memtui.progress import IsCancelled, Progress, Report, never, silent, stoppable
from memtui.search import postings as arrays
from memtui.search.documents import IndexedDocument, digest_document
from memtui.search.postings import Segment

with warnings.catch_warnings():
    # Whoosh's own regular expressions, on the first import under Python 3.12 and later.
    warnings.simplefilter("ignore", SyntaxWarning)
    from whoosh import fields, formats
    from whoosh.codec.whoosh3 import W3Codec

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


def _dumps(value: Any, protocol: int) -> bytes:
    """At least protocol 4: protocol 2, which Whoosh asks for, writes bytes as a function call."""
    return pickle.dumps(value, max(protocol, 4))


def _refuse(*_: Any, **__: Any) -> Any:
    raise pickle.UnpicklingError("an index of an older Whoosh")


def _restrict_unpickling() -> None:
    """Make Whoosh unpickle with the restricted loader everywhere."""
    from whoosh import columns, formats, index, legacy
    from whoosh.codec import whoosh3
    from whoosh.filedb import structfile
    from whoosh.util import loading

    structfile.load_pickle = load
    whoosh3.loads = loads
    whoosh3.dumps = _dumps
    columns.loads = loads
    formats.loads = loads
    index.pickle = SimpleNamespace(
        loads=loads, dumps=pickle.dumps, PicklingError=pickle.PicklingError
    )
    index.toc_loaders = {}
    legacy.RenamingUnpickler = _refuse
    loading.RenamingUnpickler = _refuse


_restrict_unpickling()

FORMAT_VERSION = 2
"""Incremented when documents or terms are written differently."""
REF, SUM, TEXT = "ref", "sum", "text"
_POSITION_BYTES = 4
_BATCH = 1 << 16
"""Postings that are read from the arrays at once."""
_NO_POSITION = b"-"
"""Compounds have no position in a phrase, but a posting's value may not be empty."""


class Positions(formats.Positions):  # type: ignore[misc]
    """Positions as four bytes each, smaller and safer to read than Whoosh's pickles."""

    def word_values(self, *_text: Any, **_options: Any) -> NoReturn:
        """Refuse to split a text into terms, as Whoosh asks of a format to index it.

        Raises:
            TypeError: always; the terms and their positions come from the arrays, and Whoosh's own
                way would store positions as pickles.
        """
        raise TypeError("terms come from the arrays, not from a text")

    def decode_positions(self, valuestring: bytes) -> list[int]:
        """Return the positions in the value of a posting; none if its length is wrong."""
        if len(valuestring) % _POSITION_BYTES:
            return []
        places: list[int] = np.frombuffer(valuestring, "<u4").tolist()
        return places


class _Text(fields.FieldType):  # type: ignore[misc]
    """A field of words that are already analyzed."""

    def __init__(self) -> None:
        self.format = Positions()
        self.analyzer = None
        self.scorable = False
        self.stored = False
        self.unique = False
        self.indexed = True
        self.vector = None
        self.spelling = False
        self.column_type = None
        self.multitoken_query = "default"


def make_schema() -> Any:
    """The schema; Whoosh is always given it, so that it does not unpickle that of the index."""
    return fields.Schema(
        **{REF: fields.ID(unique=True, stored=True), SUM: fields.STORED(), TEXT: _Text()}
    )


Posting = tuple[str, bytes, int, float, bytes]
"""Field, term, document number, weight, value, as Whoosh writes them."""


def list_postings(
    segment: Segment, documents: Iterable[IndexedDocument], first: int
) -> Iterator[Posting]:
    """All postings of a `segment` of `documents` in Whoosh's order, numbered from `first`."""
    refs = sorted((document.ref.encode(), at) for at, document in enumerate(documents, first))
    for ref, at in refs:
        yield REF, ref, at, 1.0, _NO_POSITION
    yield from _text_postings(segment, first)


def _text_postings(segment: Segment, first: int) -> Iterator[Posting]:
    """The postings of a segment, word by word."""
    if not len(segment.ids):
        return
    token_positions = np.flatnonzero(segment.stream >= 0)
    memory = np.repeat(np.arange(segment.count), np.diff(segment.starts))[token_positions]
    keys = segment.stream[token_positions].astype(np.int64) * segment.count + memory
    order = np.argsort(keys, kind="stable")
    places = (token_positions - segment.starts[memory])[order].astype("<u4").tobytes()
    keys = keys[order]
    del memory, order
    first_term = 0
    while first_term < len(segment.terms):
        reach = segment.indptr[first_term] + _BATCH
        last_term = int(np.searchsorted(segment.indptr, reach, "right")) - 1
        last_term = max(last_term, first_term + 1)
        yield from _batch(segment, first, range(first_term, last_term), keys, places)
        first_term = last_term


def _batch(
    segment: Segment, first: int, terms: range, keys: NDArray[np.int64], places: bytes
) -> Iterator[Posting]:
    """The postings of a range of words; lists of all of them would take a gigabyte."""
    pointers = segment.indptr[terms.start : terms.stop + 1]
    begin, end = int(pointers[0]), int(pointers[-1])
    numbers = np.repeat(np.arange(terms.start, terms.stop, dtype=np.int64), np.diff(pointers))
    pair_keys = numbers * segment.count + segment.ids[begin:end]
    starts = (np.searchsorted(keys, pair_keys, "left") * _POSITION_BYTES).tolist()
    ends = (np.searchsorted(keys, pair_keys, "right") * _POSITION_BYTES).tolist()
    ids = (segment.ids[begin:end] + first).tolist()
    weights = (segment.weights[begin:end] / 4.0).tolist()
    cuts = (pointers - begin).tolist()
    for number, term in enumerate(segment.terms[terms.start : terms.stop]):
        text = term.encode("utf-8", "surrogatepass")
        for at in range(cuts[number], cuts[number + 1]):
            yield TEXT, text, ids[at], weights[at], places[starts[at] : ends[at]] or _NO_POSITION


MAX_SEGMENTS = 8
"""Commits before small segments are merged; with 16, an OR query took twice the time."""
MEMORY_MB = 512
_CHECK_EVERY = 4096
"""Documents or postings between two checks of `cancelled`."""


def commit(
    index: Any,
    documents: Sequence[IndexedDocument],
    removed: Collection[str],
    report: Report = silent,
    cancelled: IsCancelled = never,
    segment: Segment | None = None,
    whole: bool = False,
) -> None:
    """Add documents to an index and remove others, in one commit.

    Args:
        index: A Whoosh index.
        documents: Documents to add.
        removed: Refs of documents to remove.
        report: Is given the postings written and the postings there are, if `whole`.
        cancelled: Is asked as often.
        segment: The postings of exactly these documents; None: they are built.
        whole: Whether the index is empty, so that the postings are written without sorting.

    Raises:
        Cancelled: Nothing was changed. Whoosh may raise anything else.
    """
    codec = W3Codec(compression=0)  # uncompressed blocks are a tenth faster to write
    codec.length_stats = False
    writer = index.writer(codec=codec, limitmb=MEMORY_MB)
    try:
        if removed:
            with index.reader() as reader:
                for ref in removed:
                    if (REF, ref) in reader:
                        matcher = reader.postings(REF, ref)
                        for number in list(matcher.all_ids()):
                            writer.delete_document(number)
        first = writer.docnum
        schema = make_schema()
        for document in stoppable(documents, cancelled, _CHECK_EVERY):
            store = writer.perdocwriter
            store.start_doc(writer.docnum)
            store.add_field(REF, schema[REF], document.ref, 0)
            store.add_field(SUM, schema[SUM], digest_document(document), 0)
            store.finish_doc()
            writer.docnum += 1
            writer._added = True
        if segment is None:
            segment = arrays.build(documents, 0, cancelled)
        items = list_postings(segment, documents, first)
        if whole:
            total = len(segment.ids) + len(documents)
            writer.pool = _SortedPool(_with_progress(items, total, report, cancelled))
        else:
            for item in items:
                writer.pool.add(item)
        merge = not whole and len(writer.segments) >= MAX_SEGMENTS
        writer.commit(merge=merge)
    except BaseException:
        if not writer.is_closed:
            writer.cancel()
        raise


class _SortedPool:
    """Replaces Whoosh's sorting pool, because the arrays are already sorted."""

    def __init__(self, items: Iterator[Posting]) -> None:
        self._items = items

    def iter_postings(self) -> Iterator[Posting]:
        return self._items

    def cleanup(self) -> None:
        """There are no temporary files."""


def _with_progress(
    items: Iterator[Posting], total: int, report: Report, cancelled: IsCancelled
) -> Iterator[Posting]:
    for at, item in enumerate(stoppable(items, cancelled, _CHECK_EVERY)):
        if at % _CHECK_EVERY == 0:
            report(Progress("indexing", at, total))
        yield item
