"""One open store in the library: the slots of its shards, its cache on disk, and its backups."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memtui.errors import UnreadableFile
from memtui.files import backups
from memtui.files.reading import read_bytes, real_path
from memtui.library.slots import SlotTable, plain_ref
from memtui.model import CREATED_FROM, FILE_TIME, FILE_TIME_KEY, GIT_TIME, Memory
from memtui.paths import private_folder, write_private
from memtui.progress import IsCancelled, Progress, Report, silent
from memtui.search import saved_rows
from memtui.search.columns import take
from memtui.search.saved_rows import SavedShard
from memtui.stores.base import Reading, Scan, Shard, Store, Unreadable

log = logging.getLogger(__name__)


GIT_MARK = "git-mark"
"""Name of the file of the cache that holds `StoreCache.git_mark`."""
SHARDS_PER_REPORT = 512
LARGEST_BACKUP = 8 << 20
"""Bytes of a file up to which it is backed up."""


def cache_home(cache: Path, store: Store) -> Path:
    """The cache folder of one store under its label; refs hold the label, so it counts too."""
    name = f"{store.format}\0{store.root}\0{store.label}".encode("utf-8", "surrogateescape")
    return cache / "stores" / hashlib.sha256(name).hexdigest()[:20]


class LoadedShard(Struct, frozen=True):
    """A shard whose memories are in the table."""

    key: str
    stamp: str
    slots: Sequence[int]
    """Slots of its memories, in reading order."""
    unreadable: tuple[Unreadable, ...] = ()
    is_whole: bool = True
    """False if memories with a secret are not in the cache, and still to be read."""


class StoreCache:
    """The part of the slot table that one store fills, and its cache on disk."""

    def __init__(self, store: Store, home: Path | None) -> None:
        self.store = store
        self.home = home
        self.shards: dict[str, LoadedShard] = {}
        """Those in the table, by key."""
        self.loading = True
        self.version = 0
        """Raised with every change of this store's rows in the table."""
        self.generation: Path | None = None
        """The folder of the rows on disk."""
        self.saved_slots: Sequence[int] = ()
        """The slots of those rows, in their order."""
        self._saved_version = 0
        """The `version` whose rows are on disk."""
        self._saved: dict[str, str] = {}
        """Stamp of each shard on disk."""
        self._clean: dict[str, str] = {}
        """Stamp of each shard that was searched for secrets and has none."""
        self._doubtful: set[str] = set()
        """Keys of shards from the cache with something unreadable, to be read again once: memory
        or the disk may have failed without a change of the file."""
        self.git_mark = ""
        """`GitHistory.mark` when git was last asked for times; "" at the next start where shards
        were read since."""
        self._git_version = 0
        """The `version` then."""
        self._former_slots: dict[str, Sequence[int]] = {}
        """The last slots of shards that are gone or empty, whose place they have if they come back.
        """
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
        return sum(len(loaded.slots) for loaded in self.shards.values())

    @property
    def stamps(self) -> dict[str, str]:
        """The stamp of each shard in the table."""
        return {key: loaded.stamp for key, loaded in self.shards.items()}

    @property
    def has_changes(self) -> bool:
        """Whether the cache on disk differs from the table."""
        return self._saved != self.stamps

    @property
    def unsaved_share(self) -> float:
        """The share of the rows that are in shards that changed since they were written."""
        changed = (each for key, each in self.shards.items() if self._saved.get(key) != each.stamp)
        return sum(len(loaded.slots) for loaded in changed) / max(1, self.count)

    @property
    def saved_rows(self) -> Path | None:
        """The folder of the rows on disk if they are exactly those of the table, else None."""
        return self.generation if self._saved_version == self.version else None

    def memories_by_file(self) -> dict[str, int]:
        """Path of each file -> memories of its shard, as of the last scan."""
        return {
            file: len(loaded.slots)
            for key, files in self._files.items()
            if (loaded := self.shards.get(key)) is not None
            for file in files
        }

    @property
    def files(self) -> list[str]:
        """The files of the shards in the table, as of the last scan."""
        return [file for key, files in self._files.items() if key in self.shards for file in files]

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
            if loaded.unreadable or not loaded.slots or before.get(key) == loaded.stamp:
                continue
            if cancelled():
                break
            for file in self._files.get(key, ()):
                if file.endswith(".json"):
                    path = Path(file)
                    with contextlib.suppress(UnreadableFile, OSError):
                        data = read_bytes(path, root)
                        if len(data) <= LARGEST_BACKUP:
                            backups.save_copy(real_path(path), data, state)
            self._backed_up[key] = loaded.stamp
        if self._backed_up != before:
            known = {key: stamp for key, stamp in self._backed_up.items() if key in self.shards}
            backups.write_stamps(root, state, known)

    def load(self, table: SlotTable) -> bool:
        """Append the cached rows of this store to the table; False where there are none."""
        saved = saved_rows.load(self.home) if self.home else None
        if saved is None:
            return False
        self.saved_slots = cached = table.append_cached(saved.rows, saved.columns)
        self.generation = saved.folder
        at = cached.start
        for shard in saved.shards:
            slots = range(at, at := at + shard.size)
            self.shards[shard.key] = LoadedShard(
                shard.key, shard.stamp, slots, shard.unreadable, shard.is_whole
            )
        self._saved = {shard.key: shard.stamp for shard in saved.shards}
        self._clean = {shard.key: shard.stamp for shard in saved.shards if shard.is_whole}
        self._doubtful = {shard.key for shard in saved.shards if shard.unreadable}
        if self.home is not None:
            with contextlib.suppress(OSError):
                self.git_mark = (self.home / GIT_MARK).read_text("utf-8")
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
                or any(file.gone for file in loaded.unreadable)  # vanished between scan and read
                or not loaded.is_whole
                or shard.key in doubtful
            ):
                yield shard

    def drop_missing(self, scan: Scan, table: SlotTable) -> bool:
        """Drop shards that the scan no longer lists; True when something changed."""
        files = {shard.key: shard.files for shard in scan.shards}
        for key in self._sizes.keys() - files.keys():
            del self._sizes[key]
        self._files = files
        missing = [key for key in self.shards if key not in files]
        shared = bool(missing) and not self._shards_sharing_ids(table).isdisjoint(missing)
        for key in missing:
            dropped = self.shards.pop(key).slots
            self._former_slots[key] = dropped or self._former_slots.get(key, ())
            table.mark_dead(dropped)
        if shared:
            self._assign_refs(table)
        changed = bool(missing) or scan.unreadable != self._scan_unreadable
        self._scan_unreadable = scan.unreadable
        self.version += bool(missing)
        return changed

    def replace_shards(self, batch: Sequence[tuple[Shard, Reading]], table: SlotTable) -> bool:
        """Replace the memories of these shards; returns whether anything changed."""
        sharing = self._shards_sharing_ids(table)
        read = [(shard.key, shard.stamp, reading) for shard, reading in batch]
        before = {key: self.shards.get(key) for key, _, _ in read}
        shared = self._put_shards(read, table, sharing)
        if shared or not sharing.isdisjoint(before):
            self._sharing = sharing | self._shards_of(shared)
            self._assign_refs(table)
        changed = False
        for key, former in before.items():
            self._sizes.pop(key, None)
            now = self.shards[key]
            is_same = former is not None and list(former.slots) == list(now.slots)
            if former is None or not is_same or former.unreadable != now.unreadable:
                self._saved.pop(key, None)
                changed = True
            self.version += not is_same
        return changed

    def _put_shards(
        self,
        shards: Sequence[tuple[str, str, Reading]],
        table: SlotTable,
        anew: Collection[str] = (),
    ) -> list[int]:
        """Put these shards (key, stamp, reading) into the table; memories that did not change keep
        their slots, but in shards of which `anew` has the key.

        Returns as `SlotTable.append`.
        """
        dead: list[int] = []
        new: list[Memory] = []
        shard_of: list[str] = []
        slots_of: list[tuple[Sequence[int], Sequence[int]]] = []
        moved: dict[int, Memory] = {}
        for key, _, reading in shards:
            former = self.shards.get(key)
            known = {table.rows[slot].ref: slot for slot in former.slots} if former else {}
            kept = {} if key in anew else known
            slots: list[int] = []
            for memory in reading.memories:
                slot = kept.pop(memory.ref, -1)
                if slot < 0 or not _is_same(table.rows[slot], memory):
                    slot = len(table.rows) + len(new)
                    new.append(memory)
                    shard_of.append(key)
                elif table.rows[slot] != memory:
                    moved[slot] = memory
                slots.append(slot)
            former_slots = former.slots if former else ()
            dead += set(former_slots).difference(slots)
            if not former_slots:
                former_slots = self._former_slots.pop(key, ()) if slots else ()
            elif not slots:
                self._former_slots[key] = former_slots
            slots_of.append((slots, former_slots))
        table.move(moved)
        table.mark_dead(dead)
        shared = table.append(new, shard_of=shard_of)
        table.set_places(slots_of)
        for (key, stamp, reading), (now, _) in zip(shards, slots_of, strict=True):
            self.shards[key] = LoadedShard(key, stamp, now, reading.unreadable)
        return shared

    def date_by_git(
        self, table: SlotTable, changes: Mapping[str, datetime], top: str, mark: str
    ) -> bool:
        """Give memories whose time of change is only that of their file that of its last commit;
        returns whether any was found.

        Args:
            mark: `GitHistory.mark` as of these changes.
            changes: path of a file in the repository -> time.
            top: the folder of the repository, with every link resolved.
        """
        dated: dict[int, Memory] = {}
        folders: dict[str, str] = {}
        for loaded in self.shards.values():
            for slot in loaded.slots:
                memory = table.rows[slot]
                if not has_time_of_file(memory):
                    continue
                path = _path_below(top, memory.origin.file, folders)
                if (time := changes.get(path)) is not None:
                    extra = {**memory.extra, FILE_TIME_KEY: GIT_TIME}
                    is_of_file = memory.extra.get(CREATED_FROM) == FILE_TIME
                    created = None if is_of_file else memory.created
                    dated[slot] = replace(memory, created=created, updated=time, extra=extra)
                    self._saved.pop(loaded.key, None)
        if dated:
            table.redate(dated)
            self.version += 1
        self.git_mark, self._git_version = mark, self.version
        return bool(dated)

    def _assign_refs(self, table: SlotTable) -> None:
        """Give the plain ref to the first memory, in reading order, of those that share an id.

        Refs must depend on what is on disk and not on which file changed last, so that a long
        session and a new start name the same memory by the same ref.
        """
        sharing = self._shards_sharing_ids(table)
        shards = []
        for key in (key for key in self._files if key in sharing and key in self.shards):
            loaded = self.shards[key]
            rows = [table.rows[slot] for slot in loaded.slots]
            plain = tuple(replace(memory, ref=plain_ref(memory)) for memory in rows)
            shards.append((key, loaded.stamp, Reading(plain, loaded.unreadable)))
        self._sharing = self._shards_of(self._put_shards(shards, table, sharing))

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

    def save(self, table: SlotTable) -> None:
        """Write the rows to disk as a new generation; a failure is logged only."""
        if self.home is None:
            return
        shards: list[SavedShard] = []
        slots: list[int] = []
        for loaded in (self.shards[key] for key in self._files if key in self.shards):
            plain = self._slots_without_secrets(loaded, table.rows)
            is_whole = loaded.is_whole and len(plain) == len(loaded.slots)
            shards.append(
                SavedShard(loaded.key, loaded.stamp, len(plain), loaded.unreadable, is_whole)
            )
            slots.extend(plain)
        rows = (table.rows[slot] for slot in slots)
        try:
            home = private_folder(self.home)
            self.generation = saved_rows.save(home, shards, rows, take(table.columns, slots))
            mark = self.git_mark if self._git_version == self.version else ""
            write_private(home / GIT_MARK, mark)
        except OSError as error:
            log.warning("the cache of %s cannot be written: %s", self.store.label, error)
            return
        self._saved = {shard.key: shard.stamp for shard in shards}
        self._saved_version = self.version
        self.saved_slots = slots

    def find_secrets(self, rows: Sequence[Memory], report: Report = silent) -> None:
        """Search the shards for secrets, which takes seconds at 100,000 memories; `save` does it
        too, but while nothing else can be read."""
        shards = list(self.shards.values())
        for number, loaded in enumerate(shards):
            if number % SHARDS_PER_REPORT == SHARDS_PER_REPORT - 1:
                report(Progress("searching for secrets", number, len(shards)))
            self._slots_without_secrets(loaded, rows)

    def clean_slots(self) -> Iterator[int]:
        """The slots of the shards that were searched for secrets and have none."""
        for loaded in self.shards.values():
            if self._clean.get(loaded.key) == loaded.stamp:
                yield from loaded.slots

    def _slots_without_secrets(self, loaded: LoadedShard, rows: Sequence[Memory]) -> Sequence[int]:
        """The slots of the memories of a shard without a secret."""
        if self._clean.get(loaded.key) == loaded.stamp:
            return loaded.slots
        plain = [slot for slot in loaded.slots if not saved_rows.has_secret(rows[slot])]
        if len(plain) == len(loaded.slots):
            self._clean[loaded.key] = loaded.stamp
        return plain


def _is_same(row: Memory, memory: Memory) -> bool:
    """Whether two readings of a memory differ in nothing but where it lies."""
    return row == memory or row == replace(memory, origin=row.origin, also=row.also)


def has_time_of_file(memory: Memory) -> bool:
    """Whether it was dated, or its last change was, by the time of its file."""
    return FILE_TIME in (memory.extra.get(FILE_TIME_KEY), memory.extra.get(CREATED_FROM))


def _path_below(top: str, file: str, folders: dict[str, str]) -> str:
    """The path of a file relative to `top`, with links resolved; `folders` keeps those of folders,
    which take much longer than to ask whether a file is a link."""
    if os.path.islink(file):
        return os.path.relpath(os.path.realpath(file), top)
    folder, name = os.path.split(file)
    if folder not in folders:
        folders[folder] = os.path.relpath(os.path.realpath(folder), top)
    return os.path.normpath(os.path.join(folders[folder], name))


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
