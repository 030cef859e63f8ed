"""One open store inside the library: which shard's memories stand in which slots, and its cache."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memtui.errors import UnreadableFile
from memtui.files import backups as kept
from memtui.files.reading import read_bytes, real_path
from memtui.library.slots import SlotTable, plain_ref
from memtui.model import Memory
from memtui.paths import private_folder
from memtui.progress import IsCancelled
from memtui.search import catalog as catalogs
from memtui.search.catalog import Catalog, ShardEntry
from memtui.search.columns import Slots, take
from memtui.search.numbering import renumber_slot
from memtui.stores.base import Reading, Scan, Shard, Unreadable, WritableStore

log = logging.getLogger(__name__)


LARGEST_COPY = 8 << 20
"""Bytes of a file up to which a good copy of it is kept."""
BREATH = 0.004
"""Seconds between two copies: nothing waits for them, and who types is to feel nothing."""


@dataclass(frozen=True, slots=True)
class Held:
    """One shard as it stands in the table."""

    stamp: str
    first: int
    count: int
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def slots(self) -> range:
        return range(self.first, self.first + self.count)

    @property
    def missed(self) -> bool:
        """Whether a file of it went away between being listed and being read."""
        return any(file.gone for file in self.unreadable)


def cache_home(cache: Path, store: WritableStore) -> Path:
    """The cache folder of one store under its label; refs hold the label, so it counts too."""
    name = f"{store.format}\0{store.root}\0{store.label}".encode("utf-8", "surrogateescape")
    return cache / "stores" / hashlib.sha256(name).hexdigest()[:20]


class StoreCache:
    """The part of the table that one store fills."""

    def __init__(self, store: WritableStore, home: Path | None) -> None:
        self.store = store
        self.home = home
        self.held: dict[str, Held] = {}
        self.loading = True
        self.version = 0
        """Raised with every change of what the table holds of this store."""
        self.catalog: Catalog | None = None
        """The generation in the cache."""
        self.base: range | None = None
        """Slots that are the rows of `catalog`, in its order; None when it was written from rows
        that do not stand together in this table."""
        self._saved: dict[str, str] = {}
        """Stamp of each shard as the cache has it."""
        self._scan_unreadable: tuple[Unreadable, ...] = ()
        self._files: dict[str, tuple[str, ...]] = {}
        self._sizes: dict[str, int] = {}
        """Bytes of the files of each shard, as far as they were asked for."""
        self._copied: dict[str, str] = {}
        """Stamp of each shard when its files were copied."""
        self._sharing: set[str] | None = None
        """Shards that hold a memory with the id of another; None = not looked yet."""

    @property
    def unreadable(self) -> tuple[Unreadable, ...]:
        found = list(self._scan_unreadable)
        for held in self.held.values():
            found.extend(held.unreadable)
        return tuple(dict.fromkeys(found))

    @property
    def count(self) -> int:
        return sum(held.count for held in self.held.values())

    @property
    def stamps(self) -> dict[str, str]:
        """The stamp of each shard that the table holds."""
        return {key: held.stamp for key, held in self.held.items()}

    @property
    def changed(self) -> bool:
        """Whether the cache says something else than the table."""
        return self._saved != self.stamps

    def slots_of_catalog(self) -> list[int]:
        """The slot of each row of the cached generation; -1 where the table has a newer one."""
        slots: list[int] = []
        for shard in self.catalog.shards if self.catalog is not None else ():
            held = self.held.get(shard.key)
            same = held is not None and (held.stamp, held.count) == (shard.stamp, shard.count)
            slots.extend(held.slots if held is not None and same else [-1] * shard.count)
        return slots

    def memories_by_file(self) -> dict[str, int]:
        """Each file of this store -> the memories of its shard, as of the last scan."""
        return {
            file: held.count
            for key, files in self._files.items()
            if (held := self.held.get(key)) is not None
            for file in files
        }

    def bytes_on_disk(self) -> int:
        """What the files of this store take, as of the last change that was noticed."""
        for key in self._files.keys() - self._sizes.keys():
            self._sizes[key] = sum(map(_size, self._files[key]))
        return sum(self._sizes.values())

    def keep_good(self, state: Path, cancelled: IsCancelled) -> None:
        """Keep a copy of each JSON file that was read whole, for the day when an agent empties it.

        Agents lose these files by themselves: two loops of agent-memory's own script broke one in
        three runs of three (measured). A document is one memory only, and the journal's own copies
        serve it.
        """
        for key, held in list(self.held.items()):
            if cancelled():
                return
            if held.unreadable or not held.count or self._copied.get(key) == held.stamp:
                continue
            for file in self._files.get(key, ()):
                if file.endswith(".json"):
                    _keep(Path(file), self.store.root, state)
                    time.sleep(BREATH)
            self._copied[key] = held.stamp

    def take_cache(self, table: SlotTable) -> bool:
        """Put the cached rows of this store into the table; False where there are none."""
        catalog = catalogs.load(self.home) if self.home else None
        if catalog is None:
            return False
        first = table.append_cached(catalog)
        self.base = range(first, first + len(catalog.rows))
        self.catalog = catalog
        self._saved = {shard.key: shard.stamp for shard in catalog.shards}
        self.held = {
            shard.key: Held(shard.stamp, first + shard.first, shard.count, shard.unreadable)
            for shard in catalog.shards
        }
        return True

    def in_files(self, paths: Collection[str]) -> list[Shard]:
        """The shards that were read from one of these files."""
        wanted = frozenset(paths)
        return [
            Shard(key, files, self.held[key].stamp)
            for key, files in self._files.items()
            if key in self.held and not wanted.isdisjoint(files)
        ]

    def stale(self, scan: Scan) -> Iterator[Shard]:
        """Shards that must be read: new, changed since they were, or with a file that was gone."""
        for shard in scan.shards:
            held = self.held.get(shard.key)
            if held is None or held.stamp != shard.stamp or held.missed:
                yield shard

    def has(self, shard: Shard, reading: Reading, table: SlotTable) -> bool:
        """Whether this is what the table has of the shard; looked at only where it was read again
        without having changed, since comparing costs."""
        held = self.held.get(shard.key)
        if held is None or held.stamp != shard.stamp or held.unreadable != reading.unreadable:
            return False
        rows = table.rows()
        return [rows[slot] for slot in held.slots] == list(reading.memories)

    def drop_gone(self, scan: Scan, table: SlotTable) -> bool:
        """Forget shards whose files are gone; True when something changed."""
        files = {shard.key: shard.files for shard in scan.shards}
        for key in self._sizes.keys() - files.keys():
            del self._sizes[key]
        self._files = files
        gone = [key for key in self.held if key not in files]
        shared = bool(gone) and not self._sharing_in(table).isdisjoint(gone)
        table.kill([slot for key in gone for slot in self.held.pop(key).slots])
        if shared:
            self._name_again(table)
        changed = bool(gone) or scan.unreadable != self._scan_unreadable
        self._scan_unreadable = scan.unreadable
        self.version += bool(gone)
        return changed

    def put(self, batch: Sequence[tuple[Shard, Reading]], table: SlotTable) -> None:
        """Set the memories of these shards, in place of those they had."""
        for shard, _ in batch:
            self._sizes.pop(shard.key, None)
        self.version += 1
        sharing = self._sharing_in(table)
        shared = self._set([(shard.key, shard.stamp, reading) for shard, reading in batch], table)
        if shared or not sharing.isdisjoint(shard.key for shard, _ in batch):
            self._sharing = sharing | self._shards_of(shared)
            self._name_again(table)

    def _set(self, shards: Sequence[tuple[str, str, Reading]], table: SlotTable) -> list[int]:
        """Put these shards (key, stamp, reading) at the end of the table; see `Table.append`."""
        gone: list[int] = []
        memories: list[Memory] = []
        shard_of: list[str] = []
        for key, _, reading in shards:
            if (former := self.held.pop(key, None)) is not None:
                gone.extend(former.slots)
            memories.extend(reading.memories)
            shard_of.extend([key] * len(reading.memories))
        table.kill(gone)
        first = len(table)
        shared = table.append(memories, shard_of=shard_of)
        for key, stamp, reading in shards:
            count = len(reading.memories)
            self.held[key] = Held(stamp, first, count, reading.unreadable)
            first += count
        return shared

    def _name_again(self, table: SlotTable) -> None:
        """Of those that share an id, the first in reading order goes by the plain ref.

        Which one does must follow from what is on disk and not from which file changed last: a
        session that is open for days and a new start mean the same memory by a ref.
        """
        rows, sharing = table.rows(), self._sharing_in(table)
        shards = []
        for key in (key for key in self._files if key in sharing and key in self.held):
            held = self.held[key]
            plain = (replace(rows[slot], ref=plain_ref(rows[slot])) for slot in held.slots)
            shards.append((key, held.stamp, Reading(tuple(plain), held.unreadable)))
        self._sharing = self._shards_of(self._set(shards, table))

    def _sharing_in(self, table: SlotTable) -> set[str]:
        if self._sharing is None:
            self._sharing = self._shards_of(table.shared(self.store.label)) if self.held else set()
        return self._sharing

    def _shards_of(self, slots: Sequence[int]) -> set[str]:
        wanted = set(slots)
        if not wanted:
            return set()
        return {key for key, held in self.held.items() if not wanted.isdisjoint(held.slots)}

    def renumber(self, kept: Slots) -> None:
        """The rows in these slots are all that the table has now, numbered anew."""
        for key, held in self.held.items():
            self.held[key] = replace(held, first=renumber_slot(kept, held.first))
        if self.base is not None:
            first = renumber_slot(kept, self.base.start)
            moved = range(first, first + len(self.base))
            # A base without an index may have lost rows.
            self.base = moved if renumber_slot(kept, self.base.stop) == moved.stop else None

    def save_cache(self, table: SlotTable) -> None:
        """Write the rows as a new generation. A cache that cannot be written is done without."""
        if self.home is None:
            return
        rows = table.rows()
        shards: list[ShardEntry] = []
        slots: list[int] = []
        for key, held in self.held.items():
            shards.append(ShardEntry(key, held.stamp, len(slots), held.count, held.unreadable))
            slots.extend(held.slots)
        try:
            self.catalog = catalogs.save(
                private_folder(self.home), shards, map(rows.line, slots), take(table.columns, slots)
            )
        except OSError as error:
            log.warning("the cache of %s cannot be written: %s", self.store.label, error)
            return
        self._saved = {shard.key: shard.stamp for shard in shards}
        first = slots[0] if slots else 0
        together = range(first, first + len(slots))
        self.base = together if slots == list(together) else None


def _keep(path: Path, root: Path, state: Path) -> None:
    with contextlib.suppress(UnreadableFile, OSError):
        data = read_bytes(path, root)
        if len(data) <= LARGEST_COPY:
            kept.save_copy(real_path(path), data, state)


def _size(file: str) -> int:
    try:
        return os.stat(file).st_size
    except OSError:  # it went away since it was listed
        return 0
