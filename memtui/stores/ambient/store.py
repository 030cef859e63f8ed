"""One Ambient memory folder as a store: what to read, and how each project reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from memtui.changes import Edit, ValueEdit
from memtui.files.reading import file_stamp
from memtui.stores.ambient import editing, layout
from memtui.stores.ambient.project_files import EventContext, EventRules, ProjectFiles
from memtui.stores.ambient.records import events, read_legacy, read_project
from memtui.stores.ambient.session_block import session_blocks
from memtui.stores.base import Reading, Shard, StoreView, Unreadable, WriteRecorder
from memtui.stores.file_store import FileStore
from memtui.stores.scanning import FoundShard, LastRead
from memtui.stores.session_start import LoadedText
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import to_milliseconds, utc_now

ONE_ACTION = 60_000
"""Milliseconds within which plans count as those of one action."""


class Ambient(FileStore[EventContext]):
    """The memory of one `~/.ambient/memory`."""

    format = "ambient"
    acts = editing.ACTS
    rules = EventRules()
    """The program's own constants."""

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
        self._marked = 0
        self._last: LastRead[ProjectFiles] = LastRead()
        self._names: dict[str, tuple[str, str]] = {}

    def found(self) -> Iterator[FoundShard | Unreadable]:
        """Each project directory and each legacy file."""
        yield from layout.projects(self.root)
        yield from layout.legacy(self.root)

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:  # noqa: ARG002
        """All events of a project, each once, or those of a legacy file."""
        if not shard.key.startswith(f"{layout.PROJECTS}/"):
            return read_legacy(Path(shard.files[0]), self.root, self.label)
        project, faults = read_project(self.root, shard.key, shard.files)
        return Reading(tuple(events(project, self.label, self.now())), tuple(faults))

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The block of the project and branch, or of each, read from the files as Ambient does."""
        return tuple(session_blocks(self.root, self.label, entity, now))

    def plan_context(self, view: StoreView) -> EventContext:
        return EventContext(
            **self.context_fields(view),
            rules=self.rules,
            action_time=self._marked_at,
            keys=self._project_names,
            last=self._last,
        )

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> None:
        """Make the edits. Raises Conflict or SaveError."""
        super().apply(_marked_once(edits), recorder)

    def _marked_at(self, time: datetime) -> int:
        """The time to mark files with: that of the plan before when it was made just now."""
        now = to_milliseconds(time)
        if not 0 <= now - self._marked < ONE_ACTION:
            self._marked = now
        return self._marked

    def _project_names(self) -> dict[str, str]:
        """What each project directory goes by; project.json is read again only when it changed."""
        names: dict[str, str] = {}
        for found in layout.projects(self.root):
            if isinstance(found, Unreadable):
                continue
            key = found.key.removeprefix(f"{layout.PROJECTS}/")
            own = [file for file in found.files if file.endswith(f"/{layout.PROJECT}")][:1]
            mark = file_stamp(own)
            known = self._names.get(key)
            if known is None or known[0] != mark:
                project, _ = read_project(self.root, found.key, tuple(own))
                known = (mark, project.path)
                self._names[key] = known
            names[key] = known[1]
        return names


def _marked_once(edits: Sequence[Edit]) -> list[Edit]:
    """The edits with each `lastActive` set once: many changes of one action all ask for it."""
    seen: set[ValueEdit] = set()
    found: list[Edit] = []
    for edit in edits:
        if isinstance(edit, ValueEdit):
            if edit in seen:
                continue
            seen.add(edit)
        found.append(edit)
    return found
