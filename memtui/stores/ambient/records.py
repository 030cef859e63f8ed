"""Events of Ambient as memories, and the files of one project read to plan a change.

A high event is written to project.json and to its branch's file under one id: that is one memory in
two places. Where it lies is the first of project.json, the branches by name, the archived branches;
`also` holds the others, and where a copy says something else, `extra["differs"]` holds its text.
Whatever is done to an event is done in every file that holds its id. Left in one of them, the old
text would come back: on a merge Ambient copies it from there into project.json.

The entity is `project/branch`, or the project alone for what project.json holds; where several
files hold an event, `also_entities` has the others. A project whose project.json is missing goes
by the first 8 digits of its key. Importance is native. An event that
only archived branches hold is tagged `archived`; it is still active. `extra["expires"]` says when
Ambient stops reading the file (90 days after its last activity), `extra["expired"]` that it did.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.changes import Edit, Kind, text_edit, value_edit
from memtui.errors import Conflict, Refused, UnreadableFile
from memtui.files.json.editing import raw_value
from memtui.files.reading import safe_join
from memtui.model import IMPORTANCES, Memory, Place
from memtui.stores import ambient
from memtui.stores.base import Unreadable
from memtui.stores.json_file import JsonFile, NamedRecord, named_records, new_json_file, read_json
from memtui.stores.scanning import as_unreadable
from memtui.stores.sidecar import kept_value
from memtui.stores.values import (
    UNADDRESSABLE,
    from_milliseconds,
    members_of,
    memory_name,
    text_of,
)

if TYPE_CHECKING:
    from memtui.stores.ambient.store import EventContext

IDLE_LIMIT = timedelta(days=90)
"""After this long without activity a file loads as nothing (src/memory/store.ts:799-850)."""
ARCHIVED_TAG = "archived"
SHORT_KEY = 8
"""Digits of the project key that stand for a project without a name."""

_SHOWN_IN_FIELDS = frozenset({"id", "type", "content", "importance"})


class EventFile(Struct, frozen=True):
    """One project.json or branch file, and its valid records."""

    file: JsonFile
    records: list[NamedRecord]
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
    last_active, expires = from_milliseconds(file.top.get("lastActive")), None
    if last_active is not None:
        with suppress(OverflowError):
            expires = last_active + IDLE_LIMIT
    return EventFile(
        file=file,
        records=records,
        is_project=is_project,
        is_archived=folder == ambient.ARCHIVED or file.top.get("archived") is True,
        branch="" if is_project else branch,
        expires=expires,
    )


class Project(Struct, frozen=True):
    """One project directory."""

    key: str
    name: str
    """Empty when there is no project.json, or it does not say."""
    remote: str
    files: tuple[EventFile, ...]
    found_name: str = ""
    """The name, else what the remote or the events tell of it; empty if nothing does."""

    @property
    def path(self) -> str:
        """The project's name as an entity."""
        return self.found_name or self.name or self.key[:SHORT_KEY]

    @property
    def own(self) -> EventFile | None:
        """project.json, if it can be read."""
        return next((file for file in self.files if file.is_project), None)

    @property
    def branches(self) -> tuple[EventFile, ...]:
        """The branches that are not archived."""
        return tuple(f for f in self.files if not f.is_project and not f.is_archived)


class EventCopy(Struct, frozen=True):
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
    faults = [copy.named.fault for copy in copies if copy.named.fault]
    if len({copy.where.file.path for copy in copies}) < len(copies):
        faults.append("one file holds the id more than once")
    if faults:
        extra[UNADDRESSABLE] = faults[0]
    return {**extra, **_expiry(copies, now)}


def event(project: Project, id: str, copies: list[EventCopy], label: str, now: datetime) -> Memory:
    """Convert an event with all its copies to a memory."""
    first = copies[0]
    value = first.named.value
    named = (filter(None, (project.path, copy.where.branch)) for copy in copies)
    entities = list(dict.fromkeys(map("/".join, named)))
    importance = value.get("importance")
    archived = all(copy.where.is_archived for copy in copies)
    extra = _extra(project, copies, now)
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
        importance=importance if importance in IMPORTANCES else "medium",
        tags=(ARCHIVED_TAG,) if archived else (),
        source=text_of(members_of(value.get("metadata")).get("source")),
        origin=first.place,
        also=tuple(copy.place for copy in copies[1:]),
        extra=extra,
    )


def events(project: Project, label: str, now: datetime) -> list[Memory]:
    """The memories of one project, one for each id."""
    found = copies_by_id(project)
    return [event(project, id, copies, label, now) for id, copies in found.items()]


EVENTS = ("events",)


