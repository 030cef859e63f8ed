"""Codex: the memories that it consolidates, and the notes by which it is asked to change them.

The files lie in `memories/` of its home folder. `raw_memories.md` is left out: Codex makes it anew
from a database, and the other files say what it says. Each further extension keeps what it gives to
Codex in `extensions/<name>/resources/`. (Source: formats page of Codex; of extensions
openai/codex@923df3e, codex-rs/memories/write/src/extensions/persistent.rs.)
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
EXTENSIONS = "extensions"
NOTES = f"{EXTENSIONS}/ad_hoc/notes"
RESOURCES = "resources"
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
    for extension in _folders(root, EXTENSIONS, faults):
        folder = f"{EXTENSIONS}/{extension}/{RESOURCES}"
        if os.path.isdir(root / folder):
            for name in markdown_names(root / folder, faults):
                yield f"{folder}/{name}"
    for skill in _folders(root, SKILLS, faults):
        if os.path.lexists(root / SKILLS / skill / "SKILL.md"):
            yield f"{SKILLS}/{skill}/SKILL.md"


def _folders(root: Path, within: str, faults: list[Unreadable]) -> Iterator[str]:
    """The names of the folders below one of the root; unreadable ones go to `faults`."""
    for found in folders_in(root / within, root) if os.path.isdir(root / within) else ():
        if isinstance(found, Unreadable):
            faults.append(found)
        else:
            yield found.name


def extension_of(path: str) -> str:
    """The extension that gave this file to Codex; "" if none did."""
    parts = path.split("/")
    return parts[1] if parts[0] == EXTENSIONS and parts[2] == RESOURCES else ""


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
