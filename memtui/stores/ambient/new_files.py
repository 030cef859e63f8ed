"""Files that Ambient would make for a new event, as it makes them: empty, then with the event.

The head of a file is written with its keys in Ambient's order (store.ts:99-106, 162-170).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memtui.changes import Edit, TextEdit
from memtui.errors import Refused
from memtui.files.reading import safe_join
from memtui.stores.ambient import layout
from memtui.stores.ambient.project_files import INDENT, ProjectFiles, stringified, task_key
from memtui.stores.ambient.reading import EVENTS
from memtui.stores.json_file import to_be_made


def project_head(key: str, name: str, origin: str, now: int) -> dict[str, Any]:
    """What project.json says before its events; `now` in milliseconds."""
    return {
        "projectKey": key,
        "projectName": name,
        "origin": origin,
        "createdAt": now,
        "lastActive": now,
    }


def branch_head(key: str, branch: str, now: int, *, archived: bool = False) -> dict[str, Any]:
    """What a branch's file says before its events; `key` is the project's."""
    return {
        "branchKey": task_key(branch),
        "branchName": branch,
        "projectKey": key,
        "createdAt": now,
        "lastActive": now,
        "archived": archived,
    }


def _made(path: Path, head: Mapping[str, Any], event: Mapping[str, Any] | None) -> list[Edit]:
    text = stringified({**head, "events": []})
    if event is None:
        return [TextEdit(str(path), None, text)]
    return [*to_be_made(path, EVENTS, text).insert(event, INDENT)]


def new_project_file(
    files: ProjectFiles, name: str, origin: str, event: Mapping[str, Any] | None, now: int
) -> list[Edit]:
    """The edits that make project.json, with its first event if there is one. Raises Refused."""
    path = safe_join(files.folder, layout.PROJECT)
    if os.path.lexists(path):
        raise Refused("project.json cannot be read, so it is not written", where=str(path))
    return _made(path, project_head(files.folder.name, name, origin, now), event)


def new_branch_file(
    files: ProjectFiles,
    branch: str,
    event: Mapping[str, Any],
    now: int,
    *,
    archived: bool = False,
) -> list[Edit]:
    """The edits that make a branch's file with its first event. Raises Refused."""
    key = task_key(branch)
    path = safe_join(files.folder / (layout.ARCHIVED if archived else layout.TASKS), f"{key}.json")
    for fault in files.unreadable:
        if fault.file == str(path):
            raise Refused(
                f"it cannot be read, so it is not written: {fault.reason}", where=str(path)
            )
    if not key or os.path.lexists(path):
        raise Refused(
            "the branch has no file of its own: another one's name is too much like its own",
            where=str(path),
        )
    return _made(path, branch_head(files.folder.name, branch, now, archived=archived), event)
