"""Index and vectors follow the rows; dead rows are let go of once there are many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, RLock

from memtui.library.indexing import Index
from memtui.library.loaded_stores import LoadedStores
from memtui.library.semantic import Meaning


class IndexUpdates:
    """Brings index and vectors up to the rows that are held; may be used from any thread."""

    def __init__(self, holdings: LoadedStores, index: Index, meaning: Meaning) -> None:
        self._holdings = holdings
        self._index = index
        self._meaning = meaning
        self._lock = RLock()
        """Held while the index follows the rows."""
        self.numbering = ReadWriteLock()
        """Read by whoever goes from slots to rows or index; written when slots are given anew."""

    def begin(self) -> None:
        """The indexes on disk are loaded: cover what they do not know."""
        with self._lock:
            self._cover()
            self.take_vectors()

    def follow(self) -> None:
        """Rows have changed: cover the new ones, and compact the table where it is worth it."""
        with self._lock:
            self._compact()
            self._cover()

    def take_vectors(self) -> None:
        """Take the vectors from the cache, and make those of the few rows it does not know."""
        with self._lock:
            rows = self._holdings.snapshot.rows
            self._meaning.take(self._holdings.shelves, len(rows))
            self._meaning.cover(rows)

    def _cover(self) -> None:
        now = self._holdings.now
        self._index.cover(now.snapshot.rows, now.columns.alive)
        self._meaning.cover(now.snapshot.rows)

    def _compact(self) -> None:
        """Let go of rows that nobody finds any more, once there are many; slots are given anew."""
        now, index = self._holdings.now, self._index.state
        kept = self._holdings.slots_to_keep(now, index.base_slots)
        if kept is not None:
            covered = index.renumbered(now.snapshot.rows, now.columns.alive, kept)
            with self.numbering.writing():
                kept = self._holdings.compact(now, kept)
                self._index.set(covered)
                self._meaning.renumber(kept)


class ReadWriteLock:
    """Readers never wait for each other; a writer waits until nobody reads. Readers may nest."""

    def __init__(self) -> None:
        self._free = Condition()
        self._readers = 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold it with any number of others."""
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
        """Hold it alone. Must not be asked for while reading."""
        with self._free:
            self._free.wait_for(lambda: not self._readers)
            yield
