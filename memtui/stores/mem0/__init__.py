"""mem0 (open source): the history of its memories, and a local Qdrant folder, read only.

`history.db` lies in `~/.mem0` or `$MEM0_DIR` (mem0/configs/base.py, mem0ai 2.0.18). The memories
themselves are in a vector store. A local Qdrant keeps each collection in
`<path>/collection/<name>/storage.sqlite` (qdrant_client/local/persistence.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from memtui.stores.format import Format, Product
from memtui.stores.scanning import list_folder

HISTORY, STORAGE = "history.db", "storage.sqlite"
COLLECTIONS = "collection"
_LIKELY = frozenset({HISTORY, STORAGE})
_MAX_COLLECTIONS = 20


def detect(path: Path) -> Path | None:
    """The database, if this path is it, or directly holds it."""
    try:
        if os.path.isdir(path):
            files = [path / name for name in (HISTORY, STORAGE) if os.path.isfile(path / name)]
        else:
            files = [path] if path.name in _LIKELY and os.path.isfile(path) else []
    except ValueError:
        return None
    if not files:
        return None
    from memtui.stores.mem0.store import is_mem0

    return next((file for file in files if is_mem0(file)), None)


def collections(_folder: Path, home: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """The collections of a Qdrant folder in mem0's own folder, and of the default one."""
    own = variables.get("MEM0_DIR")
    for folder in (Path(own) if own else home / ".mem0", Path("/tmp")):
        for name in ("qdrant", "db", "."):
            for entry in list_folder(folder / name / COLLECTIONS)[0][:_MAX_COLLECTIONS]:
                yield Path(entry.path)


FORMAT = Format(
    name="mem0",
    title="mem0: the history of its memories, and a local Qdrant (SQLite)",
    product=Product("mem0", "M0", 5),
    places=("$MEM0_DIR", "~/.mem0"),
    detect=detect,
    load=f"{__name__}.store",
    configured=collections,
    is_database=True,
)
