"""The search index of all open stores: load it, build what is missing, cover changed rows.

`IndexUpdates` keeps index and vectors in step with the loaded rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock, RLock
from typing import TYPE_CHECKING

from memtui.dataclass import dataclass, replace
from memtui.library.loaded_stores import LoadedStores
from memtui.library.semantic import SemanticSearch
from memtui.library.snapshot import Rows
from memtui.library.store_cache import StoreCache
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, Report, never
from memtui.search import postings, segment_files
from memtui.search.array_types import Mask, to_mask
from memtui.search.documents import IndexedDocument, to_document
from memtui.search.index_worker import build_index
from memtui.search.matching import ExactAnswer
from memtui.search.postings import Segment
from memtui.search.query_terms import QueryTerm

if TYPE_CHECKING:
    from pathlib import Path

    from memtui.search.whoosh_index import WhooshIndex

log = logging.getLogger(__name__)

NO_DOCUMENT = IndexedDocument("")
"""Stands in an overlay for a dead row."""

BUILT_IN_PROCESS = 3_000
"""Memories up to which an index is built in this process: a third of a second, less than starting
another one costs."""
MAX_OVERLAYS = 8
"""Overlays before some are merged."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """The segments that can be searched; immutable."""

    bases: tuple[Segment, ...] = ()
    """The cached segment of each store."""
    overlays: tuple[Segment, ...] = ()
    """Segments of rows that are newer than the cache, in slot order."""
    is_ready: bool = False

    @property
    def segments(self) -> tuple[Segment, ...]:
        return self.bases + self.overlays

    def covering(self, row_at: Callable[[int], Memory], alive: Mask) -> IndexState:
        """Return this state with overlays for the rows it lacks; dead rows are not indexed.

        Args:
            row_at: Gives the row in a slot.
            alive: Of each slot whether its row is alive.
        """
        overlays = list(self.overlays)
        for slots in _gaps([*self.bases, *overlays], len(alive)):
            overlays.append(_overlay(row_at, slots, alive))
        overlays.sort(key=lambda segment: segment.first)
        at = _first_to_merge(overlays)
        if at < len(overlays):
            slots = range(overlays[at].first, overlays[-1].first + overlays[-1].count)
            parts = _gaps([*self.bases, *overlays[:at]], slots.stop)
            overlays[at:] = [_overlay(row_at, part_slots, alive) for part_slots in parts]
        return replace(self, overlays=tuple(overlays), is_ready=True)


PROVISIONAL_BATCH = 2_048
"""Memories of one provisional segment: a tenth of a second."""


class ProvisionalIndex:
    """Segments of the rows loaded so far, to search while the index is still being built.

    Rows are indexed in batches that are kept: the first keystroke pays for what is loaded (1.25 s
    of CPU at 33,000), later ones for what was loaded since, and a cancelled one loses at most
    one batch. Stems, which pay off only over a session, are left out. Any
    thread may use it.
    """

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._lock = Lock()

    def extend_to(
        self, rows: Sequence[Memory], size: int, cancelled: IsCancelled = never
    ) -> tuple[Segment, ...]:
        """Return segments of the first `size` of these `rows`. Raises Cancelled.

        Rows may be added since the last call, never changed.
        """
        with self._lock:
            segments = self._segments
            while (covered := _end_of(segments)) < size:
                if cancelled():
                    raise Cancelled
                if segments and segments[-1].count < PROVISIONAL_BATCH:
                    covered = segments.pop().first
                batch = rows[covered : min(covered + PROVISIONAL_BATCH, size)]
                documents = map(to_document, batch)
                segments.append(postings.build(documents, covered, cancelled, is_complete=False))
            return tuple(segments)


def _end_of(segments: Sequence[Segment]) -> int:
    return segments[-1].first + segments[-1].count if segments else 0


class Index:
    """The index of all stores; its state is replaced whole, so that searches in other threads
    always see a consistent one."""

    def __init__(self) -> None:
        self.state = IndexState()
        self.provisional = ProvisionalIndex()
        """Searched until the state is ready."""
        self._lock = Lock()
        self._whoosh_lock = Lock()
        """Whoosh's searchers are not thread-safe."""
        self._whoosh: dict[str, Path] = {}
        """Label of a store -> folder of the cached rows that Whoosh's index was made from."""
        self._opened: dict[Path, WhooshIndex] = {}
        """Those that were searched: Whoosh takes 5 MiB, and few searches need it."""

    def add(self, cache: StoreCache, rows: Rows, report: Report, cancelled: IsCancelled) -> None:
        """Load or build the segment of one store's cached rows."""
        base, folder = cache.base, cache.generation
        if not base or folder is None:
            return
        first = base.start
        if any(segment.first == first for segment in self.state.bases):
            return
        segment = segment_files.load_segment(folder, folder.name, first)
        if segment is None:
            if len(base) > BUILT_IN_PROCESS:
                what = f"indexing {cache.store.label}"
                build_index(
                    "arrays",
                    folder,
                    lambda progress: report(progress._replace(what=what)),
                    cancelled,
                )
                segment = segment_files.load_segment(folder, folder.name, first)
            if segment is None and not cancelled():
                documents = map(to_document, rows[first : base.stop])
                segment = postings.build(documents, first, cancelled)
                _save(segment, folder)
        if segment is not None and segment.count == len(base):
            with self._lock:
                self.state = replace(self.state, bases=(*self.state.bases, segment))

    def extend_to(self, rows: Rows, alive: Mask) -> None:
        """Index the rows that no segment covers; meant for few rows beside the bases."""
        with self._lock:
            self.state = self.state.covering(rows.__getitem__, alive)
            self.provisional = ProvisionalIndex()

    def share(self, state: IndexState) -> None:
        """Take the index of another library, whose first rows have the same texts."""
        self.state = state

    def save(self, cache: StoreCache, cancelled: IsCancelled) -> None:
        """Bring one store's index on disk up to date, for the next start.

        From then on, until the store changes, Whoosh answers its phrases, patterns and fuzzy terms.
        """
        folder = cache.generation
        if folder is None or cancelled():
            return
        if not segment_files.has_segment(folder):
            build_index("arrays", folder, cancelled=cancelled)
        if build_index("whoosh", folder, cancelled=cancelled):
            with self._lock:
                self._whoosh[cache.store.label] = folder

    def search_whoosh(
        self, term: QueryTerm, caches: Sequence[StoreCache], slot_of: Mapping[str, int], alive: Mask
    ) -> ExactAnswer | None:
        """Look up a phrase, a pattern or a fuzzy word in the Whoosh indexes on disk.

        None unless they were made from exactly the rows in memory.
        """
        with self._lock:
            folders = [self._whoosh.get(cache.store.label) for cache in caches]
        saved = [cache.saved_rows for cache in caches]
        if None in saved or saved != folders:
            return None
        found: list[int] = []
        for folder in filter(None, folders):
            with self._whoosh_lock:
                refs = self._open_whoosh(folder.parent).search(term, folder.name)
            if refs is None:
                return None
            found += (slot for ref in refs if (slot := slot_of.get(ref, -1)) >= 0)
        return ExactAnswer(to_mask(found, len(alive)), alive)

    def _open_whoosh(self, home: Path) -> WhooshIndex:
        from memtui.search.whoosh_index import WhooshIndex

        return self._opened.setdefault(home, WhooshIndex(home))


