"""Events of Ambient as memories.

A high event is written to project.json and to its branch's file under one id: that is one memory in
two places. Where it lies is the first of project.json, the branches by name, the archived branches;
`also` holds the others, and where a copy says something else, `extra["differs"]` holds its text.

The entity is `project/branch`, or the project alone for what project.json holds; where several
files hold an event, `also_entities` has the others. A project whose project.json is missing goes
by the first 8 digits of its key. Importance is native. An event that
only archived branches hold is tagged `archived`; it is still active. `extra["expires"]` says when
Ambient stops reading the file (90 days after its last activity), `extra["expired"]` that it did.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memtui.changes import Edit
from memtui.dataclass import dataclass, field
from memtui.errors import UnreadableFile
from memtui.files.json.locating import load
from memtui.files.reading import decode, read_bytes
from memtui.model import IMPORTANCES, Memory, Place
from memtui.stores import ambient
from memtui.stores.base import Reading, Unreadable
from memtui.stores.json_file import JsonFile, NamedRecord, named_records, read_json
from memtui.stores.scanning import as_unreadable
from memtui.stores.values import UNADDRESSABLE, from_milliseconds, list_of, memory_name, text_of

IDLE_LIMIT = timedelta(days=90)
"""After this long without activity a file loads as nothing (src/memory/store.ts:799-850)."""
ARCHIVED_TAG = "archived"
SHORT_KEY = 8
"""Digits of the project key that stand for a project without a name."""

_SHOWN_IN_FIELDS = frozenset({"id", "type", "content", "importance"})


@dataclass(frozen=True, slots=True)
class EventFile:
    """One project.json or branch file, and its valid records."""

    file: JsonFile
    records: list[NamedRecord] = field(repr=False)
    is_project: bool
    is_archived: bool
    branch: str
    """The branch's own name, since its file name cannot be turned back into it; empty for
    project.json."""
    expires: datetime | None
    """When Ambient stops reading the file; None when it does not say when it was last active."""


def event_file(file: JsonFile, records: list[NamedRecord]) -> EventFile:
    """Read the members of a file that apply to all its events."""
    folder = file.path.parent.name
    in_branch = folder in (ambient.TASKS, ambient.ARCHIVED)
    is_project = file.path.name == ambient.PROJECT and not in_branch
    name = file.top.get("branchName")
    branch = name if isinstance(name, str) and name else file.path.stem
    return EventFile(
        file=file,
        records=records,
        is_project=is_project,
        is_archived=folder == ambient.ARCHIVED or file.top.get("archived") is True,
        branch="" if is_project else branch,
        expires=_end(from_milliseconds(file.top.get("lastActive"))),
    )


def _end(last_active: datetime | None) -> datetime | None:
    try:
        return None if last_active is None else last_active + IDLE_LIMIT
    except OverflowError:
        return None


@dataclass(frozen=True, slots=True)
class Project:
    """One project directory."""

    key: str
    name: str
    """Empty when there is no project.json, or it does not say."""
    remote: str
    files: tuple[EventFile, ...]

    @property
    def path(self) -> str:
        """The project's name as an entity."""
        return self.name or self.key[:SHORT_KEY]

    @property
    def own(self) -> EventFile | None:
        """project.json, if it can be read."""
        return next((file for file in self.files if file.is_project), None)

    @property
    def branches(self) -> tuple[EventFile, ...]:
        """The branches that are not archived."""
        return tuple(f for f in self.files if not f.is_project and not f.is_archived)


def project_of(folder: Path, files: Iterable[EventFile]) -> Project:
    """The project that these files belong to."""
    files = tuple(files)
    top: Mapping[str, Any] = next((f.file.top for f in files if f.is_project), {})
    name, remote = top.get("projectName"), top.get("origin")
    return Project(
        key=folder.name,
        name=name if isinstance(name, str) else "",
        remote=remote if isinstance(remote, str) else "",
        files=files,
    )


@dataclass(frozen=True, slots=True)
class EventCopy:
    """An event's record in one file."""

    where: EventFile
    named: NamedRecord

    @property
    def place(self) -> Place:
        return Place(
            str(self.where.file.path), self.named.record.line, self.where.file.key(self.named.index)
        )

    def set(self, after: str | None) -> Edit:
        """The edit that gives this copy another text, or removes it."""
        return self.where.file.edit(self.named, after)


def copies_by_id(project: Project) -> dict[str, list[EventCopy]]:
    """Group the records of the project by event id, in reading order."""
    found: dict[str, list[EventCopy]] = {}
    for where in project.files:
        for named in where.records:
            found.setdefault(named.id, []).append(EventCopy(where, named))
    return found


def importance(value: object) -> str:
    """The importance in the record; medium for a word that Ambient does not know."""
    return value if isinstance(value, str) and value in IMPORTANCES else "medium"


def _differences(first: EventCopy, others: Iterable[EventCopy]) -> list[dict[str, Any]]:
    """The keys of other copies that differ from the first, with the file of each."""
    found = []
    first_value = first.named.value
    for copy in others:
        copy_value = copy.named.value
        keys = [
            key
            for key in {**first_value, **copy_value}
            if first_value.get(key) != copy_value.get(key)
        ]
        if keys:
            other_values = {key: copy_value.get(key) for key in keys}
            found.append({"file": str(copy.where.file.path), **other_values})
    return found


