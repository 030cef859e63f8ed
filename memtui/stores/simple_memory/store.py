"""A Simple Memory on disk: where it is, what it holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from memtui.stores import timestamps
from memtui.stores.base import Reading, Shard, View
from memtui.stores.file_store import FileStore
from memtui.stores.last_read import LastRead
from memtui.stores.scanning import Found
from memtui.stores.sidecar import Sidecar
from memtui.stores.simple_memory import planning, reading
from memtui.stores.simple_memory.records import PARTS
from memtui.stores.simple_memory.targets import PartFile, RecordDesk

FEWEST_FILES = 2
"""Of the three files: one alone, such as `schema.json`, is too common a name to go by."""


def detect(path: Path) -> Path | None:
    """The folder that holds the files, when this is it, or one of its files."""
    names = {part.file for part in PARTS}
    folder = path.parent if path.name in names and os.path.isfile(path) else path
    there = [name for name in names if os.path.isfile(folder / name)]
    if len(there) < FEWEST_FILES or not all(_is_array(folder / name) for name in there):
        return None
    return folder


def _is_array(path: Path) -> bool:
    """Does the file begin as a JSON array? An empty or unreadable one is given the benefit."""
    try:
        with open(path, "rb") as file:
            head = file.read(4_096).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError:
        return True
    return not head or head.startswith(b"[")


class SimpleMemoryStore(FileStore[RecordDesk]):
    """Facts, episodes and schema items in three JSON arrays of one folder."""

    format = "simple-memory"
    acts = planning.ACTS

    def __init__(
        self, root: Path, label: str, now: Callable[[], datetime] = timestamps.now
    ) -> None:
        super().__init__(root, label, now)
        self._last: LastRead[PartFile] = LastRead()

    def found(self) -> list[Found]:
        """All files together: the records refer to each other across them."""
        paths = (str(self.root / part.file) for part in PARTS)
        return [Found(reading.SHARD, tuple(path for path in paths if os.path.lexists(path)))]

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:  # noqa: ARG002
        """All memories of the store: there is only the one shard."""
        return reading.read(self.root, self.label, sidecar)

    def desk(self, view: View) -> RecordDesk:
        return RecordDesk(*self.held(view), self._last)
