"""The files of one project, read to plan a change, and the edits of them.

Whatever is done to an event is done in every file that holds its id. Left in one of them, the old
text would come back: on a merge Ambient copies it from there into project.json.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import Edit, Kind, text_edit, value_edit
from memtui.dataclass import dataclass, field, replace
from memtui.errors import Conflict, Refused
from memtui.files.json.editing import raw_value
from memtui.files.reading import safe_join
from memtui.model import Memory
from memtui.stores import ambient
from memtui.stores.ambient.records import (
    EVENTS,
    EventCopy,
    EventFile,
    Project,
    copies_by_id,
    event,
    read_project,
)
from memtui.stores.base import Unreadable
from memtui.stores.json_file import new_json_file
from memtui.stores.plans import PlanContext
from memtui.stores.scanning import LastRead
from memtui.stores.sidecar import kept_value

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


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The files of one project, read to plan a change."""

    folder: Path
    project: Project
    unreadable: tuple[Unreadable, ...]
    by_id: Mapping[str, list[EventCopy]] = field(repr=False)
    """Every event with all places that hold it."""

    @property
    def shard(self) -> str:
        return ambient.shard_key(self.folder.name)

    @property
    def own(self) -> EventFile | None:
        """project.json, if it can be read."""
        return self.project.own

    def branch(self, name: str) -> EventFile | None:
        return next((file for file in self.project.branches if file.branch == name), None)

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
    kept_entry = kept_value(memory, (_place(copy, context) for copy in copies))
    removals = tuple(copy.set(None) for copy in copies)
    return (*removals, *context.entry_edits(id, files.shard, kept=kept_entry))


def _place(copy: EventCopy, context: EventContext) -> Mapping[str, Any]:
    return {
        "file": os.path.relpath(copy.where.file.path, context.root),
        "index": copy.named.index,
        "raw": copy.named.record.raw,
    }


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


@dataclass(frozen=True, slots=True)
class EventRules:
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
    stop_words: frozenset[str] = field(default=STOP_WORDS, repr=False)


@dataclass(frozen=True, slots=True)
class EventContext(PlanContext):
    """The context of planning a change in one Ambient memory."""

    rules: EventRules
    action_time: Callable[[datetime], int] = field(repr=False)
    keys: Callable[[], Mapping[str, str]] = field(repr=False)
    """Project directories by key, with the name each goes by as an entity."""
    last: LastRead[ProjectFiles] = field(repr=False)

    @property
    def milliseconds(self) -> int:
        """The time written to files: one for all plans of an action, so that equal edits of a file
        are one."""
        return self.action_time(self.now)

    def open(self, key: str) -> ProjectFiles:
        """Read a project's files as they are now. Raises Refused."""
        folder = safe_join(self.root / ambient.PROJECTS, key)
        found, _ = ambient.list_project_files(str(folder))
        files = found.files if found else ()
        return self.last.get(files, lambda: read_project_files(self.root, key), key)


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
