"""mem0 (open source): the history of its memories, and a local Qdrant folder, read only.

`history.db` lies in `~/.mem0` or `$MEM0_DIR` (mem0/configs/base.py, mem0ai 2.0.18). The memories
themselves are in a vector store. A local Qdrant keeps each collection in
`<path>/collection/<name>/storage.sqlite` (qdrant_client/local/persistence.py), as pickles that
memtui counts and does not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from memtui.stores.format import Candidate, Detection, Format, Product
from memtui.stores.scanning import list_folder

HISTORY, STORAGE = "history.db", "storage.sqlite"
COLLECTIONS = "collection"
LIKELY = (HISTORY, STORAGE)
_MAX_COLLECTIONS = 20


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The database: this file, or one directly in this folder."""
    files = [path] if path.name in LIKELY else [path / name for name in LIKELY]
    for file in files:
        if os.path.isfile(file):
            from memtui.stores.mem0.store import is_mem0

            missing = "" if is_mem0(file) else "the tables of mem0 or of a local Qdrant"
            yield Candidate(file, file.name, missing)


def collections(_folder: Path, home: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """The collections of a Qdrant folder in mem0's own folder, and of the default `/tmp/qdrant`
    (mem0/configs/vector_stores/qdrant.py), where only what this user made counts."""
    own = variables.get("MEM0_DIR")
    for folder in (Path(own) if own else home / ".mem0", Path("/tmp")):
        for name in ("qdrant", "db", "."):
            for entry in list_folder(folder / name / COLLECTIONS)[0][:_MAX_COLLECTIONS]:
                with suppress(OSError):
                    if entry.stat().st_uid == os.getuid():
                        yield Path(entry.path)


FORMAT = Format(
    name="mem0",
    title="mem0: the history of its memories, and a local Qdrant (SQLite)",
    product=Product("mem0", "M0", 5),
    places=("$MEM0_DIR", "~/.mem0"),
    detect=detect,
    configured=collections,
    is_database=True,
)