def _overlay(row_at: Callable[[int], Memory], slots: range, alive: Mask) -> Segment:
    documents = (to_document(row_at(slot)) if alive[slot] else NO_DOCUMENT for slot in slots)
    return postings.build(documents, slots.start)


def _first_to_merge(overlays: Sequence[Segment]) -> int:
    """Position of the first overlay that is no larger than all overlays after it together.

    It is merged with those, so a row is indexed again only when the rows after it have doubled.
    """
    if len(overlays) <= MAX_OVERLAYS:
        return len(overlays)
    end = overlays[-1].first + overlays[-1].count
    sizes = ((at, segment.count, end - segment.first) for at, segment in enumerate(overlays[:-1]))
    return next((at for at, count, all_from in sizes if 2 * count <= all_from), len(overlays))


def _gaps(segments: Iterable[Segment], size: int) -> Iterator[range]:
    """The slots below `size` that no segment covers."""
    at = 0
    for segment in sorted(segments, key=lambda segment: segment.first):
        if segment.first > at:
            yield range(at, segment.first)
        at = max(at, segment.first + segment.count)
    if at < size:
        yield range(at, size)


def _save(segment: Segment, folder: Path) -> None:
    try:
        segment_files.save_segment(segment, folder, folder.name)
    except OSError as error:
        log.warning("the index in %s cannot be saved: %s", folder, error)


class IndexUpdates:
    """Updates index and vectors after the rows changed; may be used from any thread."""

    def __init__(self, loaded: LoadedStores, index: Index, semantic: SemanticSearch) -> None:
        self._loaded = loaded
        self._index = index
        self._semantic = semantic
        self._lock = RLock()
        """Held during an update."""

    def start(self) -> None:
        """Cover the rows that the indexes loaded from disk lack."""
        with self._lock:
            self.update()
            self.load_vectors()

    def update(self) -> None:
        """Cover new rows."""
        with self._lock:
            snapshot = self._loaded.snapshot
            self._index.extend_to(snapshot.rows, snapshot.columns.alive)
            self._semantic.extend_to(snapshot.rows)

    def load_vectors(self) -> None:
        """Load the cached vectors and compute those of a few new rows."""
        with self._lock:
            rows = self._loaded.snapshot.rows
            self._semantic.load(self._loaded.caches, len(rows))
            self._semantic.extend_to(rows)
