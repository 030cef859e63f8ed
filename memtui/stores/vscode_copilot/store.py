"""The notes of Copilot in VS Code as a store, declared.

Each request has the first 200 lines of the person's notes, one file below the other with its name
as a heading; of the others it has the names, and Copilot opens what it needs.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from memtui.changes import Change
from memtui.errors import Refused
from memtui.stores.base import LoadedBlock, LoadedText, LoadLimit, ReadTime, StoreView
from memtui.stores.listed_texts import ListContext
from memtui.stores.markdown.list_folder import ListFolderStore, ListSource, support_of
from memtui.stores.scanning import read_object
from memtui.stores.values import utc_now
from memtui.stores.vscode_copilot import OF_USER, OF_WORKSPACE, WORKSPACES

USER = "user"
NEW_FILE = f"{OF_USER}/notes.md"
LIMIT = LoadLimit(lines=200, source="memoryContextPrompt.tsx: MAX_USER_MEMORY_LINES")
_LARGEST = 1 << 16
"""Bytes of a workspace.json that is read."""


class VsCodeCopilotStore(ListFolderStore):
    """One folder `User`."""

    format = "vscode-copilot"
    sources = (
        ListSource(f"{OF_USER}/*.md", USER, reads=ReadTime.AT_ONCE),
        ListSource(f"{WORKSPACES}/*/{OF_WORKSPACE}/repo/*.md", "workspace"),
        ListSource(f"{WORKSPACES}/*/{OF_WORKSPACE}/*/*.md", "session"),
    )

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
        self._workspaces = root / WORKSPACES

    def take_rules(self, other: VsCodeCopilotStore) -> None:
        """Name workspaces as this other store does; for a copy of some of its notes."""
        self._workspaces = other._workspaces

    def entity_of(self, path: str, section: str = "") -> str:  # noqa: ARG002
        """`user`, the folder of a workspace, and for a session its name behind it."""
        if path.startswith(f"{OF_USER}/"):
            return USER
        parts = PurePosixPath(path).parts
        own = read_object(self._workspaces / parts[1] / "workspace.json", _LARGEST)
        named = str(own.get("folder") or own.get("workspace") or "")
        entity = posixpath.basename(unquote(urlsplit(named).path).rstrip("/")) or parts[1]
        return entity if parts[-2] == "repo" else f"{entity}/session {parts[-2][:8]}"

    def place_new(self, change: Change, context: ListContext) -> tuple[str, str]:
        """A note of the person, or one of the files of a workspace."""
        entity = str(change.fields.get("entity") or USER).strip("/ ")
        if entity == USER:
            known = [path for path in self.list_files([]) if path.startswith(f"{OF_USER}/")]
            return (NEW_FILE if NEW_FILE in known or not known else known[0]), ""
        if entity not in map(self.entity_of, self.list_files([])):
            raise Refused("no workspace of this name has notes", where=entity, do=f"name {USER}")
        return super().place_new(change, context)

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The notes of the person."""
        block = LoadedBlock()
        for path in self.list_files([]):
            if path.startswith(f"{OF_USER}/"):
                for loaded in self.loaded_file(path, view, ""):
                    block.add(f"## {posixpath.basename(path)}\n")
                    at = len(block.text)
                    block.add(f"{loaded.text}\n")
                    block.entries += [
                        each._replace(start=at + each.start, end=at + each.end)
                        for each in loaded.entries
                    ]
        note = "the first 200 lines of the notes of the person"
        return [block.loaded("user memory", "", limit=LIMIT, note=note)] if block.text else []


SUPPORT = support_of(VsCodeCopilotStore, f"{WORKSPACES}/*/workspace.json")
