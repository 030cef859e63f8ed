"""One project directory as it is at this moment: what planning a change starts from.

Whatever is done to an event is done in every file that holds its id. Left in one of them, the old
text would come back: on a merge Ambient copies it from there into project.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import Edit, ValueEdit
from memtui.errors import Conflict
from memtui.files.json.editing import raw_value
from memtui.files.reading import safe_join
from memtui.model import Memory
from memtui.stores.ambient import layout
from memtui.stores.ambient.events import Copy, EventFile, Project, copies_by_id
from memtui.stores.ambient.reading import read_project
from memtui.stores.base import Unreadable

INDENT = "    "
"""What stands before an event: two levels of JSON.stringify(x, null, 2)."""
LONGEST_KEY = 100
"""Letters of a branch's file name (src/memory/resolve.ts:75-84)."""
_NO_KEY = re.compile(r"[^A-Za-z0-9._-]")


def task_key(branch: str) -> str:
    """The file name that Ambient gives a branch (src/memory/resolve.ts:75-84)."""
    return _NO_KEY.sub("", branch.replace("/", "--"))[:LONGEST_KEY]


def stringified(value: Mapping[str, Any]) -> str:
    """What JSON.stringify(value, null, 2) gives: no final newline, half characters as escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The files of one project."""

    folder: Path
    project: Project
    unreadable: tuple[Unreadable, ...]
    by_id: Mapping[str, list[Copy]] = field(repr=False)
    """Every event with all places that hold it."""

    @property
    def shard(self) -> str:
        return layout.shard_key(self.folder.name)

    @property
    def own(self) -> EventFile | None:
        """project.json, where there is one that can be read."""
        return next((file for file in self.project.files if file.is_project), None)

    @property
    def branches(self) -> tuple[EventFile, ...]:
        """The branches that are not archived."""
        return tuple(f for f in self.project.files if not f.is_project and not f.is_archived)

    def branch(self, name: str) -> EventFile | None:
        return next((file for file in self.branches if file.branch == name), None)

    def copies(self, id: str) -> list[Copy]:
        """Every place that holds the id. Raises Conflict when there is none any more."""
        found = self.by_id.get(id)
        if not found:
            raise Conflict("another program removed this event", where=str(self.folder))
        return found

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(
            f"{fault.file} cannot be read ({fault.reason}): a copy in it stays as it is"
            for fault in self.unreadable
        )


def open_project(root: Path, key: str) -> ProjectFiles:
    """Read a project's files for a change."""
    folder = safe_join(root / layout.PROJECTS, key)
    found, faults = layout.project_files(str(folder))
    project, bad = read_project(root, layout.shard_key(key), found.files if found else ())
    whole = [fault for fault in bad if not _is_one_record(fault, project)]
    return ProjectFiles(folder, project, (*faults, *whole), copies_by_id(project))


def _is_one_record(fault: Unreadable, project: Project) -> bool:
    return any(str(file.file.path) == fault.file for file in project.files)


def shard_of(memory: Memory) -> str:
    """Key of the shard that holds the memory."""
    return layout.shard_key(key_of(memory))


def key_of(memory: Memory) -> str:
    """The project directory a memory lies or lay in."""
    return str(memory.extra.get("projectKey") or "")


def insert_into(file: EventFile, value: Mapping[str, Any]) -> tuple[Edit, ...]:
    """Put an event at the end of a file, where Ambient pushes it."""
    return file.file.insert(value, INDENT)


def revived(files: Iterable[EventFile], now: datetime) -> tuple[str, ...]:
    """A warning for each file that Ambient no longer read and will read again once it is active."""
    return tuple(
        f"{file.file.path.name} was idle for 90 days: Ambient will read all of it again"
        for file in files
        if file.expires is not None and file.expires < now and not file.is_archived
    )


def touched(files: Iterable[EventFile], now: int) -> tuple[Edit, ...]:
    """`lastActive` of these files set to now, as Ambient does on an add or an edit.

    A file without it is left so, and an archived one keeps the time it was archived with.
    """
    edits: list[Edit] = []
    for file in files:
        if "lastActive" in file.file.top and not file.is_archived:
            before = raw_value(file.file.text, ("lastActive",))
            path = str(file.file.path)
            edits.append(ValueEdit(path, ("lastActive",), before, str(now), book_keeping=True))
    return tuple(edits)
