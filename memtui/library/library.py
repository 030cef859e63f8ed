"""All open stores together: the one door through which every face reads and writes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock

from memtui.changes import Act, Change, RecordEdit
from memtui.config import Embedding
from memtui.errors import Refused
from memtui.insight import lineage as lineages
from memtui.insight import statistics
from memtui.insight import timeline as timelines
from memtui.insight.lineage import Lineage
from memtui.insight.statistics import Statistics
from memtui.insight.timeline import Timeline, Unit
from memtui.journal import Action, Journal
from memtui.library import finding, opening, planning, reference
from memtui.library.changing import Changing
from memtui.library.finding import Searchable
from memtui.library.indexing import Index
from memtui.library.meaning import Embedded, Meaning
from memtui.library.planning import Planned
from memtui.library.shelf import Shelf, cache_home
from memtui.library.snapshot import Snapshot, StoreState
from memtui.library.table import Table
from memtui.library.values import Cancelled, Found, Progress, Report, Similar, never, silent
from memtui.model import Memory
from memtui.query import Query
from memtui.search import columns as columns_of
from memtui.search.postings import Cancelled as Stopped
from memtui.search.ranking import DEFAULTS, Part, Weights
from memtui.stores import registry
from memtui.stores.base import Reading, Scan, Shard, Store
from memtui.text import visible
from memtui.upkeep import checks
from memtui.upkeep.checks import Finding

log = logging.getLogger(__name__)

NO_EMBEDDING = Embedding(kind="off")
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
        weights: Weights = DEFAULTS,
        embedding: Embedding = NO_EMBEDDING,
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
        self._index = Index()
        self._weights = weights
        self._meaning = Meaning(embedding)
        self._writer: Changing | None = None
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
        weights: Weights = DEFAULTS,
        rules: opening.Rules | None = None,
        embedding: Embedding = NO_EMBEDDING,
    ) -> Library:
        """Open the stores at these paths; reads nothing yet. Raises StoreError, ConfigError.

        `embedding`: what search by meaning is done with; unless told, nothing.
        """
        found = [opening.found_at(path) for path in roots]
        stores = opening.open_all(found, labels, rules)
        return cls(stores, cache=cache, state=state, now=now, weights=weights, embedding=embedding)

    def only(self, labels: Collection[str]) -> Library:
        """The library of these stores of this one; nothing read yet."""
        stores = [store for store in self.stores if store.label in labels]
        return Library(
            stores,
            cache=self._cache,
            state=self._state,
            now=self.now,
            weights=self._weights,
            embedding=self._meaning.choice,
        )

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
        with self._lock:
            if not cancelled():
                shelf.loading = False
                if shelf.catalog is None:
                    shelf.save_cache(self._table)
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
        if stale and self._index.state.ready:
            self._index.cover(self.snapshot.rows)
            self._meaning.cover(self.snapshot.rows)

    def index(self, report: Report = silent, cancelled: Cancelled = never) -> None:
        """Make search ready: load the index of every store, or build what is missing of it."""
        for shelf in self._shelves:
            if cancelled():
                return
            self._index.add(shelf, self.snapshot.rows, report, cancelled)
        if not cancelled():
            self._index.cover(self.snapshot.rows)
            self._take_vectors()

    def keep_index(self, report: Report = silent, cancelled: Cancelled = never) -> None:
        """Write to the cache what changed since it was read, and update the index on disk.

        Search works without; it is for the next start, and for Whoosh to answer.
        """
        for shelf in self._shelves:
            with self._lock:
                if shelf.changed and not shelf.loading:
                    shelf.save_cache(self._table)
            self._index.keep(shelf, report, cancelled)

    def keep_good_copies(self, cancelled: Cancelled = never) -> None:
        """Copy what was read whole into the state folder, so that it can be offered again."""
        if self._state is not None:
            for shelf in self._shelves:
                shelf.keep_good(self._state, cancelled)

    def embed(self, report: Report = silent, cancelled: Cancelled = never) -> list[Embedded]:
        """Make the vectors that memories still lack, one answer for each store that has a cache.

        What was made stays when it is called off. Nothing waits for it: search by text goes on.
        Raises EmbeddingError or OSError.
        """
        done: list[Embedded] = []
        try:
            for shelf in self._shelves:
                with self._lock:
                    if shelf.changed and not shelf.loading:
                        shelf.save_cache(self._table)
                if shelf.catalog is not None and not cancelled():
                    folder, label = shelf.catalog.folder, shelf.store.label
                    done.append(self._meaning.embed(folder, label, report, cancelled))
        except Stopped:
            log.info("making vectors was called off")
        finally:
            self._take_vectors()
        return done

    @property
    def embeds(self) -> bool:
        """Whether there is a model to make vectors with."""
        return self._meaning.embedder is not None

    def _take_vectors(self) -> None:
        with self._lock:
            size = len(self._table)
        self._meaning.take(self._shelves, size)
        self._meaning.cover(self.snapshot.rows)

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
            read_only=store.read_only,
            loading=shelf.loading,
        )

    # --- asking ----------------------------------------------------------------------------

    def find(self, query: Query, cancelled: Cancelled = never) -> Found:
        """What the query finds in the present snapshot. Raises Cancelled."""
        where, revision = self._searchable()
        found, _ = finding.find(query, where, self._slots, self.now(), cancelled)
        return replace(found, revision=revision)

    def explain(self, found: Found, position: int) -> tuple[Part, ...]:
        """Why a hit stands where it does: parts that add up to its score."""
        where, _ = self._searchable()
        slot = found.slots[position]
        return finding.explain(found.query, where, self._slots, slot, self.now())

    def ponder(self, query: Query, cancelled: Cancelled = never) -> bool:
        """Ask a server what the query means, where one was chosen; True when `find` would now
        find more. Returns after some seconds at most, early when cancelled.
        """
        return self._meaning.ponder(query, self._index.state.segments, cancelled)

    def similar(self, ref: str, limit: int = 20, cancelled: Cancelled = never) -> Similar:
        """Memories that are like this one, the most alike first: by vectors where it has one,
        else by its rarest words. Raises RefError, Cancelled.
        """
        with self._lock:
            slot = reference.exact_slot(ref, self._table.slot_of)
        where, _ = self._searchable()
        near = self._meaning.near(slot, len(where.columns))
        return finding.similar(slot, where, near, limit, cancelled)

    def _searchable(self) -> tuple[Searchable, int]:
        with self._lock:
            state = self._index.state
            where = Searchable(
                rows=self.snapshot.rows,
                columns=self._columns,
                segments=state.segments,
                indexed=state.ready,
                exact=self._index.exact(self._shelves, self._slots),
                weights=self._weights,
                meaning=self._meaning,
            )
            return where, self.snapshot.revision

    def _slots(self) -> Mapping[str, int]:
        """Ref -> slot of what is there now."""
        with self._lock:
            return dict(self._table.slot_of)

    def get(self, ref: str) -> Memory:
        """The memory with exactly this ref. Raises RefError."""
        with self._lock:
            return self._table.rows()[reference.exact_slot(ref, self._table.slot_of)]

    def resolve(self, text: str) -> Memory:
        """The memory that a full ref, an id or an unambiguous prefix names. Raises RefError."""
        with self._lock:
            return self._table.rows()[reference.slot_of(text, self._table.slot_of)]

    def lineage(self, memory: Memory, *, backlinks: bool = False) -> Lineage:
        """What the memory replaced, what replaced it, what it links to.

        `backlinks` also looks through the whole store for links to it.
        """
        with self._lock:
            slots, rows = self._table.slot_of, self.snapshot.rows

            def find(store: str, id: str) -> Memory | None:
                slot = slots.get(f"{store}:{id}")
                return None if slot is None else rows[slot]

            if backlinks:
                around: Iterable[Memory] = self._memories_of(memory.store)
            else:
                around = _chain(memory, find)
            return lineages.lineage(memory, lineages.connect(around), find)

    def _memories_of(self, label: str) -> Iterable[Memory]:
        shelf = next(shelf for shelf in self._shelves if shelf.store.label == label)
        rows = self.snapshot.rows
        return [rows[slot] for held in shelf.held.values() for slot in held.slots]

    def statistics(self, found: Found) -> Statistics:
        """Counts over what was found; disk use over all open stores."""
        with self._lock:
            columns = self._columns
            disk = {shelf.store.label: shelf.bytes_on_disk() for shelf in self._shelves}
        times = [t for t in columns_of.times(columns, found.slots) if t == t]
        counts = columns_of.counts(columns, found.slots)
        return statistics.from_counts(
            counts,
            total=found.total,
            pinned=columns_of.pinned_count(columns, found.slots),
            oldest=datetime.fromtimestamp(min(times), UTC) if times else None,
            newest=datetime.fromtimestamp(max(times), UTC) if times else None,
            undated=found.total - len(times),
            disk=disk,
        )

    def timeline(
        self, found: Found, unit: Unit | None = None, width: int = timelines.DEFAULT_WIDTH
    ) -> Timeline:
        """How what was found lies in time."""
        return timelines.build(columns_of.times(self._columns, found.slots), unit, width=width)

    @property
    def _changing(self) -> Changing:
        """Made when first needed: browsing makes no journal."""
        if self._writer is None:
            if self._state is None:
                raise Refused("this library was opened for reading only")
            journal = Journal(self._state)
            journal.recover(registry.row_digest)
            self._writer = Changing(journal, self.stores)
        return self._writer

    # --- changing --------------------------------------------------------------------------

    def plan(self, changes: Sequence[Change], title: str = "") -> Planned:
        """What these changes would do, complete; nothing is written.

        Raises Refused, Conflict or RefError.
        """
        stores = {store.label: store for store in self.stores}
        return planning.plan(changes, stores, self, title)

    def apply(self, planned: Planned) -> Action:
        """Do what was planned, and read what changed. Raises Conflict or SaveError."""
        return self._changed(self._changing.apply(planned))

    def undo(self, number: int | None = None, *, anywhere: bool = False) -> Action:
        """Take back the last change (or the numbered one). Raises Refused, Conflict, SaveError."""
        return self._changed(self._changing.undo(number, anywhere=anywhere))

    def redo(self, number: int | None = None, *, anywhere: bool = False) -> Action:
        """Do the change again that was taken back last (or the numbered one). Raises the same."""
        return self._changed(self._changing.redo(number, anywhere=anywhere))

    def log(self, limit: int = 100, *, anywhere: bool = False) -> list[Action]:
        """What memtui changed in the open stores (or in any), newest first."""
        return self._changing.log(limit, anywhere=anywhere)

    def overwritten(self, since: float) -> list[tuple[Action, RecordEdit]]:
        """What memtui wrote since then (Unix seconds) and another program has put back."""
        return self._changing.overwritten(since)

    def refusal(self, act: Act, memory: Memory) -> str:
        """Why this act cannot be done on this memory; empty when it can."""
        store = self.store(memory.store)
        return store.read_only or store.refusal(act, memory)

    def store(self, label: str) -> Store:
        """The open store with this label. Raises Refused."""
        for store in self.stores:
            if store.label == label:
                return store
        raise Refused(f"no open store is called {visible(label)!r}")

    def memories(self, store: str) -> Iterable[Memory]:
        """All memories of the store with this label, whatever their status."""
        return self._memories_of(store)

    def _changed(self, action: Action) -> Action:
        self.refresh()
        return action

    # --- judging ---------------------------------------------------------------------------

    def check(self) -> list[Finding]:
        """Everything a person should look at, over all memories whatever their status."""
        snapshot, columns = self.snapshot, self._columns
        memories = [snapshot.rows[slot] for slot in columns.alive.nonzero()[0].tolist()]
        unreadable = [item for state in snapshot.stores for item in state.unreadable]
        return list(checks.all_findings(memories, unreadable))


def _chain(memory: Memory, find: Callable[[str, str], Memory | None]) -> list[Memory]:
    """The memory and all that it replaced or was replaced by, as far as either side says so."""
    found = {memory.id: memory}
    front = [memory]
    while front:
        ids = {id for one in front for id in (*one.supersedes, *one.superseded_by)}
        front = [m for id in ids - found.keys() if (m := find(memory.store, id)) is not None]
        found.update((one.id, one) for one in front)
    return list(found.values())
