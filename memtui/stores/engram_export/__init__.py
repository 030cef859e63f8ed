"""What `engram sync` exports into a project, to be committed: chunks of observations, read only.

`.engram/manifest.json` lists the chunks, `.engram/chunks/<first 8 hex digits of a hash>.jsonl.gz`
holds each as one compressed JSON object (internal/sync/sync.go of Engram 1.7 and later).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memtui.stores.engram import DATABASE
from memtui.stores.format import Candidate, Detection, Format, Product, not_its_own
from memtui.stores.scanning import read_object

FOLDER, MANIFEST, CHUNKS = ".engram", "manifest.json", "chunks"
_LARGEST_MANIFEST = 4 << 20
"""Bytes; a chunk takes some 150."""


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder of the manifest: this one, or its `.engram`.

    Beside a database it is no store of its own: it says a part of the same.
    """
    for folder in (path, path / FOLDER):
        if os.path.isdir(folder / CHUNKS) and os.path.isfile(folder / MANIFEST):
            missing = "" if isinstance(manifest(folder).get("chunks"), list) else "a list of chunks"
            if os.path.isfile(folder / DATABASE):
                missing = not_its_own(f"it is part of {DATABASE} beside it")
            yield Candidate(folder, f"{MANIFEST}, {CHUNKS}", missing)


def manifest(root: Path) -> dict[str, object]:
    """The members of a manifest; {} if there is none. Never raises."""
    return read_object(root / MANIFEST, _LARGEST_MANIFEST, root)


FORMAT = Format(
    name="engram-export",
    title="Engram export: the chunks that `engram sync` commits",
    product=Product("Engram export", "EX", 6),
    places=(),
    detect=detect,
    nearby=(".", FOLDER),
)
