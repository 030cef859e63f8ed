"""One open store in the library: the slots of its shards, its cache on disk, and its backups."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from array import array
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock

from memtui.dataclass import replace
from memtui.errors import UnreadableFile
from memtui.files import backups
from memtui.files.reading import read_bytes, real_path
from memtui.library.slots import SlotTable, plain_ref
from memtui.model import Memory
from memtui.paths import private_folder
from memtui.progress import IsCancelled
from memtui.search import catalog as catalogs
from memtui.search.catalog import Catalog, ShardEntry, encode_row
from memtui.search.columns import Slots, take
from memtui.search.numbering import renumber_slot
from memtui.stores.base import Reading, Scan, Shard, Unreadable, WritableStore

log = logging.getLogger(__name__)


LARGEST_BACKUP = 8 << 20
"""Bytes of a file up to which it is backed up."""


def cache_home(cache: Path, store: WritableStore) -> Path:
    """The cache folder of one store under its label; refs hold the label, so it counts too."""
    name = f"{store.format}\0{store.root}\0{store.label}".encode("utf-8", "surrogateescape")
    return cache / "stores" / hashlib.sha256(name).hexdigest()[:20]


class StoreCache:
    """The part of the slot table that one store fills, and its cache on disk."""

    def __init__(self, store: WritableStore, home: Path | None) -> None:
        self.store = store
        self.home = home
        self.shards: dict[str, ShardEntry] = {}
        """Those in the table, by key, with their slots there."""
        self.loading = True
        self.version = 0
        """Raised with every change of this store's rows in the table."""
        self.catalog: Catalog | None = None
        """The generation on disk."""
        self._catalog_version = 0
        """The `version` whose rows `catalog` has."""
        self.base: range | None = None
        """The slots of the rows of `catalog`, in its order; None where they are not contiguous."""
        self._saved: dict[str, str] = {}
        """Stamp of each shard on disk."""
        self._clean: dict[str, str] = {}
        """Stamp of each shard that was searched for secrets and has none."""
        self._doubtful: set[str] = set()
        """Keys of shards from the cache with something unreadable, to be read again once: memory
        or the disk may have failed without a change of the file."""
        self._scan_unreadable: tuple[Unreadable, ...] = ()
        self._files: dict[str, tuple[str, ...]] = {}
        self._sizes: dict[str, int] = {}
        """Bytes of the files of each shard; filled when asked for."""
        self._backed_up: dict[str, str] | None = None
        """Stamp of each shard when its files were backed up."""
        self._sharing: set[str] | None = None
        """Keys of shards with a memory whose id another memory has; None = not computed yet."""

    @property
    def unreadable(self) -> tuple[Unreadable, ...]:
        found = list(self._scan_unreadable)
        for loaded in self.shards.values():
            found.extend(loaded.unreadable)
        return tuple(dict.fromkeys(found))

    @property
    def count(self) -> int:
        return sum(loaded.total for loaded in self.shards.values())

    def _in_reading_order(self) -> Iterator[ShardEntry]:
        """The shards in the order of the last scan, in which a new start reads them."""
        return (self.shards[key] for key in self._files if key in self.shards)

    @property
    def stamps(self) -> dict[str, str]:
        """The stamp of each shard in the table."""
        return {key: loaded.stamp for key, loaded in self.shards.items()}

    @property
    def has_changes(self) -> bool:
        """Whether the cache on disk differs from the table."""
        return self._saved != self.stamps

    @property
    def saved_rows(self) -> Path | None:
        """The folder of `catalog` if it has exactly the rows of the table, else None."""
        catalog = self.catalog
        is_saved = catalog is not None and self._catalog_version == self.version
        return catalog.folder if catalog is not None and is_saved else None

    def slots_of_catalog(self) -> Sequence[int]:
        """The slot of each row of `catalog`; -1 where the table has a newer row."""
        slots: array[int] = array("q")
        for shard in self.catalog.shards if self.catalog is not None else ():
            loaded = self.shards.get(shard.key)
            is_unchanged = loaded is not None and (
                loaded.stamp == self._saved.get(shard.key) == shard.stamp
            )
            cached = self._cached_slots(loaded, shard.left_out) if loaded and is_unchanged else ()
            slots.extend(cached if len(cached) == shard.count else [-1] * shard.count)
        return slots

    def _cached_slots(self, loaded: ShardEntry, left_out: Collection[int]) -> Sequence[int]:
        """The slots of the memories of a shard that are written into the catalog."""
        if not left_out or loaded.lacks_rows:
            return loaded.slots
        omitted = frozenset(left_out)
        return [slot for at, slot in enumerate(loaded.slots) if at not in omitted]

    def memories_by_file(self) -> dict[str, int]:
        """Path of each file -> memories of its shard, as of the last scan."""
        return {
            file: loaded.total
            for key, files in self._files.items()
            if (loaded := self.shards.get(key)) is not None
            for file in files
        }

    def bytes_on_disk(self) -> int:
        """Bytes of the files of this store, as of the last change that was noticed."""
        for key in self._files.keys() - self._sizes.keys():
            self._sizes[key] = sum(map(_size, self._files[key]))
        return sum(self._sizes.values())

    def last_write(self) -> datetime | None:
        """Time of change of the newest file of this store, as of the last scan."""
        times = [_time(file) for files in self._files.values() for file in files]
        newest = max(times, default=0.0)
        return datetime.fromtimestamp(newest, UTC) if newest > 0 else None

    def back_up(self, state: Path, cancelled: IsCancelled) -> None:
        """Copy each JSON file that was read without faults into the state folder.

        Agents break these files: two loops of agent-memory's own script broke one in three runs of
        three (measured). Documents hold one memory each; the journal's backups suffice for them.
        """
        root = self.store.root
        if self._backed_up is None:
            self._backed_up = backups.read_stamps(root, state)
        before = dict(self._backed_up)
        for key, loaded in list(self.shards.items()):
            if loaded.unreadable or not loaded.total or before.get(key) == loaded.stamp:
                continue
            if cancelled():
                break
            for file in self._files.get(key, ()):
                if file.endswith(".json"):
                    _back_up_file(Path(file), root, state)
            self._backed_up[key] = loaded.stamp
        if self._backed_up != before:
            known = {key: stamp for key, stamp in self._backed_up.items() if key in self.shards}
            backups.write_stamps(root, state, known)

    def load(self, table: SlotTable) -> bool:
        """Append the cached rows of this store to the table; False where there are none."""
        catalog = catalogs.load(self.home) if self.home else None
        if catalog is None:
            return False
        first = table.append_cached(catalog)
        self.base = range(first, first + len(catalog.rows))
        self.catalog = catalog
        self._saved = {shard.key: shard.stamp for shard in catalog.shards}
        self._clean = {s.key: s.stamp for s in catalog.shards if not s.left_out}
        self._doubtful = {shard.key for shard in catalog.shards if shard.unreadable}
        self.shards = {
            shard.key: replace(shard, first=first + shard.first) if first else shard
            for shard in catalog.shards
        }
        return True

    def shards_of_files(self, paths: Collection[str]) -> list[Shard]:
        """The shards that were read from one of these files."""
        file_set = frozenset(paths)
        return [
            Shard(key, files, self.shards[key].stamp)
            for key, files in self._files.items()
            if key in self.shards and not file_set.isdisjoint(files)
        ]

    def stale_shards(self, scan: Scan) -> Iterator[Shard]:
        """Shards to read: new ones, changed ones, those with a file that had vanished or that could
        not be read when the cache was written, and those that are not whole in the cache."""
        doubtful, self._doubtful = self._doubtful, set()
        for shard in scan.shards:
            loaded = self.shards.get(shard.key)
            if (
                loaded is None
                or loaded.stamp != shard.stamp
                or loaded.has_missing_file
                or loaded.lacks_rows
                or shard.key in doubtful
            ):
                yield shard

    def has_reading(self, shard: Shard, reading: Reading, table: SlotTable) -> bool:
        """Whether the table already has this reading; memories are compared only where the stamp is
        the same, since comparing costs."""
        loaded = self.shards.get(shard.key)
        if loaded is None or loaded.stamp != shard.stamp or loaded.unreadable != reading.unreadable:
            return False
        if loaded.lacks_rows:
            return False
        rows = table.rows()
        return [rows[slot] for slot in loaded.slots] == list(reading.memories)

    def drop_missing(self, scan: Scan, table: SlotTable) -> bool:
        """Drop shards that the scan no longer lists; True when something changed."""
        files = {shard.key: shard.files for shard in scan.shards}
        for key in self._sizes.keys() - files.keys():
            del self._sizes[key]
        self._files = files
        missing = [key for key in self.shards if key not in files]
        shared = bool(missing) and not self._shards_sharing_ids(table).isdisjoint(missing)
        table.mark_dead([slot for key in missing for slot in self.shards.pop(key).slots])
        if shared:
            self._assign_refs(table)
        changed = bool(missing) or scan.unreadable != self._scan_unreadable
        self._scan_unreadable = scan.unreadable
        self.version += bool(missing)
        return changed

    def replace_shards(self, batch: Sequence[tuple[Shard, Reading]], table: SlotTable) -> None:
        """Replace the memories of these shards."""
        for shard, _ in batch:
            self._sizes.pop(shard.key, None)
            self._saved.pop(shard.key, None)
        self.version += 1
        sharing = self._shards_sharing_ids(table)
        shared = self._append_shards(
            [(shard.key, shard.stamp, reading) for shard, reading in batch], table
        )
        if shared or not sharing.isdisjoint(shard.key for shard, _ in batch):
            self._sharing = sharing | self._shards_of(shared)
            self._assign_refs(table)

    def _append_shards(
        self, shards: Sequence[tuple[str, str, Reading]], table: SlotTable
    ) -> list[int]:
        """Append these shards (key, stamp, reading) to the table; returns as `SlotTable.append`."""
        removed: list[int] = []
        memories: list[Memory] = []
        shard_of: list[str] = []
        new_of: list[Sequence[Memory]] = []
        for key, stamp, reading in shards:
            former: ShardEntry | None = self.shards.get(key)
            new: Sequence[Memory] = reading.memories
            if former is not None and _completes(former, stamp, reading):
                new = tuple(new[at] for at in former.left_out)
            elif former is not None:
                removed.extend(former.slots)
            new_of.append(new)
            memories.extend(new)
            shard_of.extend([key] * len(new))
        table.mark_dead(removed)
        first = len(table)
        shared = table.append(memories, shard_of=shard_of)
        places: dict[int, int] = {}
        for (key, stamp, reading), new in zip(shards, new_of, strict=True):
            former = self.shards.get(key)
            if former is not None and _completes(former, stamp, reading):
                self.shards[key] = replace(former, apart=first)
            else:
                self.shards[key] = ShardEntry(key, stamp, first, len(new), reading.unreadable)
            if former is not None and former.count:
                places |= dict.fromkeys(range(first, first + len(new)), former.first)
            first += len(new)
        table.keep_places(places)
        return shared

    def _assign_refs(self, table: SlotTable) -> None:
        """Give the plain ref to the first memory, in reading order, of those that share an id.

        Refs must depend on what is on disk and not on which file changed last, so that a long
        session and a new start name the same memory by the same ref.
        """
        rows, sharing = table.rows(), self._shards_sharing_ids(table)
        shards = []
        for key in (key for key in self._files if key in sharing and key in self.shards):
            loaded = self.shards[key]
            plain = (replace(rows[slot], ref=plain_ref(rows[slot])) for slot in loaded.slots)
            shards.append((key, loaded.stamp, Reading(tuple(plain), loaded.unreadable)))
        self._sharing = self._shards_of(self._append_shards(shards, table))

    def _shards_sharing_ids(self, table: SlotTable) -> set[str]:
        if self._sharing is None:
            self._sharing = (
                self._shards_of(table.shared(self.store.label)) if self.shards else set()
            )
        return self._sharing

    def _shards_of(self, slots: Sequence[int]) -> set[str]:
        slot_set = set(slots)
        if not slot_set:
            return set()
        return {key for key, loaded in self.shards.items() if not slot_set.isdisjoint(loaded.slots)}

    def renumber(self, kept_slots: Slots) -> None:
        """Follow a compaction of the table to these slots."""
        for key, loaded in self.shards.items():
            first = renumber_slot(kept_slots, loaded.first)
            apart = loaded.apart if loaded.apart < 0 else renumber_slot(kept_slots, loaded.apart)
            self.shards[key] = replace(loaded, first=first, apart=apart)
        if self.base is not None:
            first = renumber_slot(kept_slots, self.base.start)
            moved = range(first, first + len(self.base))
            # A base that has no index may have lost rows.
            self.base = moved if renumber_slot(kept_slots, self.base.stop) == moved.stop else None

    def spill(self, table: SlotTable, lock: RLock) -> None:
        """Write rows that were read from files to disk, until all of them make a cache."""
        if self.home is None or self.catalog is not None:
            return
        with lock:
            largest = table.rows_in_memory()
        if largest is None:
            return
        first, rows = largest
        try:
            spilled = catalogs.spill(private_folder(self.home), map(encode_row, rows), len(rows))
        except OSError as error:
            log.warning("rows of %s stay in memory: %s", self.store.label, error)
            return
        with lock:
            now = table.rows_in_memory()
            if now is not None and now[0] == first and now[1] is rows:
                table.replace_rows(first, spilled)

    def save(self, table: SlotTable) -> None:
        """Write the rows to disk as a new generation; a failure is logged only."""
        if self.home is None:
            return
        rows = table.rows()
        shards: list[ShardEntry] = []
        slots: list[int] = []
        for loaded in self._in_reading_order():
            left_out = self._find_secrets(loaded, rows)
            cached = self._cached_slots(loaded, left_out)
            shards.append(
                replace(loaded, first=len(slots), count=len(cached), left_out=left_out, apart=-1)
            )
            slots.extend(cached)
        first = slots[0] if slots else 0
        together = range(first, first + len(slots))
        is_together = slots == list(together)
        lines = rows.lines(together) if is_together else map(rows.line, slots)
        try:
            self.catalog = catalogs.save(
                private_folder(self.home), shards, lines, take(table.columns, slots)
            )
        except OSError as error:
            log.warning("the cache of %s cannot be written: %s", self.store.label, error)
            return
        self._saved = {shard.key: shard.stamp for shard in shards}
        self._catalog_version = self.version
        self.base = together if is_together else None
        if self.base:  # what was read from files takes 1.3 KB a memory
            table.replace_rows(first, self.catalog.rows)

    def _find_secrets(self, loaded: ShardEntry, rows: Sequence[Memory]) -> tuple[int, ...]:
        """The positions in a shard of the memories with a secret."""
        if loaded.left_out or self._clean.get(loaded.key) == loaded.stamp:
            return loaded.left_out
        slots = loaded.slots
        found = tuple(at for at, slot in enumerate(slots) if catalogs.has_secret(rows[slot]))
        if not found:
            self._clean[loaded.key] = loaded.stamp
        return found


def _completes(former: ShardEntry, stamp: str, reading: Reading) -> bool:
    """Whether a reading has what the cache lacks of a shard, and all else as it is there."""
    is_same = former.stamp == stamp and len(reading.memories) == former.total
    return former.lacks_rows and is_same


def _back_up_file(path: Path, root: Path, state: Path) -> None:
    with contextlib.suppress(UnreadableFile, OSError):
        data = read_bytes(path, root)
        if len(data) <= LARGEST_BACKUP:
            backups.save_copy(real_path(path), data, state)


def _time(file: str) -> float:
    try:
        return os.stat(file).st_mtime
    except (OSError, ValueError):
        return 0.0


def _size(file: str) -> int:
    try:
        return os.stat(file).st_size
    except OSError:  # it vanished since it was listed
        return 0
