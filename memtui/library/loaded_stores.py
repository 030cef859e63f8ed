"""All memories of all open stores as they are held: filled, kept up with the files, published."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import RLock

from memtui.insight import lineage as lineages
from memtui.insight.lineage import Lineage
from memtui.library import finding
from memtui.library.slots import SlotTable
from memtui.library.snapshot import Snapshot, StoreState
from memtui.library.store_cache import StoreCache, cache_home
from memtui.model import Memory
from memtui.progress import IsCancelled, Progress, Report, never, silent
from memtui.search import numbering
from memtui.search.columns import Columns, Slots
from memtui.stores.base import Reading, Scan, Shard, WritableStore

LEAST_DEAD = 1_024
"""Rows that nobody finds any more up to which they are not worth a compaction."""
PUBLISH_EVERY = 0.15
"""Seconds between two snapshots while stores load: often enough to look alive."""


@dataclass(frozen=True, slots=True)
class LoadedState:
    """A snapshot and the columns of exactly its rows."""

    snapshot: Snapshot
    columns: Columns


class LoadedStores:
    """The table and what each store fills of it; may be used from any thread."""

    def __init__(self, stores: Sequence[WritableStore], cache: Path | None) -> None:
        self.lock = RLock()
        self.shelves = [StoreCache(s, cache_home(cache, s) if cache else None) for s in stores]
        self._table = SlotTable()
        self._revision = 0
        self.now: LoadedState
        self._publish()

    @property
    def snapshot(self) -> Snapshot:
        return self.now.snapshot

    def load(self, report: Report = silent, cancelled: IsCancelled = never) -> None:
        """Fill the snapshot: cached rows at once, then every shard that is new or changed."""
        with self.lock:
            for shelf in self.shelves:
                shelf.take_cache(self._table)
            self._publish()
        for shelf in self.shelves:
            self._load_shelf(shelf, report, cancelled)
            if cancelled():
                return

    def _load_shelf(self, shelf: StoreCache, report: Report, cancelled: IsCancelled) -> None:
        scan = shelf.store.scan()
        with self.lock:
            shelf.drop_gone(scan, self._table)
        stale = list(shelf.stale(scan))
        self._read(shelf, stale, report, cancelled)
        with self.lock:
            if not cancelled():
                shelf.loading = False
                if shelf.catalog is None:
                    shelf.save_cache(self._table)
            self._publish()

    def _read(
        self, shelf: StoreCache, shards: Sequence[Shard], report: Report, cancelled: IsCancelled
    ) -> None:
        """Read these shards and show them in batches, so that the screen sees them come."""
        batch: list[tuple[Shard, Reading]] = []
        shown = time.monotonic()
        for number, shard in enumerate(shards):
            if cancelled():
                return
            reading = shelf.store.read(shard)
            with self.lock:
                same = shelf.has(shard, reading, self._table)
            if not same:
                batch.append((shard, reading))
            if time.monotonic() - shown > PUBLISH_EVERY:
                self._put(shelf, batch)
                batch = []
                report(Progress(f"reading {shelf.store.label}", number + 1, len(shards)))
                shown = time.monotonic()
        self._put(shelf, batch)

    def _put(self, shelf: StoreCache, batch: list[tuple[Shard, Reading]]) -> None:
        if batch:
            with self.lock:
                shelf.put(batch, self._table)
                self._publish()

    def refresh(self) -> bool:
        """Look at the stores again, cheaply; True when the snapshot changed."""
        revision = self.snapshot.revision
        for shelf in self.shelves:
            scan = shelf.store.scan()
            with self.lock:
                gone = shelf.drop_gone(scan, self._table)
            stale = list(shelf.stale(scan))
            self._read(shelf, stale, silent, never)
            if gone and not stale:
                with self.lock:
                    self._publish()
        return self.snapshot.revision != revision

    def refresh_files(self, paths: Collection[str]) -> bool:
        """Look at what is held of these files and at nothing else, which `refresh` does after; True
        when the snapshot changed."""
        revision = self.snapshot.revision
        for shelf in self.shelves:
            with self.lock:
                shards = shelf.in_files(paths)
            if shards:
                seen = Scan(tuple(shelf.store.look_again(shards)))
                self._read(shelf, list(shelf.stale(seen)), silent, never)
        return self.snapshot.revision != revision

    def save_changed(self, shelf: StoreCache) -> None:
        """Write to the cache what of a store changed since it was read from there."""
        with self.lock:
            if shelf.changed and not shelf.loading:
                shelf.save_cache(self._table)

    def slots_to_keep(self, now: LoadedState, bases: Iterable[range]) -> Slots | None:
        """The slots of this moment that a compaction would keep: what is alive, and all of these
        ranges, whose index is on disk as it is. None while there is little to let go of."""
        alive = now.columns.alive
        kept = numbering.list_kept_slots(alive, [*bases, *now.snapshot.rows.cached])
        dead = len(alive) - len(kept)
        return kept if dead >= max(LEAST_DEAD, now.snapshot.count // 2) else None

    def compact(self, then: LoadedState, kept: Slots) -> Slots:
        """Number the rows in these slots anew, let go of all others there were then, and publish
        what is left. Returns all slots that were kept.

        Whoever goes from a slot to what it means must not do so meanwhile.
        """
        with self.lock:
            kept = numbering.append_later_slots(kept, len(then.columns), len(self._table))
            self._table.compact(kept)
            for shelf in self.shelves:
                shelf.renumber(kept)
            self._publish()
            return kept

    def _publish(self) -> None:
        self._revision += 1
        snapshot = Snapshot(
            rows=self._table.rows(),
            count=self._table.alive_count(),
            stores=tuple(_state_of(shelf) for shelf in self.shelves),
            revision=self._revision,
        )
        self.now = LoadedState(snapshot, self._table.columns)

    # Looking up

    def slots(self) -> Mapping[str, int]:
        """Ref -> slot of what is there now."""
        with self.lock:
            return dict(self._table.slot_of)

    def slot(self, ref: str) -> int:
        """The slot of the memory with exactly this ref. Raises RefError."""
        with self.lock:
            return finding.exact_slot(ref, self._table.slot_of)

    def resolve(self, text: str) -> Memory:
        """The memory that a full ref, an id or an unambiguous prefix names. Raises RefError."""
        with self.lock:
            return self._table.rows()[finding.slot_of(text, self._table.slot_of)]

    def of_store(self, label: str) -> list[Memory]:
        """All memories of the store with this label, whatever their status."""
        with self.lock:
            rows = self.snapshot.rows
            found = (shelf for shelf in self.shelves if shelf.store.label == label)
            return [
                rows[slot] for shelf in found for held in shelf.held.values() for slot in held.slots
            ]

    def lineage(self, memory: Memory, backlinks: bool) -> Lineage:
        """See `Library.lineage`."""
        with self.lock:
            slots, rows = self._table.slot_of, self.snapshot.rows

            def find(store: str, id: str) -> Memory | None:
                slot = slots.get(f"{store}:{id}")
                return None if slot is None else rows[slot]

            around: Iterable[Memory]
            around = self.of_store(memory.store) if backlinks else _chain(memory, find)
            return lineages.lineage(memory, lineages.collect_relations(around), find)

    def memories_by_file(self) -> dict[str, dict[str, int]]:
        """Store label -> each file of it -> the memories that are read together with it."""
        with self.lock:
            return {shelf.store.label: shelf.memories_by_file() for shelf in self.shelves}

    def bytes_on_disk(self) -> dict[str, int]:
        """Store label -> what its files take."""
        with self.lock:
            return {shelf.store.label: shelf.bytes_on_disk() for shelf in self.shelves}


def _state_of(shelf: StoreCache) -> StoreState:
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


def _chain(memory: Memory, find: Callable[[str, str], Memory | None]) -> list[Memory]:
    """The memory and all that it replaced or was replaced by, as far as either side says so."""
    found = {memory.id: memory}
    front = [memory]
    while front:
        ids = {id for one in front for id in (*one.supersedes, *one.superseded_by)}
        front = [m for id in ids - found.keys() if (m := find(memory.store, id)) is not None]
        found.update((one.id, one) for one in front)
    return list(found.values())
