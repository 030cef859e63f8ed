"""Which files of a workspace are documents, and what a look at each costs: one stat."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memtui.files.reading import error_text, walk
from memtui.stores.base import Unreadable
from memtui.stores.scanning import FoundShard
from memtui.stores.workspace.type_map import MAP_PATH

SUFFIX = ".md"


class _Skipped(frozenset[str]):
    """Folders and files that hold no documents of the agent: these, and all that are hidden."""

    def __contains__(self, name: object) -> bool:
        return str(name).startswith(".") or super().__contains__(name)


SKIPPED = _Skipped({"node_modules", "__pycache__"})


def documents(root: Path, faults: list[Unreadable]) -> Iterator[FoundShard]:
    """Every document below `root`, by its path with slashes from there.

    Folders that cannot be listed are added to `faults`.
    """

    def unreadable(folder: str, why: str) -> None:
        faults.append(Unreadable(folder, why))

    start = len(os.path.join(os.fspath(root), ""))
    for entry in walk(root, (SUFFIX,), SKIPPED, unreadable):
        path = entry.path[start:]
        if os.sep != "/":
            path = path.replace(os.sep, "/")
        try:
            seen = entry.stat()
        except OSError as error:
            yield FoundShard(path, (entry.path,), error_text(error))
        else:
            mark = f"{seen.st_mtime_ns:x}.{seen.st_ctime_ns:x}.{seen.st_size:x}.{seen.st_ino:x}"
            yield FoundShard(path, (entry.path,), mark)


def detect(path: Path) -> Path | None:
    """The workspace: this folder, its `workspace` folder, or the one this type map belongs to."""
    candidates = [path, path / "workspace"]
    inside = Path(MAP_PATH)
    for part in (inside, inside.parent):
        if path.parts[-len(part.parts) :] == part.parts:
            candidates.append(path.parents[len(part.parts) - 1])
    return next((root for root in candidates if _is_workspace(root)), None)


def _is_workspace(root: Path) -> bool:
    """It has a type map, or is laid out as only a gptme workspace is."""
    if os.path.isfile(root / MAP_PATH):
        return True
    if not os.path.isfile(root / "ABOUT.md"):
        return False
    return os.path.isfile(root / "gptme.toml") or os.path.isdir(root / "journal")
