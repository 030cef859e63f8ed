"""Read the files of one project directory, each on its own: a bad one never hides the others."""

from __future__ import annotations

from pathlib import Path

from memtui.errors import UnreadableFile
from memtui.stores.ambient.events import EventFile, Project, event_file, project_of
from memtui.stores.base import Unreadable
from memtui.stores.json_file import named_records, read_json
from memtui.stores.unread import as_unreadable

EVENTS = ("events",)


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
        found.append(event_file(file, records))
    return project_of(root / key, found), faults
