"""The Whoosh index of memories: which memories hold a word, read as arrays.

An index is one segment, made of memories in their order (`build`) and never changed: on disk beside
the rows of a generation, which are what is unchanged and has no secret (`save`, `load`), and in
memory for all others (`make`). Its documents are numbered as the memories are; its fields are

    words       the words of a memory (`memtui.search.analysis`); the weight of each is its
                occurrences weighted by field, in quarters, at most 255
    beginnings  the first one, two and three letters of words, weighted alike
    tokens      a column: the words of the texts in order, as numbers in the lexicon of `words`,
                -1 after each field; for phrases, titles and passages

On disk it is in a folder with a name of its own, valid by `index.json`, which is renamed into its
place last and has the checksum of each file. What is damaged, linked, open to others or of another
version is not opened. The files are those of Whoosh 2.7.4, which is loaded to write them, and can
be asked about them too.
"""

from __future__ import annotations

import logging
import mmap
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from memtui import __version__
from memtui.progress import IsCancelled, never
from memtui.search import analysis, cache_files
from memtui.search.array_types import Longs
from memtui.search.documents import FIELD_WEIGHTS, IndexedDocument
from memtui.search.index.postings import Lists, Postings, build
from memtui.search.index.segments import FIELD_END, NO_LISTS, Buffer, Segment, read_fields

if TYPE_CHECKING:
    from memtui.search.index.whoosh_patches import PostingList

log = logging.getLogger(__name__)

FORMAT_VERSION = 2
"""Incremented when the files or their meaning change."""
WORDS, BEGINNINGS, TOKENS = "words", "beginnings", "tokens"
_SHORT_LIST = 64
"""Lists of fewer memories lie beside their word."""
_HEADER = "index.json"


def make(
    documents: Iterable[IndexedDocument],
    slots: Sequence[int] | Longs | None = None,
    cancelled: IsCancelled = never,
) -> Segment:
    """Return a segment in memory.

    Args:
        documents: The memories, in the order of their slots.
        slots: Their slots, ascending; None: from 0.

    Raises:
        Cancelled: `cancelled` became true.
    """
    from memtui.search.index.whoosh_patches import MemoryStorage, index

    storage, made = MemoryStorage(), build(documents, cancelled)
    _write(index.FileIndex.create(storage, make_schema()), made)
    segment = _read(storage.list(), made.count, storage.files.__getitem__)
    return segment if slots is None else segment.spread(slots)


def save(
    documents: Iterable[IndexedDocument], generation: Path, cancelled: IsCancelled = never
) -> bool:
    """Write the index of a generation, whose rows these are.

    Returns:
        False if another process is writing it.

    Raises:
        Cancelled, OSError: There is then no index, or the former one.
    """
    from memtui.search.index.whoosh_patches import index

    with cache_files.try_lock(generation / "index.lock") as alone:
        if not alone:
            return False
        made = build(documents, cancelled)
        for former in generation.glob("whoosh-*"):  # a damaged one, or of a process that was killed
            cache_files.remove_tree(former)
        folder = generation / f"whoosh-{secrets.token_hex(6)}"
        folder.mkdir(mode=0o700)
        try:
            opened = index.create_in(str(folder), make_schema())
            _write(opened, made)
            names = []
            for path in sorted(folder.iterdir()):
                path.chmod(0o600)
                names.append(f"{folder.name}/{path.name}")
            about = {**_versions(), "count": made.count, "folder": folder.name}
            cache_files.seal_files(generation / _HEADER, names, about)
        except BaseException:
            cache_files.remove_tree(folder)
            raise
    return True


def is_saved(generation: Path) -> bool:
    """Whether an index was saved here; `load` tells whether it can be trusted."""
    return (generation / _HEADER).exists()