def text_in(top: Mapping[str, Any], key: str) -> str:
    return top[key] if isinstance(top.get(key), str) else ""


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
    top: Mapping[str, Any] = next((f.file.top for f in found if f.is_project), {})
    name, remote = text_in(top, "projectName"), text_in(top, "origin")
    folder = Path(key).name
    shown = (
        name
        or re.split("[/:]", remote.strip().rstrip("/"))[-1].removesuffix(".git")
        or _name_of_root(folder, found)
    )
    return Project(folder, name, remote, tuple(found), shown), faults


def _name_of_root(key: str, files: Iterable[EventFile]) -> str:
    """The name of the project's folder, if an event names a file in it; "" if none does.

    The key is the start of the SHA-256 of the folder's path (src/memory/resolve.ts:31), so that a
    folder above the file either is the project's or is not.
    """
    records = (named.value for file in files for named in file.records)
    named = (record.get("metadata") for record in records)
    paths = {PurePosixPath(text_in(each, "file")) for each in named if isinstance(each, dict)}
    parents = {parent for path in paths if path.is_absolute() for parent in path.parents}
    digests = ((at.name, hashlib.sha256(str(at).encode(errors="replace"))) for at in parents)
    return next((name for name, each in digests if each.hexdigest().startswith(key)), "")


INDENT = "    "
"""What stands before an event: two levels of JSON.stringify(x, null, 2)."""
LONGEST_KEY = 100
"""Letters of a branch's file name (src/memory/resolve.ts:75-84)."""
_NO_KEY = re.compile(r"[^A-Za-z0-9._-]")


def task_key(branch: str) -> str:
    """The file name that Ambient gives a branch (src/memory/resolve.ts:75-84)."""
    return _NO_KEY.sub("", branch.replace("/", "--"))[:LONGEST_KEY]


def to_json_text(value: Mapping[str, Any], indent: int | None = 2) -> str:
    """As JSON.stringify(value, null, indent): no final newline, lone surrogates escaped."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    return re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


class ProjectFiles(Struct, frozen=True):
    """The files of one project, read to plan a change."""

    folder: Path
    project: Project
    unreadable: tuple[Unreadable, ...]
    by_id: Mapping[str, list[EventCopy]]
    """Every event with all places that hold it."""

    @property
    def shard(self) -> str:
        return ambient.shard_key(self.folder.name)

    @property
    def own(self) -> EventFile | None:
        """project.json, if it can be read."""
        return self.project.own

    def copies(self, id: str) -> list[EventCopy]:
        """Every place that holds the id. Raises Conflict when there is none."""
        found = self.by_id.get(id)
        if not found:
            raise Conflict("another program removed this event", where=str(self.folder))
        return found

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(
            f"{fault.file} cannot be read ({fault.reason}): a copy in it stays as it is"
            for fault in self.unreadable
        )


def read_project_files(root: Path, key: str) -> ProjectFiles:
    """Read a project's files for a change."""
    folder = safe_join(root / ambient.PROJECTS, key)
    found, faults = ambient.list_project_files(str(folder))
    project, record_faults = read_project(
        root, ambient.shard_key(key), found.files if found else ()
    )
    read = {str(file.file.path) for file in project.files}  # what is wrong there is one record
    file_faults = [fault for fault in record_faults if fault.file not in read]
    return ProjectFiles(folder, project, (*faults, *file_faults), copies_by_id(project))


def shard_of(memory: Memory) -> str:
    """Key of the shard that holds the memory."""
    return ambient.shard_key(key_of(memory))


def key_of(memory: Memory) -> str:
    """Key of the project that holds, or held, the memory."""
    return str(memory.extra.get("projectKey") or "")


def insert_into(file: EventFile, value: Mapping[str, Any]) -> tuple[Edit, ...]:
    """Append an event to a file, where Ambient pushes it."""
    return file.file.insert(value, INDENT)


def reactivation_warnings(files: Iterable[EventFile], now: datetime) -> tuple[str, ...]:
    """Warn of each idle file that Ambient will read again once it is active."""
    return tuple(
        f"{file.file.path.name} was idle for 90 days: Ambient will read all of it again"
        for file in files
        if file.expires is not None and file.expires < now and not file.is_archived
    )


def last_active_edits(files: Iterable[EventFile], now: int) -> tuple[Edit, ...]:
    """Set `lastActive` of these files to now, as Ambient does on an add or an edit.

    A file without it is left so, and an archived one keeps the time it was archived with.
    """
    edits: list[Edit] = []
    for file in files:
        if "lastActive" in file.file.top and not file.is_archived:
            before = raw_value(file.file.text, ("lastActive",))
            path = str(file.file.path)
            edits.append(value_edit(path, ("lastActive",), before, str(now), kind=Kind.COUNTER))
    return tuple(edits)


