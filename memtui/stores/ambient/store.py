"""One Ambient memory folder as a store: lists its projects and reads them.

The block of a project's and a branch's events for a prompt is built as `formatMemoryForPrompt` does
(src/memory/store.ts:197-227): the last events of project.json that are not low, then the last of
the branch, in the order of the files. A file that was idle for 90 days counts as absent. Times are
shown in the zone of `now`, as JavaScript does in the local one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from memtui.changes import Edit, Kind
from memtui.files.reading import file_stamp
from memtui.stores import ambient
from memtui.stores.ambient import editing
from memtui.stores.ambient.project_files import EventContext, EventRules, ProjectFiles
from memtui.stores.ambient.records import EventFile, Project, events, read_legacy, read_project
from memtui.stores.base import (
    LoadedEntry,
    LoadedText,
    Reading,
    Shard,
    StoreView,
    Unreadable,
    WriteRecorder,
)
from memtui.stores.file_store import FileStore
from memtui.stores.json_file import NamedRecord
from memtui.stores.scanning import FoundShard, LastRead
from memtui.stores.sidecar import Sidecar
from memtui.stores.values import from_milliseconds, text_of, to_milliseconds, utc_now

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

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        """Each project directory and each legacy file."""
        yield from ambient.find_projects(self.root)
        yield from ambient.find_legacy_files(self.root)

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:  # noqa: ARG002
        """All events of a project, each once, or those of a legacy file."""
        if not shard.key.startswith(f"{ambient.PROJECTS}/"):
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
        """The time written to files: that of the previous plan if it was made just now."""
        now = to_milliseconds(time)
        if not 0 <= now - self._marked < ONE_ACTION:
            self._marked = now
        return self._marked

    def _project_names(self) -> dict[str, str]:
        """The name of each project directory; project.json is read again only when it changed."""
        names: dict[str, str] = {}
        for found in ambient.find_projects(self.root):
            if isinstance(found, Unreadable):
                continue
            key = found.key.removeprefix(f"{ambient.PROJECTS}/")
            own = [file for file in found.files if file.endswith(f"/{ambient.PROJECT}")][:1]
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
    marked: set[Edit] = set()
    found: list[Edit] = []
    for edit in edits:
        if edit.kind is Kind.COUNTER:
            if edit in marked:
                continue
            marked.add(edit)
        found.append(edit)
    return found


PROJECT_EVENTS = 10
"""Events of project.json that are taken, without low ones (store.ts:207)."""
TASK_EVENTS = 15
"""Events of the branch that are taken (store.ts:218)."""
LOADED = (
    f"the last {PROJECT_EVENTS} events of the project that are not low and the last {TASK_EVENTS} "
    "of the branch (src/memory/store.ts:197)"
)


def session_blocks(root: Path, label: str, entity: str, now: datetime) -> Iterator[LoadedText]:
    """The block of each project and branch.

    Args:
        root: The store's root.
        label: The store's label, the first part of every ref.
        entity: `project/branch`, or a project for all its branches; empty for all.
        now: The time of the session, in the zone in which times are shown.
    """
    for found in ambient.find_projects(root):
        if isinstance(found, Unreadable):
            continue
        project, _ = read_project(root, found.key, found.files)
        names = (project.path, project.key)
        rest = next((entity[len(n) :] for n in names if f"{entity}/".startswith(f"{n}/")), None)
        if entity and rest is None:
            continue
        files: Sequence[EventFile | None] = [
            f for f in project.branches if not rest or rest == f"/{f.branch}"
        ]
        for branch in files or (None,):
            block = _block(project, branch, label, now)
            if block is not None:
                yield block


def _block(
    project: Project, branch: EventFile | None, label: str, now: datetime
) -> LoadedText | None:
    own = project.own
    text = ""
    entries: list[LoadedEntry] = []

    def add(heading: str, records: Sequence[NamedRecord]) -> None:
        nonlocal text
        text += heading
        for record in records:
            line = f"\n- {text_of(record.value.get('content'))}"
            line += f" ({text_of(record.value.get('type'))}, {_age(record, now)})"
            entries.append(
                LoadedEntry(f"{label}:{record.id}", len(text) + 1, len(text) + len(line))
            )
            text += line

    if own is not None and _is_unexpired(own, now) and own.records:
        shown = [r for r in own.records if r.value.get("importance") != "low"]
        add(f"[Project: {project.name}]", shown[-PROJECT_EVENTS:])
    if branch is not None and _is_unexpired(branch, now) and branch.records:
        add(f"{chr(10) * 2 if text else ''}[Task: {branch.branch}]", branch.records[-TASK_EVENTS:])
    if not text:
        return None
    title = project.path if branch is None else f"{project.path}/{branch.branch}"
    file = "" if own is None else str(own.file.path)
    return LoadedText(title, text, file, entries=tuple(entries), is_of_entity=True, note=LOADED)


def _is_unexpired(file: EventFile, now: datetime) -> bool:
    return file.expires is None or file.expires >= now


def _age(record: NamedRecord, now: datetime) -> str:
    """As `formatTimeAgo` (store.ts:964): minutes, hours, or from a day on the date."""
    time = from_milliseconds(record.value.get("timestamp"))
    if time is None:
        return "Invalid Date Invalid Date"
    minutes = (now - time) // timedelta(minutes=1)
    if minutes < 60:
        return f"{minutes}m ago"
    if minutes < 24 * 60:
        return f"{minutes // 60}h ago"
    local = time.astimezone(now.tzinfo)
    suffix = "AM" if local.hour < 12 else "PM"
    clock = f"{local.hour % 12 or 12}:{local:%M} {suffix}"
    return f"{_MONTHS[local.month - 1]} {local.day} {clock}"


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
