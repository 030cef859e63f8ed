"""Qwen Code: auto memory of each project, of its user and of a team.

A store is the folder of settings (`~/.qwen`, `$QWEN_RUNTIME_DIR`), with `projects/<slug>/memory/`
of each project and `memories/` of the user, or a team's `.qwen/team-memory/` in a repository. The
layout is Claude Code's: MEMORY.md has a line for each topic file, and `pinned/` holds those that
only a person changes. (Source: QwenLM/qwen-code@03aa0995, docs/users/features/memory.md,
packages/core/src/memory: paths.ts, scan.ts, indexer.ts, prompt.ts.)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memtui.stores.claude_code import QWEN, is_of_qwen, linked_folders
from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import has_entry, is_markdown, restored_as

USER, TEAM = "memories", "team-memory"
HOME, FOLDER = "qwen-home", "qwen-folder"
"""Kinds of folder, as the facts of a restored store have them."""


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder of settings or the memory folder that this path is, or directly holds."""
    for folder in (path, path / QWEN):
        if restored := restored_as(folder, HOME, FOLDER):
            yield restored
        elif is_home(folder):
            yield Candidate(folder, f"memory/ of projects or {USER}/")
    for folder in (path, path / QWEN / TEAM):
        is_placed = QWEN in folder.parts[-4:-1] and folder.name in ("memory", USER, TEAM)
        if is_placed and _has_notes(folder):
            yield Candidate(folder, f"notes in {QWEN}")


def is_home(folder: Path) -> bool:
    """Whether it is a folder of settings that holds memories."""
    if restored_as(folder, HOME):
        return True
    return is_of_qwen(folder) and (
        _has_notes(folder / USER)
        or has_entry(folder / "projects", lambda each: _has_notes(Path(each.path, "memory")))
    )


def _has_notes(folder: Path) -> bool:
    return has_entry(folder, is_markdown)


FORMAT = Format(
    name="qwen",
    title="Qwen Code: auto memory and team memory",
    product=Product("Qwen Code", "QW", 6),
    places=("$QWEN_RUNTIME_DIR", f"~/{QWEN}"),
    detect=detect,
    linked=lambda root: linked_folders(root) if is_home(root) else (),
)
