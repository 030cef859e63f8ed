"""Detect what could be read and cannot any more: a file, a folder, a whole store.

A program that writes a file in place empties it for a moment, and one that replaces a folder takes
it away first. So a loss is reported when two looks in a row have seen it.
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
    """A file, or a folder with all that is in it, that cannot be read any more."""

    path: str
    reason: str
    is_listed: bool
    """Whether its store lists it as unreadable; what was deleted is nowhere any more."""


@dataclass(frozen=True, slots=True)
class StoreLosses:
    """What one store has lost since the last report."""

    store: str
    """Its label."""
    root: Path
    losses: tuple[Loss, ...]
    memories: int
    """How many memories fewer there are."""


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """What could be read of one store at one look."""

    root: Path
    count: int
    """Its memories."""
    unreadable: Mapping[str, str]
    """Path -> reason."""
    files: Mapping[str, int]
    """Path of each file -> how many memories were read together with it."""


def losses(before: StoreFiles, now: StoreFiles) -> list[Loss]:
    """What could be read before and cannot be now, whole folders as one.

    A file that went while the store has as many memories as before was renamed or merged, not
    lost. Looks at the disk, to tell a folder that went from the files that went with it.
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
    """The uppermost folder of a missing file that is missing too, or the file itself."""
    missing = file
    for folder in Path(file).parents:
        if not folder.is_relative_to(root) or os.path.lexists(folder):
            break
        missing = str(folder)
    return missing


def _is_covered(path: str, unreadable: Mapping[str, str]) -> bool:
    """Whether it lies in what is listed as unreadable."""
    return any(str(part) in unreadable for part in (Path(path), *Path(path).parents))


class LossDetector:
    """Compares each look at the stores with what could be read when all was well."""

    def __init__(self) -> None:
        self._before: dict[str, StoreFiles] = {}
        self._suspected: dict[str, frozenset[Loss]] = {}
        """By store: losses that the last look saw for the first time."""
        self._revision = -1

    def accept(self, library: Library) -> None:
        """What is there now was written by memtui itself: no file that went is a loss.

        What became unreadable is, since memtui writes nothing that cannot be read.
        """
        for label, now in _files(library).items():
            before = self._before.get(label)
            unreadable = now.unreadable if before is None else before.unreadable
            self._before[label] = replace(now, unreadable=unreadable)

    def look(self, library: Library) -> list[StoreLosses]:
        """What was lost since the last report, as far as the look before this one saw it too."""
        if library.snapshot.revision == self._revision and not any(self._suspected.values()):
            return []
        self._revision = library.snapshot.revision
        reports = []
        for label, now in _files(library).items():
            before = self._before.setdefault(label, now)
            found = frozenset(losses(before, now))
            sure = found & self._suspected.get(label, frozenset())
            self._suspected[label] = found - sure
            if sure:
                fewer = max(0, before.count - now.count)
                told = tuple(sorted(sure, key=lambda loss: (not loss.is_listed, loss.path)))
                reports.append(StoreLosses(label, now.root, told, fewer))
            if found == sure:
                self._before[label] = now
            else:  # what was reported is not reported again
                known = {**before.unreadable, **{loss.path: loss.reason for loss in sure}}
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
