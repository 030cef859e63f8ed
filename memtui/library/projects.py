"""The projects that memories are about, each indexed once and again when it has changed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from memtui.files.project_index import ProjectIndex, find_project, project_stamp, read_project
from memtui.model import PROJECT_PATH, Memory
from memtui.progress import Cancelled, IsCancelled, never
from memtui.upkeep.outdated import Outdated, find_outdated

MAX_PROJECTS = 40
"""Projects that are indexed; memories of others are not compared."""


class Projects:
    """Finds the project of a memory; may be used from any thread."""

    def __init__(self) -> None:
        self._roots: dict[str, Path | None] = {}
        self._above: dict[str, Path | None] = {}
        """Folder -> the project that it lies in."""
        self._known: dict[Path, tuple[tuple[int, ...], ProjectIndex]] = {}
        self._lock = Lock()

    def root_of(self, memory: Memory) -> Path | None:
        """The project that a memory names as its own, else the one that its file lies in."""
        named = memory.extra.get(PROJECT_PATH)
        folder = named if isinstance(named, str) else memory.origin.file.rpartition("/")[0]
        if folder not in self._roots:
            is_there = folder.startswith("/") and os.path.isdir(folder)
            root = find_project(Path(folder), self._above) if is_there else None
            self._roots[folder] = root if named is None or root == Path(folder) else None
        return self._roots[folder]

    def stamp(self, memories: Iterable[Memory]) -> str:
        """Changes when one of the projects of these memories does."""
        with self._lock:
            roots = {root for memory in memories if (root := self.root_of(memory)) is not None}
            return repr(sorted((str(root), project_stamp(root)) for root in roots))

    def outdated(
        self, memories: Iterable[Memory], cancelled: IsCancelled = never
    ) -> list[tuple[Memory, tuple[Outdated, ...]]]:
        """The memories that name what their project no longer has. Raises Cancelled."""
        found = []
        with self._lock:
            for memory in memories:
                root = self.root_of(memory)
                project = self._index(root, cancelled) if root is not None else None
                if cancelled():
                    raise Cancelled
                if project is not None and (claims := find_outdated(memory, project)):
                    found.append((memory, claims))
        return found

    def _index(self, root: Path, cancelled: IsCancelled) -> ProjectIndex | None:
        known = self._known.get(root)
        if known is None and len(self._known) >= MAX_PROJECTS:
            return None
        if known is None:
            known = self._known[root] = project_stamp(root), read_project(root, cancelled)
        return known[1]

    def refresh(self) -> None:
        """Forget the projects that have changed."""
        with self._lock:
            self._roots.clear()
            self._above.clear()
            self._known = {
                root: (stamp, index)
                for root, (stamp, index) in self._known.items()
                if project_stamp(root) == stamp
            }
