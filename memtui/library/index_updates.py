"""Keep search index and vectors in step with the loaded rows, and compact dead rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, RLock

from memtui.library.indexing import Index
from memtui.library.loaded_stores import LoadedStores
from memtui.library.semantic import SemanticSearch


class ReadWriteLock:
    """A lock for many readers or one writer. Readers may nest."""

    def __init__(self) -> None:
        self._free = Condition()
        self._readers = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the lock together with other readers."""
        with self._free:
            self._readers += 1
        try:
            yield
        finally:
            with self._free:
                self._readers -= 1
                self._free.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock alone. Deadlocks if the same thread is reading."""
        with self._free:
            self._free.wait_for(lambda: not self._readers)
            yield


class IndexUpdates:
    """Updates index and vectors after the rows changed; may be used from any thread."""

    def __init__(self, loaded: LoadedStores, index: Index, semantic: SemanticSearch) -> None:
        self._loaded = loaded
        self._index = index
        self._semantic = semantic
        self._lock = RLock()
        """Held during an update."""
        self.slots_lock = ReadWriteLock()
        """Read while slots are used to look up rows or index entries; written to renumber them."""

    def start(self) -> None:
        """Cover the rows that the indexes loaded from disk lack."""
        with self._lock:
            self._cover()
            self.load_vectors()

    def update(self) -> None:
        """Cover new rows, and compact the table when it has many dead ones."""
        with self._lock:
            self._compact()
            self._cover()

    def load_vectors(self) -> None:
        """Load the cached vectors and compute those of a few new rows."""
        with self._lock:
            rows = self._loaded.snapshot.rows
            self._semantic.load(self._loaded.caches, len(rows))
            self._semantic.cover(rows)

    def _cover(self) -> None:
        loaded = self._loaded.state
        self._index.cover(loaded.snapshot.rows, loaded.columns.alive)
        self._semantic.cover(loaded.snapshot.rows)

    def _compact(self) -> None:
        loaded, index = self._loaded.state, self._index.state
        kept = self._loaded.slots_to_keep(loaded, index.base_slots)
        if kept is not None:
            covered = index.renumbered(loaded.snapshot.rows, loaded.columns.alive, kept)
            with self.slots_lock.writing():
                kept = self._loaded.compact(loaded, kept)
                self._index.set(covered)
                self._semantic.renumber(kept)