def retire_event(
    context: EventContext,
    files: ProjectFiles,
    id: str,
    status: str,
    successors: tuple[str, ...] = (),
) -> tuple[Edit, ...]:
    """Remove an event from every file that holds it, and keep it in the sidecar."""
    copies = files.copies(id)
    now = event(files.project, id, copies, context.label, context.now)
    memory = replace(now, status=status, superseded_by=successors)
    places = (
        {
            "file": os.path.relpath(copy.where.file.path, context.root),
            "index": copy.named.index,
            "raw": copy.named.record.raw,
        }
        for copy in copies
    )
    kept_entry = kept_value(memory, places)
    removals = tuple(copy.set(None) for copy in copies)
    return (*removals, *context.entry_edits(id, files.shard, kept=kept_entry))


_STOP_WORDS = """
    a an the is are was were be been being have has had do does did will would could should may
    might shall can need dare ought i me my you your we our they them their its it he she him her
    his this that these those what which who whom where when how why and or but not no if then else
    so than too very just about above after again all also am any as at back because before between
    by both came come each even for from get got go going here in into know let like look make many
    more most much of on only other out over re really right said same see some still such take
    tell through to up us use want way well with yes yet remember memories memory everything
    anything something hey hi hello please thanks
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""src/memory/store.ts:230-248."""


class EventRules(Struct, frozen=True):
    """The constants of the rules; config.toml can set each."""

    overlap: float = 0.4
    """Jaccard of keywords over which an old decision is superseded (store.ts:110-115)."""
    fewest: int = 2
    """Keywords a new text needs before it is compared at all (store.ts:277-305)."""
    shortest_word: int = 3
    """Letters of a keyword (store.ts:259)."""
    longest: int = 1000
    """UTF-16 units of a text; Ambient cuts the rest off."""
    project_limit: int = 200
    """Events of project.json beyond which Ambient drops old ones (store.ts:20)."""
    task_limit: int = 500
    """The same for a branch (store.ts:21)."""
    stop_words: frozenset[str] = field(default=STOP_WORDS)


def project_head(key: str, name: str, origin: str, now: int) -> dict[str, Any]:
    """The members of project.json before its events; `now` in milliseconds."""
    return {
        "projectKey": key,
        "projectName": name,
        "origin": origin,
        "createdAt": now,
        "lastActive": now,
    }


def branch_head(key: str, branch: str, now: int, *, archived: bool = False) -> dict[str, Any]:
    """The members of a branch file before its events; `key` is the project's."""
    return {
        "branchKey": task_key(branch),
        "branchName": branch,
        "projectKey": key,
        "createdAt": now,
        "lastActive": now,
        "archived": archived,
    }


def _new_file(path: Path, head: Mapping[str, Any], event: Mapping[str, Any] | None) -> list[Edit]:
    text = to_json_text({**head, "events": []})
    if event is None:
        return [text_edit(str(path), None, text)]
    return [*new_json_file(path, EVENTS, text).insert(event, INDENT)]


def new_project_file(
    files: ProjectFiles, name: str, origin: str, event: Mapping[str, Any] | None, now: int
) -> list[Edit]:
    """The edits that create project.json, with a first event if given. Raises Refused."""
    path = safe_join(files.folder, ambient.PROJECT)
    if os.path.lexists(path):
        raise Refused("project.json cannot be read, so it is not written", where=str(path))
    return _new_file(path, project_head(files.folder.name, name, origin, now), event)


def new_branch_file(
    files: ProjectFiles, branch: str, event: Mapping[str, Any], now: int, *, archived: bool = False
) -> list[Edit]:
    """The edits that create a branch file with its first event. Raises Refused."""
    key = task_key(branch)
    folder = files.folder / (ambient.ARCHIVED if archived else ambient.TASKS)
    path = safe_join(folder, f"{key}.json")
    for fault in files.unreadable:
        if fault.file == str(path):
            why = f"it cannot be read, so it is not written: {fault.reason}"
            raise Refused(why, where=str(path))
    if not key or os.path.lexists(path):
        why = "the branch has no file of its own: another one's name is too much like its own"
        raise Refused(why, where=str(path))
    return _new_file(path, branch_head(files.folder.name, branch, now, archived=archived), event)


def utf16_length(text: str) -> int:
    """The length of a text as JavaScript counts it."""
    return len(text) + sum(1 for letter in text if ord(letter) > 0xFFFF)


def fit_content(content: str, rules: EventRules, force: bool) -> tuple[str, str]:
    """Cut the text to Ambient's limit; also a warning when it was cut.

    Ambient cuts without a word; here that needs `force`, and no character is cut in half. Raises
    Refused.
    """
    length = utf16_length(content)
    if length <= rules.longest:
        return content, ""
    if not force:
        raise Refused(
            f"Ambient holds {rules.longest} characters of a memory, this has {length}",
            do="shorten it, or use --force to cut it",
        )
    lines, units = [], 0
    for letter in content:
        units += utf16_length(letter)
        if units > rules.longest:
            break
        lines.append(letter)
    return "".join(lines), f"the text was cut to {rules.longest} characters"
