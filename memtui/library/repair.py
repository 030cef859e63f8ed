"""A file that another program broke: where its fault lies, and the last good copy of it."""

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
class Broken:
    """A file that could not be read, as it is now."""

    path: Path
    reason: str
    text: str
    """What it holds; empty when not even that can be read."""
    line: int
    """1-based line of the fault; 0 = not known."""
    copy: datetime | None
    """When the last good copy was taken; None when there is none that differs."""
    copy_size: int = 0
    """Bytes of that copy."""


def look(store: WritableStore, file: str, reason: str, state: Path | None) -> Broken:
    """The broken file and what there is in its place. Raises UnreadableFile when it is gone."""
    path = Path(file)
    data = b"" if is_database(path) else read_bytes(path, _inside(store))
    found = _LINE.search(reason)
    copy = backups.last_good(path, state) if state is not None else None
    if copy is not None and copy.read() == data:
        copy = None
    return Broken(
        path=path,
        reason=reason,
        text=decode(data[:LARGEST_SHOWN]),
        line=int(found[1]) if found else 0,
        copy=None if copy is None else datetime.fromtimestamp(copy.time, UTC),
        copy_size=0 if copy is None else len(copy.read()),
    )


def restoration(store: WritableStore, file: str, state: Path) -> Planned:
    """Put the last good copy in place of the file, as a change like any other.

    Raises Refused where there is no copy, UnreadableFile when the file cannot be read.
    """
    path = Path(file)
    copy = backups.last_good(path, state)
    if copy is None or is_database(path):
        raise Refused("there is no good copy of this file", where=file)
    if store.read_only:
        raise Refused(store.read_only, where=store.label)
    before = decode(read_bytes(path, _inside(store))) if os.path.lexists(path) else None
    edit = TextEdit(str(path), before, decode(copy.read()))
    title = f"restore: {path.name}"
    return Planned(title, (Plan((), (edit,)),), (StoreEdits(str(store.root), (edit,)),))


def is_database(path: Path) -> bool:
    """A database is never opened as a file: that would drop SQLite's locks (reliability 2.5)."""
    return path.suffix.lower() in (".db", ".sqlite", ".sqlite3") or path.name.endswith(
        ("-wal", "-shm")
    )


def _inside(store: WritableStore) -> Path:
    root = store.root if store.root.is_dir() else store.root.parent
    return root.parent
