"""A home folder with a store of every format in its program's place, made of the sample data.

For tests of what is found at the start, and for the bench, which adds files that are no memories.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memtui import paths

PROJECT = "code/towerd"
"""The project that memtui is started in, below the home folder."""
PLACES = {
    "ambient": ".ambient",
    "engram": ".engram",
    "claude-code": ".claude",
    "markdown-folder": "notes/bells",
    "memfs": ".letta/agents/agent-7/memory",
    "workspace": PROJECT + "/workspace",
    "simple-memory": PROJECT + "/simple-memory",
    "serena": PROJECT,
    "memory-bank": PROJECT,
}
"""Folder of the sample data -> where its program keeps it, below the home folder."""
FILES_IN_FOLDER = 100


@dataclass(frozen=True)
class SyntheticHome:
    """A home folder, and how many stores lie in known places."""

    home: Path
    project: Path

    @property
    def stores(self) -> int:
        return len(PLACES)


def build_home(home: Path) -> SyntheticHome:
    """Make the home folder; basic-memory's place is named by its settings."""
    samples = paths.bundled_folder("sample-data")
    for name, place in PLACES.items():
        shutil.copytree(
            samples / name,
            home / place,
            ignore=shutil.ignore_patterns("*-wal", "*-shm"),
            dirs_exist_ok=True,
        )
    settings = {"projects": {"bells": {"path": str(home / "notes" / "bells")}}}
    (home / ".basic-memory").mkdir()
    (home / ".basic-memory" / "config.json").write_text(json.dumps(settings), "utf-8")
    return SyntheticHome(home, home / PROJECT)


def add_files(home: Path, count: int) -> Iterator[Path]:
    """Files that are no memories, in nested folders as projects have them."""
    for number in range(count):
        folder_number, name = divmod(number, FILES_IN_FOLDER)
        top, below = divmod(folder_number, 20)
        folder = home / "code" / f"project-{top}" / "src" / f"part-{below}"
        if not name:
            folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"module_{name}.md"
        file.write_bytes(b"# Part\n")
        yield file
