"""ConPort (Context Portal): a project's decisions, progress, patterns and context in SQLite.

`context_portal/context.db` lies in the project (`get_database_path` in core/config.py of
context-portal-mcp 0.3.13); with `--base-path` or `--db-path` it lies elsewhere, under a name that
a person gives to memtui.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memtui.stores.format import Candidate, Detection, Format, Product

DATABASE, FOLDER = "context.db", "context_portal"


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder of a `context.db`: this one, its `context_portal`, or that of the file itself."""
    folders = [path, path / FOLDER]
    if path.name == DATABASE and not os.path.isdir(path):
        folders = [path.parent]
    for folder in folders:
        if os.path.isfile(folder / DATABASE):
            from memtui.stores.conport.store import is_conport

            missing = "" if is_conport(folder / DATABASE) else "the tables of ConPort"
            yield Candidate(folder, DATABASE, missing)


FORMAT = Format(
    name="conport",
    title="ConPort: decisions, progress and patterns of a project (SQLite)",
    product=Product("ConPort", "CP", 3),
    places=(),
    detect=detect,
    nearby=(".", FOLDER),
    is_database=True,
)
