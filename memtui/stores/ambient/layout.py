"""Where Ambient keeps what: which folder is a store, and the files of each project.

Below `~/.ambient/memory` lie `projects/<16 hex>/project.json`, `tasks/<branch>.json` and
`archived/<branch>.json`, and from older versions `<hash>.json` files, which are renamed to
`*.json.migrated` once their content moved.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memtui.files.reading import TEMPORARY_MARK, reason
from memtui.stores.base import Unreadable

PROJECTS = "projects"
PROJECT = "project.json"
TASKS = "tasks"
ARCHIVED = "archived"
PROJECT_KEY = re.compile(r"[0-9a-f]{16}")
"""First 16 hex digits of a SHA-256 (src/memory/resolve.ts:31-32)."""
LEGACY = re.compile(r"[0-9a-f]{8,64}\.json")

_LOOKED_AT = 1000
"""Entries that are looked at to tell a store from another folder with `projects` in it."""
_OUTSIDE = "it is a symbolic link to a place outside the store"


def _holds_projects(folder: Path) -> bool:
    try:
        with os.scandir(folder / PROJECTS) as listing:
            for _, entry in zip(range(_LOOKED_AT), listing, strict=False):
                if PROJECT_KEY.fullmatch(entry.name) and entry.is_dir():
                    return True
    except (OSError, ValueError):
        return False
    return False


def _is_ambients_own(folder: Path) -> bool:
    """`.ambient/memory` itself, which may hold nothing but legacy files, or nothing yet."""
    return folder.name == "memory" and folder.parent.name == ".ambient" and os.path.isdir(folder)


def detect(path: Path) -> Path | None:
    """The folder with `projects/`, when this is it, its parent, or `projects` itself."""
    folders = [path, path / "memory", path / ".ambient" / "memory"]
    if path.name == PROJECTS:
        folders.append(path.parent)
    for folder in folders:
        if _holds_projects(folder) or _is_ambients_own(folder):
            return folder
    return None


@dataclass(frozen=True, slots=True)
class Found:
    """The files of one shard."""

    key: str
    """`projects/4d3a12e5f267cd60`, or `legacy/<hash>.json`."""
    files: tuple[str, ...]
    """project.json first, then the branches by name, then the archived ones."""


def _sorted_entries(folder: str | Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as listing:
        return sorted(listing, key=lambda entry: entry.name)


def _leads_into(path: str, folder: str | Path) -> bool:
    """Whether the link leads to a place in the folder; a circle of links leads to itself."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _branches(project: str, folder: str) -> tuple[list[str], list[Unreadable]]:
    """The branch files in `tasks` or `archived`."""
    path = os.path.join(project, folder)
    if not os.path.lexists(path):
        return [], []
    if os.path.islink(path) and not _leads_into(path, project):
        return [], [Unreadable(path, _OUTSIDE)]
    try:
        entries = _sorted_entries(path)
    except OSError as error:
        return [], [Unreadable(path, f"the folder cannot be listed: {reason(error)}")]
    found = (entry for entry in entries if entry.name.endswith(".json"))
    return [entry.path for entry in found if TEMPORARY_MARK not in entry.name], []


def project_files(folder: str) -> tuple[Found | None, list[Unreadable]]:
    """The files of one project directory, and what in it cannot be listed."""
    if not os.path.lexists(folder):
        return None, []
    if not os.access(folder, os.R_OK | os.X_OK):
        return None, [Unreadable(folder, "there is no permission to read this folder")]
    own = os.path.join(folder, PROJECT)
    files = [own] if os.path.lexists(own) else []
    faults: list[Unreadable] = []
    for part in (TASKS, ARCHIVED):
        branches, bad = _branches(folder, part)
        files += branches
        faults += bad
    found = Found(f"{PROJECTS}/{os.path.basename(folder)}", tuple(files)) if files else None
    return found, faults


def projects(root: Path) -> Iterator[Found | Unreadable]:
    """Every project folder that holds a file, with or without a project.json."""
    folder = root / PROJECTS
    if not os.path.lexists(folder):
        return
    try:
        entries = _sorted_entries(folder)
    except OSError as error:
        yield Unreadable(str(folder), f"the folder cannot be listed: {reason(error)}")
        return
    for entry in entries:
        if entry.name.startswith(".") or not entry.is_dir():
            continue
        if entry.is_symlink() and not _leads_into(entry.path, root):
            yield Unreadable(entry.path, _OUTSIDE)
            continue
        found, faults = project_files(entry.path)
        if found:
            yield found
        yield from faults


def legacy(root: Path) -> Iterator[Found | Unreadable]:
    """The files of the format before projects, those that were not migrated."""
    try:
        entries = _sorted_entries(root)
    except OSError as error:
        yield Unreadable(str(root), f"the folder cannot be listed: {reason(error)}")
        return
    for entry in entries:
        if LEGACY.fullmatch(entry.name):
            yield Found(f"legacy/{entry.name}", (entry.path,))
