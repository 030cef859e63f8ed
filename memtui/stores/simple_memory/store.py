"""A Simple Memory on disk: where it is, what it holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from memtui.changes import Act, Change, Edit, Plan
from memtui.errors import Refused
from memtui.files.reading import stamp
from memtui.files.sidecar_lines import sidecar_path
from memtui.model import Memory
from memtui.stores.base import Reading, Recorder, Scan, Shard, Unreadable, View
from memtui.stores.sidecar import SidecarReader
from memtui.stores.simple_memory import planning, reading
from memtui.stores.simple_memory.editing import EDITABLE
from memtui.stores.simple_memory.records import PARTS
from memtui.stores.simple_memory.targets import Desk

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


def _system_clock() -> datetime:
    return datetime.now(UTC)


class SimpleMemoryStore:
    """Facts, episodes and schema items in three JSON arrays of one folder."""

    format = "simple-memory"

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = _system_clock) -> None:
        self.root = root
        self.label = label
        self.now = now
        self._sidecar = SidecarReader(root)

    @property
    def read_only(self) -> str:
        """Why nothing can be written here; empty when it can."""
        return "" if os.access(self.root, os.W_OK) else "there is no permission to write here"

    @property
    def editable(self) -> frozenset[str]:
        """The fields that EDIT can change."""
        return EDITABLE

    def refusal(self, act: Act, memory: Memory | None) -> str:
        """Why this act cannot be done on this memory; empty when it can."""
        return self.read_only or planning.refusal(act, memory)

    def plan(self, change: Change, view: View) -> Plan:
        """The exact edits. Raises Refused, RefError or Conflict."""
        if self.read_only:
            raise Refused(self.read_only, where=str(self.root))
        sidecar = self._sidecar.current()
        return planning.plan(change, Desk(self.root, self.label, sidecar, view, self.now))

    def apply(self, edits: Sequence[Edit], recorder: Recorder) -> None:
        """Make the edits. Raises Conflict or SaveError."""
        from memtui.files.commit import commit

        commit(edits, recorder)

    def scan(self) -> Scan:
        """One shard: the records refer to each other across the files."""
        paths = [self.root / part.file for part in PARTS]
        files = tuple(str(path) for path in paths if os.path.lexists(path))
        sidecar = self._sidecar.current()
        mark = stamp(paths) + sidecar.mark(reading.SHARD)
        faults: tuple[Unreadable, ...] = ()
        if sidecar.fault:
            faults = (Unreadable(str(sidecar_path(self.root)), sidecar.fault),)
        return Scan((Shard(reading.SHARD, files, mark),), faults)

    def read(self, shard: Shard) -> Reading:  # noqa: ARG002
        """All memories of the store: there is only the one shard."""
        return reading.read(self.root, self.label, self._sidecar.current())
