"""Load the memories of all open stores, follow changes on disk and publish snapshots."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from threading import Lock, RLock

from memtui.files.git_history import GitHistory
from memtui.library.guarded_store import unguarded
from memtui.library.slots import SlotTable
from memtui.library.snapshot import Rows, Snapshot, StoreState
from memtui.library.store_cache import StoreCache, cache_home, has_time_of_file
from memtui.paths import link_target
from memtui.progress import IsCancelled, Progress, Report, never, silent
from memtui.stores.base import (
    LimitUse,
    Reading,
    Scan,
    Shard,
    Store,
    StoreView,
)
from memtui.stores.queryable import QueryableStore
from memtui.stores.registry import product_of

GIT_SECONDS = 3.0
"""Time limit for the dates of all stores. They are asked for when all rows are shown."""
PUBLISH_EVERY = 0.15
"""Seconds between two snapshots while stores load, so that the screen shows progress."""
READING_SHARE = 3
"""Reading goes on for so many times as long as showing the last snapshot took, since both want the
same processor."""
GROWTH = 0.1
"""And for at least this share of the time so far: a snapshot costs more the more there is."""


class LoadedStores:
    """The slot table and the store caches that fill it; may be used from any thread."""

    def __init__(self, stores: Sequence[Store], cache: Path | None) -> None:
        self.lock, self._looking = RLock(), Lock()
        # The rows of a store that others share are not copied to this disk.
        homes = [None if cache is None or s.is_shared else cache_home(cache, s) for s in stores]
        self.caches = [StoreCache(s, home) for s, home in zip(stores, homes, strict=True)]
        self._table = SlotTable()
        self._revision = 0
        self._has_reported = False
        """From then on whoever shows the rows waits for reports, and gets one for every batch."""
        self._limit_uses: tuple[tuple[int, int], tuple[LimitUse, ...]] | None = None
        self.cached: tuple[StoreState, ...] = ()
        """The stores as they were when their caches were written, with their counts."""
        self.snapshot: Snapshot
        """The rows and store states as of now; replaced whole on every change."""
        self._publish()

    def load(self, report: Report = silent, cancelled: IsCancelled = never) -> None:
        """Fill the snapshot: cached rows at once, then every shard that is new or changed."""
        with self.lock:
            for cache in self.caches:
                cache.load(self._table)
            self._publish()
            self.cached = self.snapshot.stores
        for cache in self.caches:
            scan = cache.store.scan()
            with self.lock:
                cache.drop_missing(scan, self._table)
            changed = list(cache.stale_shards(scan))
            if changed:
                cache.git_mark = ""  # what a touch or a checkout has made new is dated again
            self._read(cache, changed, report, cancelled)
            with self.lock:
                if not cancelled():
                    cache.loading = False
                self._publish()
            if cancelled():
                return
        until = time.monotonic() + GIT_SECONDS
        for cache in self.caches:
            self._date_by_git(cache, until, report, cancelled)

    def _date_by_git(
        self, cache: StoreCache, until: float, report: Report, cancelled: IsCancelled
    ) -> None:
        """Ask git for the times of files that a checkout may have made new; not again for the same
        commit."""
        git = GitHistory.of(cache.store.root, cancelled, until - time.monotonic())
        if cancelled() or git is None or (mark := git.mark) == cache.git_mark:
            return
        changes: dict[str, datetime] = {}
        columns, label = self._table.columns, cache.store.label
        rows = map(self._table.rows.__getitem__, columns.slots_of_store(label))
        if any(map(has_time_of_file, rows)):
            report(Progress(f"dating {_program(cache)} by git"))
            changes = git.last_changes(cache.store.root)
        if cancelled():
            return
        with self.lock:
            if cache.date_by_git(self._table, changes, os.path.realpath(git.top), mark):
                self._publish()

    def _read(
        self, cache: StoreCache, shards: Sequence[Shard], report: Report, cancelled: IsCancelled
    ) -> None:
        """Read these shards and publish them in batches, so that the screen can show them early."""
        batch: list[tuple[Shard, Reading]] = []
        begun = time.monotonic()
        due = begun + PUBLISH_EVERY
        for number, shard in enumerate(shards):
            if cancelled():
                return
            batch.append((shard, cache.store.read(shard)))
            if time.monotonic() > due:
                self._publish_batch(cache, batch)
                batch = []
                published = time.monotonic()
                self._has_reported = True
                report(Progress(f"reading {_program(cache)}", number + 1, len(shards)))
                shown = time.monotonic()
                pauses = (
                    PUBLISH_EVERY,
                    (shown - published) * READING_SHARE,
                    (shown - begun) * GROWTH,
                )
                due = shown + max(pauses)
        self._publish_batch(cache, batch)
        if batch and self._has_reported:
            report(Progress(f"reading {_program(cache)}", len(shards), len(shards)))

    def _publish_batch(self, cache: StoreCache, batch: list[tuple[Shard, Reading]]) -> None:
        if batch:
            with self.lock:
                if cache.replace_shards(batch, self._table):
                    self._publish()

    def refresh(self) -> bool:
        """Rescan the stores and read what changed; True when the snapshot changed.

        One at a time: a look that began before memtui's own write would undo what that has read.
        """
        revision = self.snapshot.revision
        with self._looking:
            until = time.monotonic() + GIT_SECONDS
            for cache in self.caches:
                scan = cache.store.scan()
                with self.lock:
                    missing, before = cache.drop_missing(scan, self._table), self.snapshot.revision
                self._read(cache, list(cache.stale_shards(scan)), silent, never)
                if missing and self.snapshot.revision == before:
                    with self.lock:
                        self._publish()
                self._date_by_git(cache, until, silent, never)
        return self.snapshot.revision != revision

    def refresh_files(self, paths: Collection[str]) -> bool:
        """Read again only the shards of these files; True when the snapshot changed."""
        revision = self.snapshot.revision
        for cache in self.caches:
            with self.lock:
                shards = cache.shards_of_files(paths)
            if shards:
                scan = Scan(tuple(cache.store.look_again(shards)))
                self._read(cache, list(cache.stale_shards(scan)), silent, never)
        return self.snapshot.revision != revision

    def save_new(self, report: Report = silent) -> None:
        """Write the rows of the stores without a cache into one."""
        for cache in self.caches:
            if cache.generation is None:
                self.save_changed(cache, report)

    def save_changed(self, cache: StoreCache, report: Report = silent) -> None:
        """Write a store's rows to its cache if they changed."""
        if cache.home is not None and cache.has_changes and not cache.loading:
            cache.find_secrets(self._table.rows, report)
            with self.lock:
                cache.save(self._table)

    def _publish(self) -> None:
        self._revision += 1
        table = self._table
        self.snapshot = Snapshot(
            rows=Rows(table.rows),
            columns=table.columns,
            slot_of=dict(table.slot_of),
            stores=tuple(_state_of(cache) for cache in self.caches),
            revision=self._revision,
        )

    def clean_slots(self) -> set[int]:
        """The slots of memories that were searched for secrets and have none."""
        with self.lock:
            return {slot for cache in self.caches for slot in cache.clean_slots()}

    def memories_by_file(self) -> dict[str, dict[str, int]]:
        """Store label -> path of each file -> how many memories were read together with it."""
        with self.lock:
            return {cache.store.label: cache.memories_by_file() for cache in self.caches}

    def bytes_on_disk(self) -> dict[str, int]:
        """Store label -> bytes of its files."""
        with self.lock:
            return {cache.store.label: cache.bytes_on_disk() for cache in self.caches}

    def limit_uses(self, view: StoreView, now: datetime) -> tuple[LimitUse, ...]:
        """How much of its program's limit each text uses that is loaded at the start of a session.

        Found anew when something changed, or in another hour: what is loaded depends on the day.
        """
        key = (self.snapshot.revision, int(now.timestamp()) // 3600)
        if self._limit_uses is None or self._limit_uses[0] != key:
            stores = [cache.store for cache in self.caches]
            self._limit_uses = key, tuple(u for s in stores for u in s.limit_uses(view, now))
        return self._limit_uses[1]

    def stamps(self) -> list[tuple[object, ...]]:
        """A value that differs after any change of the memories or of the unreadable files."""
        with self.lock:
            return [
                (cache.store.label, cache.store.read_only, cache.unreadable, *cache.stamps.items())
                for cache in self.caches
            ]

    def last_writes(self) -> dict[str, datetime]:
        """Store label -> time of change of its newest file."""
        with self.lock:
            found = {cache.store.label: cache.last_write() for cache in self.caches}
        return {label: time for label, time in found.items() if time is not None}


def _state_of(cache: StoreCache) -> StoreState:
    store = cache.store
    return StoreState(
        label=store.label,
        format=store.format,
        root=store.root,
        count=cache.count,
        unreadable=cache.unreadable,
        read_only=store.read_only,
        loading=cache.loading,
        is_asked=isinstance(unguarded(store), QueryableStore),
        target=link_target(store.root),
    )


def _program(cache: StoreCache) -> str:
    return product_of(cache.store.format, cache.store.root).name
