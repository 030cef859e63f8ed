"""Inspect a file that another program broke, and restore its last good backup."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memtui.changes import Plan, StoreEdits, TextEdit
from memtui.errors import Refused
from memtui.files import backups
from memtui.files.reading import decode, read_bytes
from memtui.library.planning import Planned
from memtui.stores.base import WritableStore

_LINE = re.compile(r"\bline (\d+)")
LARGEST_SHOWN = 4 << 20
"""Bytes of a broken file that are shown."""


@dataclass(frozen=True, slots=True)
class BrokenFile:
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


def inspect_file(store: WritableStore, file: str, reason: str, state: Path | None) -> BrokenFile:
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
        text=decode(data[:LARGEST_SHOWN]),
        line=fault_line(reason),
        backup_time=None if backup is None else datetime.fromtimestamp(backup.time, UTC),
        backup_size=0 if backup is None else len(backup.read()),
    )


def fault_line(reason: str) -> int:
    """The line, from 1, that the reason of an unreadable file names; 0 if it names none."""
    found = _LINE.search(reason)
    return int(found[1]) if found else 0


def plan_restore_copy(store: WritableStore, file: str, state: Path) -> Planned:
    """Plan to replace the file by its last good backup; `Library.apply` does it.

    Raises:
        Refused: there is no backup, or the store is read-only.
        UnreadableFile: the file cannot be read.
    """
    path = Path(file)
    backup = backups.last_good(path, state)
    if backup is None or is_database(path):
        raise Refused("there is no good copy of this file", where=file)
    if store.read_only:
        raise Refused(store.read_only, where=store.label)
    before = decode(read_bytes(path, _outer_folder(store))) if os.path.lexists(path) else None
    edit = TextEdit(str(path), before, decode(backup.read()))
    title = f"restore: {path.name}"
    return Planned(title, (Plan((), (edit,)),), (StoreEdits(str(store.root), (edit,)),))


def is_database(path: Path) -> bool:
    """Databases are never opened as files: closing one would drop SQLite's locks."""
    return path.suffix.lower() in (".db", ".sqlite", ".sqlite3") or path.name.endswith(
        ("-wal", "-shm")
    )


def _outer_folder(store: WritableStore) -> Path:
    root = store.root if store.root.is_dir() else store.root.parent
    return root.parent
