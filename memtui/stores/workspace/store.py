"""A gptme workspace as a store: every Markdown document is a shard of its own.

A document is read again when its file changes, and when what lies outside it changes what is said
of it: its type by path, its usage in the log, memtui's own notes on it. So a new line in the log or
a new rule in the type map costs only the documents it is about. The task rules look into the
documents, which a scan does not; for documents under `tasks/` any change of the map counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memtui.changes import Act, Change, Edit, Plan
from memtui.errors import Refused, UnreadableFile
from memtui.files.reading import decode, read_bytes
from memtui.files.sidecar_lines import sidecar_path
from memtui.model import Memory
from memtui.stores.base import Reading, Recorder, Scan, Shard, Unreadable, View
from memtui.stores.json_file import unreadable
from memtui.stores.sidecar import Sidecar, SidecarReader, laid_over
from memtui.stores.workspace import injections, planning, type_map
from memtui.stores.workspace.desk import Desk
from memtui.stores.workspace.documents import memory_of, take_apart
from memtui.stores.workspace.injections import LOG_PATH, Log, Usage
from memtui.stores.workspace.planning import EDITABLE
from memtui.stores.workspace.remembered import Parsed, Remembered
from memtui.stores.workspace.type_map import MAP_PATH, TypeMap
from memtui.stores.workspace.walking import SUFFIX, documents


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What lies outside the documents and is said of them, as one scan found it."""

    types: Parsed[TypeMap]
    log: Parsed[Log]
    sidecar: Sidecar


def _system_clock() -> datetime:
    return datetime.now(UTC)


class WorkspaceStore:
    """One workspace."""

    format = "workspace"

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = _system_clock) -> None:
        self.root = root
        self.label = label
        self.now = now
        self._sidecar = SidecarReader(root)
        self._map = Remembered(root / MAP_PATH, root, type_map.parse, type_map.EMPTY)
        self._log = Remembered(root / LOG_PATH, root, injections.parse, injections.EMPTY)
        self._around: _Surroundings | None = None
        self._paths: tuple[str, ...] = ()
        self._marked_by: Parsed[TypeMap] | None = None
        self._marks: dict[str, str] = {}
        self._stems: dict[str, str] | None = None

    @property
    def read_only(self) -> str:
        """Why nothing can be written here; empty when it can."""
        return "" if os.access(self.root, os.W_OK) else "there is no permission to write here"

    @property
    def editable(self) -> frozenset[str]:
        """The fields that EDIT can change."""
        return EDITABLE

    def refusal(self, act: Act, memory: Memory | None) -> str:
        """Why this act cannot be done on this document; empty when it can."""
        return self.read_only or planning.refusal(act, memory)

    def plan(self, change: Change, view: View) -> Plan:
        """The exact edits. Raises Refused, RefError or Conflict."""
        if self.read_only:
            raise Refused(self.read_only, where=str(self.root))
        desk = Desk(
            root=self.root,
            label=self.label,
            sidecar=self._sidecar.current(),
            types=self._map.current(),
            map_path=self._map.path,
            now=self.now,
        )
        return planning.plan(change, desk, view)

    def apply(self, edits: Sequence[Edit], recorder: Recorder) -> None:
        """Make the edits. Raises Conflict or SaveError."""
        from memtui.files.commit import commit

        commit(edits, recorder)

    def scan(self) -> Scan:
        """A shard for each document, by one stat each."""
        around = self._look_around()
        faults = self._faults(around)
        usage, sidecar = around.log.value.usage, around.sidecar
        type_marks = self._type_marks(around.types)
        shards = []
        for found in documents(self.root, faults):
            path = found.path
            type_mark = type_marks.get(path)
            if type_mark is None:
                type_mark = type_marks[path] = _type_mark(around.types, path)
            stamp = f"{found.mark}|{type_mark}|{_usage_mark(usage.get(path))}"
            if sidecar.entries:
                stamp += f"|{sidecar.mark(path)}"
            shards.append(Shard(path, (found.file,), stamp))
        paths = tuple(shard.key for shard in shards)
        if paths != self._paths:
            self._paths, self._stems = paths, None
        return Scan(tuple(shards), tuple(faults))

    def _type_marks(self, types: Parsed[TypeMap]) -> dict[str, str]:
        """What the map says of each path, worked out once for each version of the map."""
        if self._marked_by is not types:
            self._marked_by, self._marks = types, {}
        return self._marks

    def _look_around(self) -> _Surroundings:
        now = _Surroundings(self._map.current(), self._log.current(), self._sidecar.current())
        self._around = now
        return now

    def _faults(self, around: _Surroundings) -> list[Unreadable]:
        types, log = around.types, around.log
        map_faults = [types.fault] if types.fault else list(types.value.faults)
        faults = [Unreadable(str(self._map.path), fault) for fault in map_faults]
        log_fault = log.fault or log.value.fault
        if log_fault:
            faults.append(Unreadable(str(self._log.path), log_fault))
        if around.sidecar.fault:
            faults.append(Unreadable(str(sidecar_path(self.root)), around.sidecar.fault))
        return faults

    def read(self, shard: Shard) -> Reading:
        """One document, and what only the sidecar keeps of it."""
        around = self._around or self._look_around()
        path = Path(shard.files[0])
        try:
            text = decode(read_bytes(path, self.root))
        except UnreadableFile as error:
            return Reading((), (unreadable(error, path),))
        document = take_apart(shard.key, str(path), text, _time_of_change(path))
        usage = around.log.value.usage.get(shard.key)
        entry = around.sidecar.entry(shard.key)
        memory = memory_of(
            document,
            around.types.value.of(shard.key, document.frontmatter),
            label=self.label,
            by_stem=self._by_stem,
            injections=usage.record() if usage else None,
            rating=entry.get("rating"),
        )
        if not around.sidecar.entries:
            return Reading((memory,))
        return Reading(laid_over((memory,), around.sidecar, shard.key, self.label))

    def _by_stem(self, stem: str) -> str:
        """The one document whose file name has this stem; empty when none or several have it."""
        if self._stems is None:
            self._stems = _stems(self._paths)
        return self._stems.get(stem, "")


def _stems(paths: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in paths:
        stem = path.rpartition("/")[2].removesuffix(SUFFIX)
        found[stem] = "" if stem in found else path
    return found


def _type_mark(types: Parsed[TypeMap], path: str) -> str:
    if path.startswith(type_map.TASKS):
        return types.digest
    ruling = types.value.by_path(path)
    return f"{ruling.type} {ruling.ignored}" if ruling.type or ruling.ignored else ""


def _usage_mark(usage: Usage | None) -> str:
    return f"{usage.found} {usage.injected} {usage.last}" if usage else ""


def _time_of_change(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, OverflowError, ValueError):
        return None
