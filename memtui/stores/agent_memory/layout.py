"""Where agent-memory keeps what: which folder is a store, and the files of each shard.

Below MEMORY_HOME lie `entities/<slug>/items.json` and `summary.md`, and one `<YYYY-MM-DD>.md` a
day; `MEMORY.md` lies one level up (setup.sh:42). `entities/index.json` is a cache that adding a
fact leaves stale, so it is never read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memtui.files.reading import real, reason
from memtui.stores.base import Unreadable

ENTITIES = "entities"
ITEMS = "items.json"
SUMMARY = "summary.md"
TACIT = "MEMORY.md"
SET_UP = ("pipelines", "checkpoints", "metrics")
"""Folders that setup.sh makes beside `entities/` (setup.sh:25-72)."""
DAILY = re.compile(r"\d{4}-\d{2}-\d{2}\.md")

_LOOKED_AT = 500
"""Entries of `entities/` that are looked at to tell a store from another folder of that name."""

_OUTSIDE = "it is a symbolic link to a place outside the store"


def _is_home(path: Path) -> bool:
    entities = path / ENTITIES
    if not os.path.isdir(entities):
        return False
    if os.path.isfile(entities / "index.json"):
        return True
    if all(os.path.isdir(path / name) for name in SET_UP):
        return True
    try:
        with os.scandir(entities) as listing:
            for _, entry in zip(range(_LOOKED_AT), listing, strict=False):
                if os.path.lexists(os.path.join(entry.path, ITEMS)):
                    return True
    except (OSError, ValueError):
        return False
    return False


def detect(path: Path) -> Path | None:
    """MEMORY_HOME, when this is it, the workspace around it, or its `entities` folder."""
    homes = [path, path / "memory"]
    if path.name == ENTITIES:
        homes.append(path.parent)
    for home in homes:
        if _is_home(home):
            return home
    return None


@dataclass(frozen=True, slots=True)
class Found:
    """The files of one shard."""

    key: str
    """`entities/alice`, `2026-11-18.md` or `MEMORY.md`."""
    files: tuple[str, ...]


def _sorted_entries(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as listing:
        return sorted(listing, key=lambda entry: entry.name)


def _is_folder_inside(entry: os.DirEntry[str], root: Path) -> bool | None:
    """True for a folder, False for anything else, None for a link that leads out of the store."""
    if not entry.is_dir():
        return False
    if not entry.is_symlink():
        return True
    return True if real(Path(entry.path)).is_relative_to(real(root)) else None


def _entity(entry: os.DirEntry[str]) -> Found | Unreadable | None:
    if not os.access(entry.path, os.R_OK | os.X_OK):
        return Unreadable(entry.path, "there is no permission to read this folder")
    paths = (os.path.join(entry.path, name) for name in (ITEMS, SUMMARY))
    files = tuple(path for path in paths if os.path.lexists(path))
    return Found(f"{ENTITIES}/{entry.name}", files) if files else None


def entities(root: Path) -> Iterator[Found | Unreadable]:
    """Every entity folder that holds something, by name."""
    folder = root / ENTITIES
    try:
        entries = _sorted_entries(folder)
    except OSError as error:
        yield Unreadable(str(folder), f"the folder cannot be listed: {reason(error)}")
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        try:
            inside = _is_folder_inside(entry, root)
            found = _entity(entry) if inside else None
        except OSError as error:
            found = Unreadable(entry.path, reason(error))
        if inside is None:
            found = Unreadable(entry.path, _OUTSIDE)
        if found is not None:
            yield found


def notes(root: Path) -> Iterator[Found | Unreadable]:
    """The daily notes by date, then MEMORY.md of the folder above."""
    try:
        entries = _sorted_entries(root)
    except OSError as error:
        yield Unreadable(str(root), f"the folder cannot be listed: {reason(error)}")
        return
    for entry in entries:
        if DAILY.fullmatch(entry.name):
            yield Found(entry.name, (entry.path,))
    tacit = root.parent / TACIT
    if os.path.lexists(tacit):
        yield Found(TACIT, (str(tacit),))
