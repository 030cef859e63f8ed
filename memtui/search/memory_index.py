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
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from memtui import __version__
from memtui.progress import IsCancelled, never
from memtui.search import analysis, cache_files
from memtui.search.array_types import Floats, Ints, Longs
from memtui.search.documents import FIELD_WEIGHTS, IndexedDocument
from memtui.search.posting_lists import NO_LISTS, Buffer, FieldLists, read_fields
from memtui.search.postings import FIELD_END, MAX_WEIGHT, Lists, Postings, WordList, build

if TYPE_CHECKING:
    from memtui.search.whoosh_patches import PostingList

log = logging.getLogger(__name__)

FORMAT_VERSION = 2
"""Incremented when the files or their meaning change."""
WORDS, BEGINNINGS, TOKENS = "words", "beginnings", "tokens"
_SHORT_LIST = 64
"""Lists of fewer memories lie beside their word."""
_HEADER = "index.json"
LENGTH_WORDS = 8.0
"""Words from which a memory counts as long; see `memtui.search.ranking`."""


class Segment(Struct, frozen=True, eq=False, dict=True):
    """The words of memories as arrays; any thread may read it.

    A memory is numbered in the segment, from 0, and has a slot (see `memtui.search.columns`).
    """

    slots: Longs
    """The slot of each memory, ascending."""
    terms: WordList
    beginnings: WordList
    stream: Ints
    starts: Longs
    """Where the words of each memory begin in the stream, and the last end."""
    lists: FieldLists = NO_LISTS
    """Of the words."""
    beginning_lists: FieldLists = NO_LISTS
    release: Callable[[], None] = field(default=lambda: None)
    """Called after a search: leaves the files that it has read to the page cache, if the segment
    is mapped files."""

    @property
    def count(self) -> int:
        return len(self.slots)

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
        if not self.count:
            return np.full(len(slots), -1, np.int32)
        places = slots - self.slots[0]
        found: Ints = self._memory_of.take(places, mode="clip")
        found[(places < 0) | (places >= len(self._memory_of))] = -1
        return found

    # ---- words -----------------------------------------------------------------------------------

    def find_word(self, word: str) -> int | None:
        """The number of this word, or None if no memory holds it."""
        return self.terms.find(word)

    def first_completion(self, start: str) -> str:
        """The first word with this prefix; empty if there is none."""
        first, last = self.terms.prefix_range(start)
        return self.terms[first] if first < last else ""

    def word_range(self, word: str, is_prefix: bool) -> tuple[int, int]:
        """The half-open range of the number of a `word`; `is_prefix`: of all that begin so."""
        if is_prefix:
            return self.terms.prefix_range(word)
        number = self.find_word(word)
        return (0, 0) if number is None else (number, number + 1)

    def words_with_stem(self, stem: str) -> list[int]:
        """The numbers of the words with this stem of an English word, or of the word itself."""
        if len(stem) < 2 or not (stem.isascii() and stem.isalpha()):  # it has no other forms
            number = self.find_word(stem)
            return [] if number is None else [number]
        words = self.terms.numbered(*self.terms.prefix_range(analysis.prefix_of_stem(stem)))
        return [number for number, word in words if analysis.stem(word) == stem]

    # ---- lists -----------------------------------------------------------------------------------

    def read(self, word: int) -> tuple[Ints, NDArray[np.uint8]]:
        """The memories that hold the word of this number, ascending, and the weight of each."""
        return self.lists.read(word)

    def read_prefix(self, start: str) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        """The memories with words with this prefix, ascending, and the sum of the weights of each,
        at most 255."""
        first, last = self.terms.prefix_range(start)
        if first == last:
            return _NO_LIST
        if (at := self.beginnings.find(start)) is not None:
            return self.beginning_lists.read(at)
        ids, weights = self.lists.read_range(first, last)
        if last - first == 1:
            return ids, weights
        sums = np.bincount(ids, weights, self.count)
        memories = sums.nonzero()[0]
        return memories, np.minimum(sums.take(memories), MAX_WEIGHT).astype(np.uint8)

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


_NO_LIST = (np.empty(0, np.int32), np.empty(0, np.uint8))


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
    from memtui.search.whoosh_patches import MemoryStorage, index

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
    from memtui.search.whoosh_patches import index

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
    from memtui.search.whoosh_patches import columns, fields, formats

    return fields.Schema(
        **{
            WORDS: fields.FieldType(formats.Existence(), None),
            BEGINNINGS: fields.FieldType(formats.Existence(), None),
            TOKENS: fields.COLUMN(columns.VarBytesColumn()),
        }
    )


def _write(opened: Any, made: Postings) -> None:
    """Write the only segment of an index, which is empty."""
    from memtui.search.whoosh_patches import list_writer

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
    from memtui.search.whoosh_patches import PostingList

    begins = lists.indptr.tolist()
    for at, word in enumerate(lists.words):
        held = slice(begins[at], begins[at + 1])
        encoded = word.encode("utf-8", "surrogatepass")
        yield PostingList(name, encoded, lists.ids[held], lists.weights[held])


def _read(names: Sequence[str], count: int, read: Callable[[str], Buffer]) -> Segment:
    """The segment that has files of these names; `read` gives the bytes of one. Raises anything."""
    slots = np.arange(count)
    if not count:
        none = WordList(b"")
        return Segment(slots, none, none, np.empty(0, np.int32), slots)
    terms, lists, column = (
        read(next(name for name in names if name.endswith(end)))
        for end in (".trm", ".pst", f".{TOKENS}.col")
    )
    found = read_fields(terms, lists)
    words, beginnings = found.get(WORDS, NO_LISTS), found.get(BEGINNINGS, NO_LISTS)
    tokens = np.frombuffer(column, np.int32, len(column) // 4)
    ends = (tokens == FIELD_END).nonzero()[0][: count * len(FIELD_WEIGHTS)]
    starts = np.concatenate([[0], ends[len(FIELD_WEIGHTS) - 1 :: len(FIELD_WEIGHTS)] + 1])
    if len(starts) != count + 1:
        raise ValueError("not the index of these memories")
    return Segment(
        slots,
        WordList(words.words),
        WordList(beginnings.words),
        tokens[: int(starts[-1])],
        starts,
        words,
        beginnings,
    )


def _map_file(path: Path) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)
