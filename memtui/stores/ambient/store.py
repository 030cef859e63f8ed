"""One Ambient memory folder as a store: what to read, and how each project reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from memtui.changes import Act, Change, Edit, Plan, ValueEdit
from memtui.errors import Refused
from memtui.files.reading import stamp
from memtui.model import Memory
from memtui.stores.ambient import layout, planning
from memtui.stores.ambient.adding import Desk, plan_add
from memtui.stores.ambient.events import events
from memtui.stores.ambient.legacy import read_legacy
from memtui.stores.ambient.project_files import ProjectFiles
from memtui.stores.ambient.reading import read_project
from memtui.stores.ambient.rules import Rules
from memtui.stores.base import Reading, Recorder, Scan, Shard, Unreadable, View
from memtui.stores.json_file import LastRead
from memtui.stores.places import scan_of
from memtui.stores.sidecar import KEPT, SidecarReader, laid_over, read_kept
from memtui.stores.timestamps import to_milliseconds

RULES = Rules()
"""The program's own constants."""


ONE_ACTION = 60_000
"""Milliseconds within which plans count as those of one action."""


def _system_clock() -> datetime:
    return datetime.now(UTC)


class Ambient:
    """The memory of one `~/.ambient/memory`."""

    format = "ambient"

    def __init__(
        self,
        root: Path,
        label: str,
        now: Callable[[], datetime] = _system_clock,
        rules: Rules = RULES,
    ) -> None:
        self.root = root
        self.label = label
        self.now = now
        self.rules = rules
        self.sidecar = SidecarReader(root)
        self._marked = 0
        self._last: LastRead[ProjectFiles] = LastRead()
        self._names: dict[str, tuple[str, str]] = {}

    @property
    def read_only(self) -> str:
        return planning.writable(self.root)

    @property
    def editable(self) -> frozenset[str]:
        return planning.EDITABLE

    def scan(self) -> Scan:
        """A shard for each project directory and each legacy file."""
        found = (*layout.projects(self.root), *layout.legacy(self.root))
        return scan_of(self.root, self.sidecar.current(), found)

    def read(self, shard: Shard) -> Reading:
        """All events of a project, each once, or those of a legacy file."""
        if shard.key == KEPT:
            others = [other for other in self.scan().shards if other.key != KEPT]
            return read_kept(self.sidecar.current(), others, self.label)
        if not shard.key.startswith(f"{layout.PROJECTS}/"):
            reading = read_legacy(Path(shard.files[0]), self.root, self.label)
        else:
            project, faults = read_project(self.root, shard.key, shard.files)
            reading = Reading(tuple(events(project, self.label, self.now())), tuple(faults))
        memories = laid_over(reading.memories, self.sidecar.current(), shard.key, self.label)
        return Reading(memories, reading.unreadable)

    def refusal(self, act: Act, memory: Memory | None) -> str:
        """Why this act cannot be done; empty when it can."""
        return self.read_only or planning.refusal(act, memory)

    def plan(self, change: Change, view: View) -> Plan:
        """The exact edits of a change. Raises Refused, Conflict or RefError; writes nothing."""
        memory = None if change.act is Act.ADD else view.get(change.ref)
        why = self.refusal(change.act, memory)
        if why:
            raise Refused(why, where=change.ref or str(self.root))
        now = self.now()
        desk = Desk(
            root=self.root,
            label=self.label,
            sidecar=self.sidecar.current(),
            rules=self.rules,
            now=now,
            milliseconds=self._marked_at(to_milliseconds(now)),
            keys=self._project_names,
            last=self._last,
        )
        if change.act is Act.ADD:
            return plan_add(change, desk)
        return planning.plan_existing(change, desk, view)

    def apply(self, edits: Sequence[Edit], recorder: Recorder) -> None:
        """Make the edits. Raises Conflict or SaveError."""
        from memtui.files.commit import commit

        commit(_marked_once(edits), recorder)

    def _marked_at(self, now: int) -> int:
        """The time to mark files with: that of the plan before when it was made just now."""
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
            mark = stamp(own)
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