def _expiry(copies: Iterable[EventCopy], now: datetime) -> dict[str, Any]:
    """When Ambient stops reading the last of the files that hold the event."""
    ends = [copy.where.expires for copy in copies]
    known = [end for end in ends if end is not None]
    if not known or len(known) < len(ends):
        return {}
    end = max(known)
    extra: dict[str, Any] = {"expires": end.isoformat().replace("+00:00", "Z")}
    return {**extra, "expired": True} if end < now else extra


def _extra(project: Project, copies: list[EventCopy], now: datetime) -> dict[str, Any]:
    value = copies[0].named.value
    extra = {key: item for key, item in value.items() if key not in _SHOWN_IN_FIELDS}
    for key in ("id", "type", "content"):
        if value.get(key) is not None and not isinstance(value[key], str):
            extra[key] = value[key]
    if value.get("importance") not in IMPORTANCES and "importance" in value:
        extra["importance"] = value["importance"]
    extra["projectKey"] = project.key
    if project.remote:
        extra["remote"] = project.remote
    branches = [copy.where.branch for copy in copies if not copy.where.is_project]
    if branches:
        extra["branches"] = list(dict.fromkeys(branches))
    differs = _differences(copies[0], copies[1:])
    if differs:
        extra["differs"] = differs
    fault = _fault(copies)
    if fault:
        extra[UNADDRESSABLE] = fault
    return {**extra, **_expiry(copies, now)}


def _fault(copies: list[EventCopy]) -> str:
    faults = [copy.named.fault for copy in copies if copy.named.fault]
    if faults:
        return faults[0]
    files = [copy.where.file.path for copy in copies]
    if len(set(files)) < len(files):
        return "one file holds the id more than once"
    return ""


def _entity(project: Project, file: EventFile) -> str:
    return project.path if file.is_project else f"{project.path}/{file.branch}"


def event(project: Project, id: str, copies: list[EventCopy], label: str, now: datetime) -> Memory:
    """Convert an event with all its copies to a memory."""
    first = copies[0]
    value = first.named.value
    entities = list(dict.fromkeys(_entity(project, copy.where) for copy in copies))
    archived = all(copy.where.is_archived for copy in copies)
    extra = _extra(project, copies, now)
    metadata = value.get("metadata")
    if archived:
        extra["archived"] = True
    return Memory(
        **memory_name(label, id),
        kind="event",
        type=text_of(value.get("type")),
        content=text_of(value.get("content")),
        entity=entities[0],
        also_entities=tuple(entities[1:]),
        created=from_milliseconds(value.get("timestamp")),
        importance=importance(value.get("importance")),
        tags=(ARCHIVED_TAG,) if archived else (),
        source=text_of(metadata.get("source")) if isinstance(metadata, dict) else "",
        origin=first.place,
        also=tuple(copy.place for copy in copies[1:]),
        extra=extra,
    )


def events(project: Project, label: str, now: datetime) -> list[Memory]:
    """The memories of one project, one for each id."""
    found = copies_by_id(project)
    return [event(project, id, copies, label, now) for id, copies in found.items()]


_MOVED = "it lies in a file of Ambient's first format, which Ambient moves at its next start"


def _id(path: Path, position: str, content: str) -> str:
    mark = hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"legacy-{path.stem[:8]}-{position}-{mark}"


def _memory(
    path: Path, top: dict[str, Any], label: str, position: str, content: str, **fields: Any
) -> Memory:
    directory = text_of(top.get("directory"))
    id = _id(path, position, content)
    return Memory(
        **memory_name(label, id),
        kind="event",
        content=content,
        entity=os.path.basename(directory.rstrip("/")) or path.stem[:8],
        created=from_milliseconds(top.get("lastActive")),
        source=text_of(top.get("lastAgent")),
        origin=Place(str(path), None, position),
        extra={
            "directory": directory,
            "timestamp": top.get("lastActive"),
            "legacy": True,
            UNADDRESSABLE: _MOVED,
        },
        **fields,
    )


def read_legacy(path: Path, root: Path, label: str) -> Reading:
    """Read the facts and the summary of one legacy file."""
    try:
        top = load(decode(read_bytes(path, root)), str(path))
    except UnreadableFile as error:
        return Reading((), (as_unreadable(error, path),))
    if not isinstance(top, dict):
        return Reading((), (Unreadable(str(path), "it does not hold a JSON object"),))
    facts = top.get("facts", [])
    memories = [
        _memory(path, top, label, f"facts[{n}]", text_of(fact), type="decision")
        for n, fact in enumerate(list_of(facts))
    ]
    summary = text_of(top.get("summary"))
    if summary:
        fields = {"type": "session-summary", "importance": "low"}
        memories.append(_memory(path, top, label, "summary", summary, **fields))
    if isinstance(facts, list):
        return Reading(tuple(memories))
    return Reading(tuple(memories), (Unreadable(str(path), "its facts are not a list"),))


EVENTS = ("events",)


def read_project(root: Path, key: str, files: tuple[str, ...]) -> tuple[Project, list[Unreadable]]:
    """Read a project's files; also what in them could not be read."""
    found: list[EventFile] = []
    faults: list[Unreadable] = []
    for name in files:
        path = Path(name)
        try:
            file = read_json(path, root, EVENTS)
        except UnreadableFile as error:
            faults.append(as_unreadable(error, path))
            continue
        records, record_faults = named_records(file, key)
        faults += record_faults
        found.append(event_file(file, records))
    return project_of(root / key, found), faults
