"""One Ambient memory folder as a store: what to read, and how each project reads."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from memtui.errors import UnreadableFile
from memtui.files.reading import stamp
from memtui.stores.ambient import layout
from memtui.stores.ambient.events import EventFile, Project, events, project_of
from memtui.stores.ambient.legacy import read_legacy
from memtui.stores.base import Reading, Scan, Shard, Unreadable
from memtui.stores.json_file import named_records, read_json
from memtui.stores.json_file import unreadable as as_unreadable
from memtui.stores.sidecar import SidecarReader, laid_over

EVENTS = ("events",)


def _system_clock() -> datetime:
    return datetime.now(UTC)


class Ambient:
    """The memory of one `~/.ambient/memory`."""

    format = "ambient"

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = _system_clock) -> None:
        self.root = root
        self.label = label
        self.now = now
        self.sidecar = SidecarReader(root)

    def scan(self) -> Scan:
        """A shard for each project directory and each legacy file."""
        sidecar = self.sidecar.current()
        shards: list[Shard] = []
        faults: list[Unreadable] = []
        for found in (*layout.projects(self.root), *layout.legacy(self.root)):
            if isinstance(found, Unreadable):
                faults.append(found)
            else:
                mark = stamp(found.files) + sidecar.mark(found.key)
                shards.append(Shard(found.key, found.files, mark))
        return Scan(tuple(shards), tuple(faults))

    def read(self, shard: Shard) -> Reading:
        """All events of a project, each once, or those of a legacy file."""
        if not shard.key.startswith(f"{layout.PROJECTS}/"):
            reading = read_legacy(Path(shard.files[0]), self.root, self.label)
        else:
            project, faults = read_project(self.root, shard.key, shard.files)
            reading = Reading(tuple(events(project, self.label, self.now())), tuple(faults))
        memories = laid_over(reading.memories, self.sidecar.current(), shard.key, self.label)
        return Reading(memories, reading.unreadable)


def read_project(root: Path, key: str, files: tuple[str, ...]) -> tuple[Project, list[Unreadable]]:
    """A project directory's files, and what in them could not be read."""
    found: list[EventFile] = []
    faults: list[Unreadable] = []
    for name in files:
        path = Path(name)
        try:
            file = read_json(path, root, EVENTS)
        except UnreadableFile as error:
            faults.append(as_unreadable(error, path))
            continue
        records, bad = named_records(file, key)
        faults += bad
        found.append(EventFile(file, records))
    return project_of(root / key, found), faults
