"""All open stores together: the one door through which every face reads and writes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock

from memtui.library import finding, opening, reference
from memtui.library.shelf import Shelf, cache_home
from memtui.library.snapshot import Snapshot, StoreState
from memtui.library.table import Table
from memtui.library.values import Cancelled, Found, Progress, Report, never, silent
from memtui.model import Memory
from memtui.query import Query
from memtui.stores.base import Reading, Scan, Shard, Store
from memtui.upkeep import checks
from memtui.upkeep.checks import Finding

log = logging.getLogger(__name__)

PUBLISH_EVERY = 0.15
"""Seconds between two snapshots while stores load: often enough to look alive."""


def utc_now() -> datetime:
    return datetime.now(UTC)


class Library:
    """Reads, finds and changes the memories of its stores; may be called from any thread."""

    def __init__(
        self,
        stores: Sequence[Store],
        *,
        cache: Path | None = None,
        state: Path | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.stores = tuple(stores)
        self.now = now
        self._cache = cache
        self._state = state
        self._lock = RLock()
        self._table = Table()
        self._shelves = [
            Shelf(store, cache_home(cache, store) if cache else None) for store in stores
        ]
        self._index = finding.Index()
        self._revision = 0
        self.snapshot: Snapshot
        self._publish()

    @classmethod
    def open(
        cls,
        roots: Sequence[Path],
        *,
        cache: Path | None = None,
        state: Path | None = None,
        now: Callable[[], datetime] = utc_now,
        labels: Sequence[str] = (),
    ) -> Library:
        """Open the stores at these paths; reads nothing yet. Raises StoreError."""
        found = [opening.found_at(path) for path in roots]
        return cls(opening.open_all(found, labels), cache=cache, state=state, now=now)

    def only(self, labels: Collection[str]) -> Library:
        """The library of these stores of this one; nothing read yet."""
        stores = [store for store in self.stores if store.label in labels]
        return Library(stores, cache=self._cache, state=self._state, now=self.now)

    # --- loading ---------------------------------------------------------------------------

    def load(self, report: Report = silent, cancelled: Cancelled = never) -> None:
        """Fill the snapshot: cached rows at once, then every shard that is new or changed."""
        with self._lock:
            for shelf in self._shelves:
                shelf.take_cache(self._table)
            self._publish()
        for shelf in self._shelves:
            self._load_shelf(shelf, report, cancelled)
            if cancelled():
                return

    def _load_shelf(self, shelf: Shelf, report: Report, cancelled: Cancelled) -> None:
        scan = shelf.store.scan()
        with self._lock:
            shelf.drop_gone(scan, self._table)
        stale = list(shelf.stale(scan))
        self._read(shelf, stale, report, cancelled)
        if not cancelled():
            shelf.loading = False
        with self._lock:
            self._publish()

    def _read(
        self, shelf: Shelf, shards: Sequence[Shard], report: Report, cancelled: Cancelled
    ) -> None:
        """Read these shards and show them in batches, so that the screen sees them come."""
        batch: list[tuple[Shard, Reading]] = []
        shown = time.monotonic()
        for number, shard in enumerate(shards):
            if cancelled():
                return
            batch.append((shard, shelf.store.read(shard)))
            if time.monotonic() - shown > PUBLISH_EVERY:
                self._put(shelf, batch)
                batch = []
                report(Progress(f"reading {shelf.store.label}", number + 1, len(shards)))
                shown = time.monotonic()
        self._put(shelf, batch)

    def _put(self, shelf: Shelf, batch: list[tuple[Shard, Reading]]) -> None:
        if batch:
            with self._lock:
                shelf.put(batch, self._table)
                self._publish()

    def refresh(self) -> bool:
        """Look at the stores again, cheaply; True when the snapshot changed."""
        revision = self.snapshot.revision
        for shelf in self._shelves:
            scan = shelf.store.scan()
            self._refresh_shelf(shelf, scan)
        return self.snapshot.revision != revision

    def _refresh_shelf(self, shelf: Shelf, scan: Scan) -> None:
        with self._lock:
            gone = shelf.drop_gone(scan, self._table)
        stale = list(shelf.stale(scan))
        self._read(shelf, stale, silent, never)
        if gone and not stale:
            with self._lock:
                self._publish()
        if stale and self._index.is_ready:
            self._index.cover(self._table.rows(), self._table.columns)

    def index(self, report: Report = silent, cancelled: Cancelled = never) -> None:
        """Make search ready: load the index of every store, or build what is missing of it."""
        for shelf in self._shelves:
            if cancelled():
                return
            with self._lock:
                if shelf.worth_saving:
                    shelf.save_cache(self._table)
            self._index.add(shelf, self._table.rows(), report, cancelled)
        if not cancelled():
            self._index.cover(self._table.rows(), self._table.columns)

    def _publish(self) -> None:
        self._revision += 1
        self.snapshot = Snapshot(
            rows=self._table.rows(),
            count=self._table.alive_count(),
            stores=tuple(self._state_of(shelf) for shelf in self._shelves),
            revision=self._revision,
        )
        self._columns = self._table.columns

    def _state_of(self, shelf: Shelf) -> StoreState:
        store = shelf.store
        return StoreState(
            label=store.label,
            format=store.format,
            root=store.root,
            count=shelf.count,
            unreadable=shelf.unreadable,
            read_only=getattr(store, "read_only", ""),
            loading=shelf.loading,
        )

    # --- asking ----------------------------------------------------------------------------

    def find(self, query: Query, cancelled: Cancelled = never) -> Found:
        """What the query finds in the present snapshot."""
        with self._lock:
            snapshot, columns, index = self.snapshot, self._columns, self._index.state
        found = finding.find(query, snapshot.rows, columns, index, self.now(), cancelled)
        return replace(found, revision=snapshot.revision)

    def get(self, ref: str) -> Memory:
        """The memory with exactly this ref. Raises RefError."""
        with self._lock:
            return self._table.rows()[reference.exact_slot(ref, self._table.slot_of)]

    def resolve(self, text: str) -> Memory:
        """The memory that a full ref, an id or an unambiguous prefix names. Raises RefError."""
        with self._lock:
            return self._table.rows()[reference.slot_of(text, self._table.slot_of)]

    def check(self) -> list[Finding]:
        """Everything a person should look at, over all memories whatever their status."""
        snapshot, columns = self.snapshot, self._columns
        memories = [snapshot.rows[slot] for slot in columns.alive.nonzero()[0].tolist()]
        unreadable = [item for state in snapshot.stores for item in state.unreadable]
        return list(checks.all_findings(memories, unreadable))
