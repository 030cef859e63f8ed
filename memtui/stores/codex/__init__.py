"""Codex: the memories that it consolidates, and the notes by which it is asked to change them.

The files lie in `memories/` of its home folder. `raw_memories.md` is left out: Codex makes it anew
from a database, and the other files say what it says. (Source: formats page of Codex.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memtui.stores.base import Unreadable
from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import folders_in, has_entry, is_markdown, markdown_names

SUMMARY, MEMORY = "memory_summary.md", "MEMORY.md"
RAW = "raw_memories.md"
ROLLOUTS = "rollout_summaries"
SKILLS = "skills"
NOTES = "extensions/ad_hoc/notes"
SUFFIX = ".md"
FOLDER = "memories"


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder of memories that this path is, or directly holds: one with the summary and one of
    the files that belong to it."""
    names = (MEMORY, RAW, ROLLOUTS, NOTES)
    for folder in (path, path / FOLDER, path / ".codex" / FOLDER):
        if os.path.isfile(folder / SUMMARY):
            beside = next((name for name in names if os.path.lexists(folder / name)), "")
            found = f"{SUMMARY} and {beside}" if beside else SUMMARY
            yield Candidate(folder, found, "" if beside else " or ".join(names))
        elif folder.name == FOLDER and has_entry(folder, is_markdown):
            yield Candidate(folder, "notes", SUMMARY, is_unread=True)


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
)