def load(generation: Path) -> Segment | None:
    """Open the index of a generation, its files mapped; None if there is none to trust."""
    try:
        header = cache_files.read_header(generation / _HEADER, _versions())
        folder = generation / Path(header["folder"]).name
        if reason := cache_files.untrusted_reason(folder):
            raise ValueError(reason)
        maps: list[mmap.mmap] = []

        def read(name: str) -> Buffer:
            if not (folder / name).stat().st_size:  # which cannot be mapped
                return b""
            maps.append(_map_file(folder / name))
            return maps[-1]

        def release() -> None:
            """Leave the files to the page cache until they are read again: a search for one letter
            may read much of them."""
            if hasattr(mmap, "MADV_DONTNEED"):
                for each in maps:
                    each.madvise(mmap.MADV_DONTNEED)

        made = _read([path.name for path in folder.iterdir()], int(header["count"]), read)
        release()
        return replace(made, release=release)
    except FileNotFoundError:
        return None
    except Exception as error:  # a damaged cache may fail in any way; it is made again
        log.warning("the index in %s is discarded: %r", generation, error)
        return None


def _versions() -> dict[str, Any]:
    """The versions that the meaning of the files depends on."""
    from whoosh import versionstring

    return {
        "form": FORMAT_VERSION,
        "memtui": __version__,
        "whoosh": versionstring(),
        "analysis": analysis.VERSION,
        "weights": list(FIELD_WEIGHTS),
        "byteorder": sys.byteorder,
    }


def make_schema() -> Any:
    """The fields; Whoosh is always given them, so that it does not unpickle those of an index."""
    from memtui.search.index.whoosh_patches import columns, fields, formats

    return fields.Schema(
        **{
            WORDS: fields.FieldType(formats.Existence(), None),
            BEGINNINGS: fields.FieldType(formats.Existence(), None),
            TOKENS: fields.COLUMN(columns.VarBytesColumn()),
        }
    )


def _write(opened: Any, made: Postings) -> None:
    """Write the only segment of an index, which is empty."""
    from memtui.search.index.whoosh_patches import list_writer

    lists = (*_iter_lists(BEGINNINGS, made.beginnings), *_iter_lists(WORDS, made.words))
    writer = list_writer(opened, lists, _SHORT_LIST)
    try:
        tokens, ends = made.stream.tobytes(), (made.starts * made.stream.itemsize).tolist()
        for begin, end in pairwise(ends):
            writer.add_document(**{TOKENS: tokens[begin:end]})
        writer.commit(merge=False)
    except BaseException:
        if not writer.is_closed:
            writer.cancel()
        raise


def _iter_lists(name: str, lists: Lists) -> Iterator[PostingList]:
    from memtui.search.index.whoosh_patches import PostingList

    begins = lists.indptr.tolist()
    for at, word in enumerate(lists.words):
        held = slice(begins[at], begins[at + 1])
        encoded = word.encode("utf-8", "surrogatepass")
        yield PostingList(name, encoded, lists.ids[held], lists.weights[held])


def _read(names: Sequence[str], count: int, read: Callable[[str], Buffer]) -> Segment:
    """The segment that has files of these names; `read` gives the bytes of one. Raises anything."""
    slots = np.arange(count)
    if not count:
        return Segment(slots, NO_LISTS, NO_LISTS, np.empty(0, np.int32), slots)
    terms, lists, column = (
        read(next(name for name in names if name.endswith(end)))
        for end in (".trm", ".pst", f".{TOKENS}.col")
    )
    found = read_fields(terms, lists)
    tokens = np.frombuffer(column, np.int32, len(column) // 4)
    ends = (tokens == FIELD_END).nonzero()[0][: count * len(FIELD_WEIGHTS)]
    starts = np.concatenate([[0], ends[len(FIELD_WEIGHTS) - 1 :: len(FIELD_WEIGHTS)] + 1])
    if len(starts) != count + 1:
        raise ValueError("not the index of these memories")
    return Segment(
        slots,
        found.get(WORDS, NO_LISTS),
        found.get(BEGINNINGS, NO_LISTS),
        tokens[: int(starts[-1])],
        starts,
    )


def _map_file(path: Path) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)
