"""The search index of all open stores: load it, build what is missing, cover changed rows."""

from __future__ import annotations

import logging
from pathlib import Path
from threading import Lock

from msgspec import Struct
from msgspec.structs import replace

from memtui.library.snapshot import Rows, Snapshot
from memtui.library.store_cache import StoreCache
from memtui.progress import IsCancelled, Report, silent
from memtui.search.documents import to_document
from memtui.search.index import memory_index
from memtui.search.index.index_worker import build_index
from memtui.search.index.segments import Segment

log = logging.getLogger(__name__)

BUILT_IN_PROCESS = 3_000
"""Memories up to which an index is built in this process: a third of a second, less than starting
another one costs."""
MAX_IN_MEMORY = 8
"""Segments in memory before they are made anew as one."""


class IndexState(Struct, frozen=True):
    """The segments that can be searched; immutable."""

    segments: tuple[Segment, ...] = ()
    """What is on disk of each store; then the rows that are not, which changed since or have a
    secret."""
    saved: int = 0
    """How many segments are on disk."""
    snapshot: Snapshot | None = None
    """The newest whose rows are all indexed; None until one is."""

    def covering(self, snapshot: Snapshot) -> IndexState:
        """Return this state with a segment of the rows it lacks; dead rows are not indexed."""
        is_full = len(self.segments) - self.saved >= MAX_IN_MEMORY
        kept = self.segments[: self.saved] if is_full else self.segments
        missing = snapshot.columns.alive.copy()
        for segment in kept:
            missing[segment.slots[segment.slots < len(missing)]] = False
        slots = missing.nonzero()[0]
        if len(slots):
            added = memory_index.make(map(to_document, snapshot.take(slots).values()), slots)
            kept = (*kept, added)
        return replace(self, segments=kept, snapshot=snapshot)


class Index:
    """The index of all stores; its state is replaced whole, so that searches in other threads
    always see a consistent one."""

    def __init__(self) -> None:
        self.state = IndexState()
        self._lock = Lock()

    def add(self, cache: StoreCache, rows: Rows, report: Report, cancelled: IsCancelled) -> None:
        """Open or make the index of one store's cached rows."""
        slots, folder = list(cache.saved_slots), cache.generation
        if not slots or folder is None:
            return
        if any(each.slots[0] == slots[0] for each in self.state.segments[: self.state.saved]):
            return
        if slots != sorted(slots):  # rows that were read again lie behind later ones
            return
        segment = memory_index.load(folder)
        if segment is None:
            _write(cache, folder, rows, report, cancelled)
            segment = memory_index.load(folder)
        if segment is not None and segment.count == len(slots):
            with self._lock:
                state = self.state
                on_disk, rest = state.segments[: state.saved], state.segments[state.saved :]
                segments = (*on_disk, segment.spread(slots), *rest)
                self.state = replace(state, segments=segments, saved=state.saved + 1)

    def extend_to(self, snapshot: Snapshot) -> None:
        """Index the rows that no segment covers; meant for few rows beside the bases."""
        with self._lock:
            self.state = self.state.covering(snapshot)

    def share(self, state: IndexState) -> None:
        """Take the index of another library, whose first rows have the same texts."""
        self.state = state

    def save(self, cache: StoreCache, rows: Rows, cancelled: IsCancelled) -> None:
        """Bring one store's index on disk up to date, for the next start."""
        folder = cache.generation
        if folder is not None and not cancelled() and not memory_index.is_saved(folder):
            _write(cache, folder, rows, silent, cancelled)


def _write(
    cache: StoreCache, folder: Path, rows: Rows, report: Report, cancelled: IsCancelled
) -> None:
    """Write the index of the cached rows of a store, which `rows` has too."""
    if len(cache.saved_slots) > BUILT_IN_PROCESS:
        what = f"indexing {cache.store.label}"
        build_index(
            "index", folder, lambda progress: report(progress._replace(what=what)), cancelled
        )
    elif not cancelled():
        try:
            memory_index.save(map(to_document, map(rows.__getitem__, cache.saved_slots)), folder)
        except OSError as error:
            log.warning("the index in %s cannot be saved: %s", folder, error)
