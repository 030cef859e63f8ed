"""What planning a change of Ambient starts from: its rules, the time files are marked with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memtui.files.reading import safe_join
from memtui.stores.ambient import layout
from memtui.stores.ambient.project_files import ProjectFiles, open_project
from memtui.stores.ambient.rules import Rules
from memtui.stores.desk import Desk
from memtui.stores.last_read import LastRead


@dataclass(frozen=True, slots=True)
class EventDesk(Desk):
    """One Ambient memory, while one change is planned."""

    rules: Rules
    marked_at: Callable[[datetime], int] = field(repr=False)
    keys: Callable[[], Mapping[str, str]] = field(repr=False)
    """Project directories by key, with the name each goes by as an entity."""
    last: LastRead[ProjectFiles] = field(repr=False)

    @property
    def milliseconds(self) -> int:
        """The time that files are marked with: the same for the plans of one action, so that two
        events added to a new branch make its file once, and many edits mark a file once."""
        return self.marked_at(self.now)

    def open(self, key: str) -> ProjectFiles:
        """A project's files as they are now. Raises Refused."""
        folder = safe_join(self.root / layout.PROJECTS, key)
        found, _ = layout.project_files(str(folder))
        files = found.files if found else ()
        return self.last.get(files, lambda: open_project(self.root, key), key)
