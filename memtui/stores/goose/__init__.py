"""goose: what its memory extension keeps, a text file for each category.

Global categories lie in `~/.config/goose/memory`, those of a project in `.goose/memory`. (Source:
block/goose@0d2f2e5d, crates/goose-mcp/src/memory/mod.rs.)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import has_entry, restored_as

SUFFIX = ".txt"
GLOBAL, PROJECT = "goose", ".goose"
FOLDER = "memory"


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder of categories that this path is, or holds where goose keeps one."""
    for folder in (path, path / FOLDER, path / PROJECT / FOLDER):
        if restored := restored_as(folder, GLOBAL, PROJECT):
            yield restored
        is_placed = folder.name == FOLDER and folder.parent.name in (GLOBAL, PROJECT)
        if is_placed and has_entry(folder, lambda entry: entry.name.endswith(SUFFIX)):
            yield Candidate(folder, f"categories in {folder.parent.name}/{FOLDER}")


FORMAT = Format(
    name="goose",
    title="goose: memories by category",
    product=Product("goose", "GO", 0),
    places=("$XDG_CONFIG_HOME/goose/memory", "~/.config/goose/memory"),
    detect=detect,
)
