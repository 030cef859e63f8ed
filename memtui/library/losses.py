"""Detect files, folders and stores that can no longer be read.

A program that writes a file in place truncates it first, and one that replaces a folder removes it
first. So a loss is reported only when two checks in a row have seen it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memtui.library.library import Library

NOT_THERE = "it is not there any more"


@dataclass(frozen=True, slots=True)
class Loss:
    """A file, or a folder with all files in it, that can no longer be read."""

    path: str
    reason: str
    is_listed: bool
    """Whether its store lists it as unreadable; a deleted file is not listed."""


@dataclass(frozen=True, slots=True)
class StoreLosses:
    """The losses of one store since the last report."""

    store: str
    """Its label."""
    root: Path
    losses: tuple[Loss, ...]
    memories: int
    """How many memories fewer there are."""


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """What one check could read of a store."""

    root: Path
    count: int
    """Its memories."""
    unreadable: Mapping[str, str]
    """Path -> reason."""
    files: Mapping[str, int]
    """Path of each file -> how many memories were read together with it."""


def losses(before: StoreFiles, now: StoreFiles) -> list[Loss]:
    """Compare two checks; a folder that is gone is one loss.

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
                path = _topmost_missing(file, before.root)
                if not _is_covered(path, now.unreadable):
                    found[path] = Loss(path, NOT_THERE, is_listed=False)
    return list(found.values())


def _topmost_missing(file: str, root: Path) -> str:
    """The topmost missing folder of a missing file, or the file itself."""
    missing = file
    for folder in Path(file).parents:
        if not folder.is_relative_to(root) or os.path.lexists(folder):
            break
        missing = str(folder)
    return missing


def _is_covered(path: str, unreadable: Mapping[str, str]) -> bool:
    """Whether it, or a folder it is in, is listed as unreadable."""
    return any(str(folder) in unreadable for folder in (Path(path), *Path(path).parents))


class LossDetector:
    """Compares what can be read of the stores with what could be read before."""

    def __init__(self) -> None:
        self._before: dict[str, StoreFiles] = {}
        self._suspected: dict[str, frozenset[Loss]] = {}
        """By store: losses that the last check saw for the first time."""
        self._revision = -1

    def accept(self, library: Library) -> None:
        """Take the present files as the new state, after memtui itself has written.

        A file that became unreadable still counts as a loss: memtui did not write that.
        """
        for label, now in _files(library).items():
            before = self._before.get(label)
            unreadable = now.unreadable if before is None else before.unreadable
            self._before[label] = replace(now, unreadable=unreadable)

    def check(self, library: Library) -> list[StoreLosses]:
        """Return the losses since the last report that the check before this one saw too."""
        if library.snapshot.revision == self._revision and not any(self._suspected.values()):
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
                ordered = tuple(sorted(confirmed, key=lambda loss: (not loss.is_listed, loss.path)))
                reports.append(StoreLosses(label, now.root, ordered, fewer))
            if found == confirmed:
                self._before[label] = now
            else:  # what was reported is not reported again
                known = {**before.unreadable, **{loss.path: loss.reason for loss in confirmed}}
                self._before[label] = replace(before, unreadable=known)
        return reports


def _files(library: Library) -> dict[str, StoreFiles]:
    files = library.memories_by_file()
    return {
        state.label: StoreFiles(
            state.root,
            state.count,
            {item.file: item.reason for item in state.unreadable},
            files.get(state.label, {}),
        )
        for state in library.snapshot.stores
    }
