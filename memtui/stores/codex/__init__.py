"""Codex: the memories that it consolidates, and the notes by which it is asked to change them.

The files lie in `memories/` of its home folder. `raw_memories.md` is left out: Codex makes it anew
from a database, and the other files say what it says. (Source: formats page of Codex.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memtui.stores.base import Unreadable
from memtui.stores.format import Format, Product
from memtui.stores.scanning import folders_in, markdown_names

SUMMARY, MEMORY = "memory_summary.md", "MEMORY.md"
RAW = "raw_memories.md"
ROLLOUTS = "rollout_summaries"
SKILLS = "skills"
NOTES = "extensions/ad_hoc/notes"
SUFFIX = ".md"


def detect(path: Path) -> Path | None:
    """The folder of memories that this path is, or directly holds."""
    folders = (path, path / "memories", path / ".codex" / "memories")
    return next(filter(_is_memories, folders), None)


def _is_memories(folder: Path) -> bool:
    """Whether it holds the summary and one of the files that belong to it."""
    if not os.path.isfile(folder / SUMMARY):
        return False
    return any(os.path.lexists(folder / name) for name in (MEMORY, RAW, ROLLOUTS, NOTES))


def memory_files(root: Path, faults: list[Unreadable]) -> Iterator[str]:
    """Every file with memories, relative to the root."""
    for name in (SUMMARY, MEMORY):
        if os.path.lexists(root / name):
            yield name
    for folder in (NOTES, ROLLOUTS):
        if os.path.isdir(root / folder):
            for name in markdown_names(root / folder, faults):
                yield f"{folder}/{name}"
    if os.path.isdir(root / SKILLS):
        for found in folders_in(root / SKILLS, root):
            if isinstance(found, Unreadable):
                faults.append(found)
            elif os.path.lexists(os.path.join(found.path, "SKILL.md")):
                yield f"{SKILLS}/{found.name}/SKILL.md"


def is_note(path: str) -> bool:
    """Whether it is an ad-hoc note, the only kind of file that memtui writes here."""
    return path.startswith(f"{NOTES}/")


FORMAT = Format(
    name="codex",
    title="Codex: consolidated memories and ad-hoc notes",
    product=Product("Codex", "CX", 0),
    places=("$CODEX_HOME", "~/.codex"),
    detect=detect,
    load=f"{__name__}.store",
)
