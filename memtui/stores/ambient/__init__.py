"""Ambient (averyjennings): events per project and branch in JSON.

The package itself says where the files lie. Below `~/.ambient/memory` are
`projects/<16 hex>/project.json`, `tasks/<branch>.json` and `archived/<branch>.json`, and from older
versions `<hash>.json` files, which are renamed to `*.json.migrated` once their content moved.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memtui.files.reading import TEMPORARY_MARK
from memtui.stores.base import Unreadable
from memtui.stores.format import (
    Candidate,
    Detection,
    ExchangeDocument,
    ExportedDocument,
    ExportRequest,
    Format,
    IncomingStore,
    Product,
)
from memtui.stores.scanning import (
    LEADS_OUTSIDE,
    FoundShard,
    folders_in,
    has_entry,
    is_link_into,
    list_folder,
    unreadable_reason,
)

PROJECTS = "projects"
PROJECT = "project.json"
TASKS = "tasks"
ARCHIVED = "archived"
PROJECT_KEY = re.compile(r"[0-9a-f]{16}")
"""First 16 hex digits of a SHA-256 (src/memory/resolve.ts:31-32)."""
OLDER = re.compile(r"[0-9a-f]{8,64}\.json")

KEY_DIGITS = 16


def _is_default_place(folder: Path) -> bool:
    """Whether this is `.ambient/memory`, which may hold no project yet."""
    return folder.name == "memory" and folder.parent.name == ".ambient" and os.path.isdir(folder)


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder with `projects/` that this path is, holds, or is the `projects` folder of."""
    folders = [path, path / "memory", path / ".ambient" / "memory"]
    if path.name == PROJECTS:
        folders.append(path.parent)
    for folder in folders:
        if has_entry(
            folder / PROJECTS,
            lambda entry: bool(PROJECT_KEY.fullmatch(entry.name)) and entry.is_dir(),
        ):
            yield Candidate(folder, f"{PROJECTS}/ with a folder named by 16 hexadecimal digits")
        elif _is_default_place(folder):
            yield Candidate(folder, "Ambient's own place")


def key_of_name(name: str) -> str:
    """The key of a project of which only the name is known."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:KEY_DIGITS]


def shard_key(project: str) -> str:
    """Key of the shard of one project's files."""
    return f"{PROJECTS}/{project}"


def _branches(project: str, folder: str) -> tuple[list[str], list[Unreadable]]:
    """The branch files in `tasks` or `archived`."""
    path = os.path.join(project, folder)
    if not os.path.lexists(path):
        return [], []
    if os.path.islink(path) and not is_link_into(path, project):
        return [], [Unreadable(path, LEADS_OUTSIDE)]
    entries, faults = list_folder(path)
    found = (entry for entry in entries if entry.name.endswith(".json"))
    return [entry.path for entry in found if TEMPORARY_MARK not in entry.name], faults


def list_project_files(folder: str) -> tuple[FoundShard | None, list[Unreadable]]:
    """List the files of one project directory, and what in it cannot be listed.

    project.json comes first, then the branches by name, then the archived ones.
    """
    if not os.path.lexists(folder):
        return None, []
    why = unreadable_reason(folder)
    if why:
        return None, [Unreadable(folder, why)]
    own = os.path.join(folder, PROJECT)
    files = [own] if os.path.lexists(own) else []
    faults: list[Unreadable] = []
    for subfolder in (TASKS, ARCHIVED):
        branches, branch_faults = _branches(folder, subfolder)
        files += branches
        faults += branch_faults
    key = shard_key(os.path.basename(folder))
    return FoundShard(key, tuple(files)) if files else None, faults


def find_projects(root: Path) -> Iterator[FoundShard | Unreadable]:
    """Find every project folder that holds a file, with or without a project.json."""
    folder = root / PROJECTS
    if not os.path.lexists(folder):
        return
    for each in folders_in(folder, root):
        if isinstance(each, Unreadable):
            yield each
            continue
        found, faults = list_project_files(each.path)
        if found:
            yield found
        yield from faults


def older_files(root: Path) -> list[str]:
    """Names of the files of the format before projects that Ambient has not moved yet."""
    return [entry.name for entry in list_folder(root)[0] if OLDER.fullmatch(entry.name)]


def _export(request: ExportRequest) -> ExportedDocument:
    from memtui.stores.ambient.backup import export

    return export(request)


def _read(document: Mapping[str, Any]) -> IncomingStore:
    from memtui.stores.ambient.backup import read

    return read(document)


FORMAT = Format(
    name="ambient",
    title="Ambient: decisions and events per project and branch",
    product=Product("Ambient", "AB", 7),
    places=("~/.ambient/memory",),
    detect=detect,
    document=ExchangeDocument(
        description="the JSON that Ambient's own import reads",
        name="an Ambient backup",
        member="projects",
        export=_export,
        read=_read,
        holds_other_formats=True,
        unsupported_fields=(
            *("tags", "links", "supersedes", "superseded_by"),
            *("status", "pinned", "confidence", "extra"),
        ),
    ),
)
