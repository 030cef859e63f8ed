"""Detect what can no longer be read of the stores; restore a file from its backup.

A program that writes a file in place truncates it first, and one that replaces a folder removes it
first. So a loss is reported only when two checks in a row have seen it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from memtui.changes import Plan, StoreEdits, text_edit
from memtui.errors import Refused
from memtui.files import backups
from memtui.files.reading import decode, read_bytes
from memtui.stores.base import Store

if TYPE_CHECKING:
    from memtui.library.library import Library
    from memtui.library.planning import Planned

NOT_THERE = "it is not there any more"
MANY = 5
"""Memories missing from files that can be read that are a loss; agents delete one now and then."""


class Loss(Struct, frozen=True):
    """A file, or a folder with all files in it, that can no longer be read; or many memories that
    are missing from files that can be read."""

    path: str
    """Empty for memories that are missing from files that can be read."""
    reason: str
    is_listed: bool
    """Whether its store lists it as unreadable; a deleted file is not listed."""


class StoreLosses(Struct, frozen=True):
    """The losses of one store since the last report."""

    store: str
    """Its label."""
    root: Path
    losses: tuple[Loss, ...]
    memories: int
    """How many memories fewer there are."""
    by: str = ""
    """Who deleted them and when, as far as it is known."""

    @property
    def is_listed(self) -> bool:
        """Whether its store lists one of them as unreadable."""
        return any(loss.is_listed for loss in self.losses)


class StoreFiles(Struct, frozen=True):
    """What one check could read of a store."""

    root: Path
    count: int
    """Its memories."""
    unreadable: Mapping[str, str]
    """Path -> reason."""
    files: Mapping[str, int]
    """Path of each file -> how many memories were read together with it."""


def losses(before: StoreFiles, now: StoreFiles) -> list[Loss]:
    """Compare two checks; a folder that is gone is one loss, and so are many memories elsewhere.

    A file that is gone while the store has as many memories as before was renamed or merged, not
    lost. Checks on disk whether a file's folder is gone too.
    """
    found = {
        path: Loss(path, reason, is_listed=True)
        for path, reason in now.unreadable.items()
        if path not in before.unreadable
    }
    if now.count < before.count:
        for file, count in before.files.items():
            if count and file not in now.files and not os.path.lexists(file):
                path = file  # or the topmost missing folder above it
                for folder in Path(file).parents:
                    if not folder.is_relative_to(before.root) or os.path.lexists(folder):
                        break
                    path = str(folder)
                above = map(str, (path, *Path(path).parents))
                if now.unreadable.keys().isdisjoint(above):  # else it is listed already
                    found[path] = Loss(path, NOT_THERE, is_listed=False)
    if not found and before.count - now.count >= MANY:
        found[""] = Loss("", "memories are missing", is_listed=False)
    return list(found.values())


def _count_memories(before: StoreFiles, lost: Iterable[Loss]) -> int:
    """How many memories were read together with the lost files, or with those of lost folders."""
    paths = {loss.path for loss in lost}
    return sum(
        count
        for file, count in before.files.items()
        if not paths.isdisjoint((file, *map(str, Path(file).parents)))
    )


class LossDetector:
    """Compares what can be read of the stores with what could be read before."""

    def __init__(self) -> None:
        self._before: dict[str, StoreFiles] = {}
        self._suspected: dict[str, frozenset[Loss]] = {}
        """By store: losses that the last check saw for the first time."""
        self._revision = -1

    def begin(self, library: Library) -> None:
        """Take the present files, and the numbers of memories of the last session, as the state
        before; what is unreadable at the start is no loss."""
        self.accept(library)
        for state in library.loaded.cached:
            now = self._before.get(state.label)
            if now is not None and not now.unreadable:
                self._before[state.label] = replace(now, count=max(now.count, state.count))

    def accept(self, library: Library) -> None:
        """Take the present files as the new state, after memtui itself has written.

        A file that became unreadable still counts as a loss: memtui did not write that.
        """
        for label, now in _files(library).items():
            before = self._before.get(label)
            unreadable = now.unreadable if before is None else before.unreadable
            self._before[label] = replace(now, unreadable=unreadable)

    @property
    def is_unsure(self) -> bool:
        """Whether the last check saw a loss for the first time: one more check decides."""
        return any(self._suspected.values())

    def check(self, library: Library) -> list[StoreLosses]:
        """Return the losses since the last report that the check before this one saw too."""
        if library.snapshot.revision == self._revision and not self.is_unsure:
            return []
        self._revision = library.snapshot.revision
        reports = []
        for label, now in _files(library).items():
            before = self._before.setdefault(label, now)
            found = frozenset(losses(before, now))
            confirmed = found & self._suspected.get(label, frozenset())
            self._suspected[label] = found - confirmed
            if confirmed:
                fewer = max(0, before.count - now.count)
                if all(loss.path for loss in confirmed):
                    fewer = min(fewer, _count_memories(before, confirmed))
                ordered = tuple(sorted(confirmed, key=lambda loss: (not loss.is_listed, loss.path)))
                reports.append(StoreLosses(label, now.root, ordered, fewer))
            if found == confirmed:
                self._before[label] = now
            else:  # what was reported is not reported again
                known = {**before.unreadable, **{loss.path: loss.reason for loss in confirmed}}
                self._before[label] = replace(before, unreadable=known)
        return reports


def _files(library: Library) -> dict[str, StoreFiles]:
    files = library.loaded.memories_by_file()
    return {
        state.label: StoreFiles(
            state.root,
            state.count,
            {item.file: item.reason for item in state.unreadable},
            files.get(state.label, {}),
        )
        for state in library.snapshot.stores
    }


_LINE = re.compile(r"\bline (\d+)")
MAX_SHOWN_BYTES = 4 << 20
"""Bytes of a broken file that are shown."""


class BrokenFile(Struct, frozen=True):
    """A file that could not be read, as it is now."""

    path: Path
    reason: str
    text: str
    """Its content; empty for a database."""
    line: int
    """Line of the fault, from 1; 0 = not known."""
    backup_time: datetime | None
    """When the last good backup was made; None when there is none that differs."""
    backup_size: int = 0
    """Bytes of that backup."""


def inspect_file(store: Store, file: str, reason: str, state: Path | None) -> BrokenFile:
    """Read a broken file and look for a backup of it.

    Args:
        store: the store it belongs to.
        file: its path.
        reason: why it could not be read; may name a line.
        state: the folder of backups.

    Raises:
        UnreadableFile: it is gone.
    """
    path = Path(file)
    data = b"" if is_database(path) else read_bytes(path, _outer_folder(store))
    backup = backups.last_good(path, state) if state is not None else None
    if backup is not None and backup.read() == data:
        backup = None
    return BrokenFile(
        path=path,
        reason=reason,
        text=decode(data[:MAX_SHOWN_BYTES]),
        line=fault_line(reason),
        backup_time=None if backup is None else datetime.fromtimestamp(backup.time, UTC),
        backup_size=0 if backup is None else len(backup.read()),
    )


def fault_line(reason: str) -> int:
    """The line, from 1, that the reason of an unreadable file names; 0 if it names none."""
    found = _LINE.search(reason)
    return int(found[1]) if found else 0


def plan_restore_copy(store: Store, file: str, state: Path) -> Planned:
    """Plan to replace the file by its last good backup; `Library.apply` does it.

    Raises:
        Refused: there is no backup, or the store is read-only.
        UnreadableFile: the file cannot be read.
    """
    from memtui.library.guarded_store import effect_of
    from memtui.library.planning import Planned

    path = Path(file)
    backup = backups.last_good(path, state)
    if backup is None or is_database(path):
        raise Refused("there is no good copy of this file", where=file)
    if store.read_only:
        raise Refused(store.read_only, where=store.label)
    before = decode(read_bytes(path, _outer_folder(store))) if os.path.lexists(path) else None
    edit = text_edit(str(path), before, decode(backup.read()))
    title = f"restore: {path.name}"
    plan = Plan((), (edit,), effect=effect_of(None, (edit,), store))
    return Planned(title, (plan,), (StoreEdits(str(store.root), (edit,)),))


def is_database(path: Path) -> bool:
    """Databases are never opened as files: closing one would drop SQLite's locks."""
    return path.suffix.lower() in (".db", ".sqlite", ".sqlite3") or path.name.endswith(
        ("-wal", "-shm")
    )


def _outer_folder(store: Store) -> Path:
    root = store.root if store.root.is_dir() else store.root.parent
    return root.parent
