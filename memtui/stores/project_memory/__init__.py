"""Memory that agents share in a project: `.agents/memory` and `.agent/memory`.

MEMORY.md is an index with a line for each topic file beside it, as Claude Code's is. Replit Agent
keeps it in `.agents/memory`, beside `agent_assets_metadata.toml`; kits of instructions that several
programs follow use the same folder, and those for Antigravity `.agent/memory`, whose rules and
workflows lie in `.agent`. How much of it a program reads is said by its own instructions: nothing
here is taken to be loaded. (Read off files that they wrote: 0utLawzz/Brandex@003a75a4,
21mCom/TheWatchTower@e9ad1ad0, whose notes have `name` and `description`.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memtui.stores.claude_code import INDEX, OF_PROJECTS
from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import has_entry, is_markdown, restored_as

KIND = "project-memory"
"""Fact of a restored store."""
_PLACES = tuple(f"{each}/memory" for each in OF_PROJECTS)
_OF_REPLIT = (".replit", "replit.md", ".agents/agent_assets_metadata.toml")
_OF_ANTIGRAVITY = (".agent/rules", ".agent/workflows")
REPLIT = Product("Replit Agent", "RA", 3)
ANTIGRAVITY = Product("Antigravity", "AG", 6)
AGENTS = Product("Agent notes", "AN", 0)


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder of notes that this path is, or holds in one of the places."""
    for folder in (path, *(path / place for place in _PLACES)):
        if restored := restored_as(folder, KIND):
            yield restored
        elif folder.name == "memory" and folder.parent.name in OF_PROJECTS:
            found = f"notes in {folder.parent.name}/memory"
            is_indexed = os.path.isfile(folder / INDEX)
            if is_indexed or has_entry(folder, is_markdown):
                yield Candidate(folder, f"{INDEX} and {found}" if is_indexed else found)


def product_of(folder: Path, _profile: str) -> Product:
    """The program by what else lies in the project; `AGENTS` where nothing tells it."""
    project = folder.parents[1]
    marks = ((REPLIT, _OF_REPLIT), (ANTIGRAVITY, _OF_ANTIGRAVITY))
    found = (each for each, names in marks if any(os.path.exists(project / n) for n in names))
    return next(found, AGENTS)


FORMAT = Format(
    name="project-memory",
    title="Memory in a project: .agents/memory, .agent/memory",
    product=product_of,
    places=(),
    detect=detect,
    nearby=(".", *_PLACES),
)
