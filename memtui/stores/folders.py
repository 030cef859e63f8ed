"""The folders of a store as a look goes through them, links that lead out of it left closed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from memtui.files.reading import reason
from memtui.stores.base import Unreadable

OUTSIDE = "it is a symbolic link to a place outside the store"
MOST_LOOKED_AT = 1_000
"""Entries that are looked at to tell a store from another folder that is called the same."""

Entry = os.DirEntry[str]


def any_in(folder: Path, fits: Callable[[Entry], bool]) -> bool:
    """Does one of the first entries of this folder fit? Never raises."""
    try:
        with os.scandir(folder) as listing:
            looked_at = zip(range(MOST_LOOKED_AT), listing, strict=False)
            return any(fits(entry) for _, entry in looked_at)
    except (OSError, ValueError):
        return False


def listed(folder: str | Path) -> tuple[list[Entry], list[Unreadable]]:
    """The entries of a folder by name, or why there are none."""
    try:
        with os.scandir(folder) as listing:
            return sorted(listing, key=lambda entry: entry.name), []
    except OSError as error:
        return [], [Unreadable(str(folder), f"the folder cannot be listed: {reason(error)}")]


def folders_in(folder: Path, root: Path) -> Iterator[Entry | Unreadable]:
    """The folders in it that are not hidden, by name; what of them is closed as `Unreadable`."""
    entries, faults = listed(folder)
    yield from faults
    for entry in entries:
        if not entry.name.startswith("."):
            found = _opened(entry, root)
            if found is not None:
                yield found


def _opened(entry: Entry, root: Path) -> Entry | Unreadable | None:
    try:
        if not entry.is_dir():
            return None
        leaves = entry.is_symlink() and not leads_into(entry.path, root)
        why = OUTSIDE if leaves else closed(entry.path)
    except OSError as error:
        why = reason(error)
    return Unreadable(entry.path, why) if why else entry


def closed(folder: str) -> str:
    """Why this folder cannot be looked into; empty when it can."""
    may = os.access(folder, os.R_OK | os.X_OK)
    return "" if may else "there is no permission to read this folder"


def leads_into(link: str, folder: str | Path) -> bool:
    """Does a link lead to a place in the folder? A circle of links leads to itself."""
    return Path(os.path.realpath(link)).is_relative_to(os.path.realpath(folder))
