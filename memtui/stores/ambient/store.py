"""One Ambient memory folder as a store: its projects, and plans of every act.

Ambient knows editing the text and deleting. Type and importance can be changed in the files too.
Retiring and superseding remove the event as Ambient would, and memtui keeps it.

The block of a project's and a branch's events for a prompt is built as `formatMemoryForPrompt` does
(src/memory/store.ts:197-227): the last events of project.json that are not low, then the last of
the branch, in the order of the files. A file that was idle for 90 days counts as absent. Times are
shown in the zone of `now`, as JavaScript does in the local one.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memtui.changes import Act, Change, Edit, Kind, Plan, text_edit
from memtui.errors import Refused
from memtui.files.reading import file_stamp, safe_join
from memtui.model import Memory
from memtui.stores import ambient, listed_texts, plans
from memtui.stores.ambient.adding import (
    DECISION,
    convert,
    new_event,
    plan_add,
    plan_import,
    upkeep_rules,
)
from memtui.stores.ambient.records import (
    ARCHIVED_TAG,
    EventFile,
    EventRules,
    Project,
    ProjectFiles,
    events,
    fit_content,
    insert_into,
    key_of,
    last_active_edits,
    reactivation_warnings,
    read_project,
    read_project_files,
    retire_event,
    shard_of,
)
from memtui.stores.base import (
    LoadedBlock,
    LoadedText,
    Reading,
    ReadTime,
    Remark,
    Shard,
    StoreView,
    Unreadable,
    WriteRecorder,
)
from memtui.stores.file_store import FileStore
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.json_file import NamedRecord, with_members
from memtui.stores.record_acts import Members, Successor, Target, member, record_acts
from memtui.stores.scanning import FoundShard, LastRead
from memtui.stores.sidecar import Sidecar, is_kept
from memtui.stores.values import (
    UNADDRESSABLE,
    checked_importance,
    content_of,
    from_milliseconds,
    importance_of,
    list_of,
    members_of,
    text_of,
    to_milliseconds,
    utc_now,
    word_of,
)
from memtui.text import counted


def _not_on(act: Act, memory: Memory) -> str:
    fault = memory.extra.get(UNADDRESSABLE)
    if fault:
        return f"it cannot be changed: {fault}"
    if why := listed_texts.not_on(act, memory, "Ambient"):
        return why
    if act is Act.ARCHIVE and not ("/" in memory.entity or memory.also_entities):
        return "it is on no branch"
    if act is Act.ARCHIVE and memory.extra.get("archived"):
        return "its branch is archived already"
    return ""


def _native_tags(memory: Memory) -> tuple[str, ...]:
    return (ARCHIVED_TAG,) if memory.extra.get("archived") else ()


class Event(Target):
    """One event, in every file that holds it."""

    gone = "another program removed this event"
    retired = "removed from Ambient's files, kept by memtui"
    context: EventContext

    def __init__(self, memory: Memory, change: Change, context: EventContext) -> None:
        super().__init__(memory, change, context)
        self.files = context.open(key_of(memory))
        self.copies = [] if is_kept(memory) else self.files.copies(memory.id)
        self.warnings += self.files.warnings
        self.native_tags = _native_tags(memory)

    @property
    def where(self) -> str:
        return str(self.copies[0].where.file.path if self.copies else self.files.folder)

    @property
    def text(self) -> str:
        value = self.copies[0].named.value if self.copies else {"content": self.memory.content}
        return text_of(value.get("content"))

    def _content(self, text: str) -> Members:
        content, cut = fit_content(text, self.context.store.rules, self.change.force)
        self.warnings[:0] = [cut] if cut else []
        return {"content": content}

    fields = MappingProxyType(
        {
            "content": _content,
            "type": member("type", "type"),
            "importance": lambda _, word: {"importance": checked_importance(word)},
        }
    )

    def put(self, members: Members) -> tuple[Edit, ...]:
        self.check()
        edits: list[Edit] = []
        holding: list[EventFile] = []
        for copy in self.copies:
            if found := copy.where.file.put(copy.named, members):
                edits += found
                holding.append(copy.where)
        raised, own = members.get("importance") == "high" != self.memory.importance, self.files.own
        if raised and own is not None and not any(copy.where is own for copy in self.copies):
            # An event that becomes high is written to project.json too, as on an add.
            edits += insert_into(own, {**self.copies[0].named.value, **members})
            holding.append(own)
        self.warnings += reactivation_warnings(holding, self.context.now)
        return (*edits, *last_active_edits(holding, self.context.milliseconds))

    def remove(self) -> tuple[Edit, ...]:
        return tuple(copy.set(None) for copy in self.copies)

    def end(self, status: str, by: str = "") -> tuple[Edit, ...]:
        successors = (by,) if by else ()
        return retire_event(self.context, self.files, self.memory.id, status, successors)

    def resume(self) -> tuple[Edit, ...]:
        """Put it back into the files that held it, where they still exist."""
        context, id = self.context, self.memory.id
        present = {str(file.file.path): file for file in self.files.project.files}
        into: list[EventFile] = []
        edits: list[Edit] = []
        for place in _kept_places(context.sidecar.entry(id)):
            file = present.get(str(context.root / place["file"]))
            if file is None or any(named.id == id for named in file.records):
                continue
            index = place["index"] if place["index"] < len(file.file.records) else None
            edits += file.file.insert_raw(id, place["raw"], index)
            into.append(file)
        if not edits:
            where = str(self.files.folder)
            raise Refused("none of its files exists any more", where=where, do="add it again")
        return (
            *edits,
            *last_active_edits(into, context.milliseconds),
            *context.entry_edits(id, self.files.shard, kept=None),
        )

    def successor(self) -> Successor:
        context, files = self.context, self.files
        event = new_event(self.change, self._content(content_of(self.change))["content"], context)
        old = text_of(self.copies[0].named.value.get("type"))
        event["type"] = word_of(self.change, "type", old or event["type"])
        event["importance"] = importance_of(self.change, self.memory.importance)
        into = [copy.where for copy in self.copies if not copy.where.is_archived]  # Ambient's own
        if not into:
            into = [files.own or self.copies[0].where]
        if event["importance"] == "high" and files.own is not None and files.own not in into:
            into = [files.own, *into]
        edits = (
            *(edit for file in into for edit in insert_into(file, event)),
            *last_active_edits(into, context.milliseconds),
            *context.entry_edits(event["id"], files.shard, supersedes=[self.memory.id]),
        )
        reason = f"added {event['id']}; memtui keeps {self.memory.id}"
        return Successor(event["id"], edits, reason)


class EventContext(plans.PlanContext):
    """The context of planning a change in one Ambient memory."""

    store: Ambient

    def target(self, memory: Memory, change: Change) -> Event:
        return Event(memory, change, self)

    @property
    def milliseconds(self) -> int:
        """The time written to files: one for all plans of an action, so that equal edits of a file
        are one."""
        return self.store.action_time(self.now)

    def open(self, key: str) -> ProjectFiles:
        """Read a project's files as they are now. Raises Refused."""
        folder = safe_join(self.root / ambient.PROJECTS, key)
        found, _ = ambient.list_project_files(str(folder))
        files = found.files if found else ()
        return self.store.last.get(files, lambda: read_project_files(self.root, key), key)


def _kept_places(entry: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The places of a retired event in its sidecar entry, without malformed ones."""
    for place in list_of(members_of(entry.get("kept")).get("places")):
        if (
            isinstance(place, dict)
            and isinstance(place.get("file"), str)
            and isinstance(place.get("raw"), str)
            and isinstance(place.get("index"), int)
            and place["index"] >= 0
        ):
            yield place


def _archive(change: Change, memory: Memory, context: EventContext) -> Plan:
    """Copy a merged branch's high decisions to the project, and move its file to `archived`.

    As processMergedBranches does (src/memory/lifecycle.ts:61-92, store.ts:737): a decision whose
    text the project has already is not copied; a copy gets an id of its own and `promotedFrom`.
    """
    files = context.open(key_of(memory))
    entity = text_of(change.fields.get("entity")) or memory.entity
    branch = next(
        (
            copy.where
            for copy in files.copies(memory.id)
            if not (copy.where.is_project or copy.where.is_archived)
            and f"{files.project.path}/{copy.where.branch}" == entity
        ),
        None,
    )
    if branch is None:
        raise Refused("it is on no branch that could be archived", where=memory.ref)
    target = safe_join(files.folder / ambient.ARCHIVED, branch.file.path.name)
    if os.path.lexists(target):
        raise Refused("a branch of this name is already archived", where=str(target))
    own_records = files.own.records if files.own else ()
    known = {text_of(record.value.get("content")) for record in own_records}
    edits: list[Edit] = [
        text_edit(str(target), None, with_members(branch.file.text, {"archived": True})),
        text_edit(str(branch.file.path), branch.file.text, None),
    ]
    promoted = 0
    for named in branch.records:
        value = named.value
        is_high = value.get("type") == DECISION and value.get("importance") == "high"
        if files.own is None or not is_high or text_of(value.get("content")) in known:
            continue
        metadata = {**members_of(value.get("metadata")), "promotedFrom": branch.branch}
        edits += insert_into(files.own, {**value, "id": str(uuid.uuid4()), "metadata": metadata})
        promoted += 1
    if promoted and files.own is not None:
        edits += last_active_edits([files.own], context.milliseconds)
    moved = f"archived {branch.branch}, {len(branch.records)} events"
    return Plan(
        changes=(change,),
        edits=tuple(edits),
        reason=f"{moved}; {promoted} decisions copied to the project",
        refs=(memory.ref,),
        warnings=(*files.warnings, "Ambient deletes archived branches after 7 days"),
    )


ACTS = record_acts(
    Event,
    add=plan_add,
    add_imported=plan_import,
    handlers={Act.ARCHIVE: _archive},
    shard_of=shard_of,
    not_on=_not_on,
    native_tags=_native_tags,
)


ONE_ACTION = 60_000
"""Milliseconds within which plans count as those of one action."""


class Ambient(FileStore):
    """The memory of one `~/.ambient/memory`."""

    format = "ambient"
    acts = ACTS
    context = EventContext
    rules = EventRules()
    """The program's own constants."""
    last: LastRead[ProjectFiles]

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
        self._marked = 0
        self._names: dict[str, tuple[str, str]] = {}

    def find_shards(self) -> Iterator[FoundShard | Unreadable]:
        """Each project directory."""
        yield from ambient.find_projects(self.root)

    def remarks(self) -> Sequence[Remark]:
        """How many files of the format before projects are not read."""
        older = ambient.older_files(self.root)
        found = f"{counted(len(older), 'file')} of Ambient's format before projects"
        why = "not read, as Ambient moves them at its next start"
        return (Remark(str(self.root), f"{found}: {why}"),) if older else ()

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:  # noqa: ARG002
        """All events of a project, each once."""
        project, faults = read_project(self.root, shard.key, shard.files)
        return Reading(tuple(events(project, self.label, self.now())), tuple(faults))

    def read_time(self, path: str) -> ReadTime:
        """The daemon reads the files for every request and keeps no cache; the branches that were
        archived it does not read (formats page of Ambient, 2.1 and 2.2)."""
        return ReadTime.NEVER if f"/{ambient.ARCHIVED}/" in path else ReadTime.AT_ONCE

    def session_start(self, view: StoreView, entity: str, now: datetime) -> Sequence[LoadedText]:  # noqa: ARG002
        """The block of the project and branch, or of each, read from the files as Ambient does."""
        return tuple(session_blocks(self.root, self.label, entity, now))

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> None:
        """Make the edits, each `lastActive` once: many changes of one action all ask for it.

        Raises Conflict or SaveError.
        """
        once = dict.fromkeys(edit for edit in edits if edit.kind is Kind.COUNTER)
        others = [e for e in edits if e.kind is not Kind.COUNTER or once.pop(e, 1) is None]
        super().apply(others, recorder)

    def action_time(self, time: datetime) -> int:
        """The time written to files: that of the previous plan if it was made just now."""
        now = to_milliseconds(time)
        if not 0 <= now - self._marked < ONE_ACTION:
            self._marked = now
        return self._marked

    @property
    def projects(self) -> Mapping[str, tuple[str, ...]]:
        names, found = self.project_names(), {}
        for each in ambient.find_projects(self.root):
            if not isinstance(each, Unreadable):
                key = each.key.removeprefix(f"{ambient.PROJECTS}/")
                is_only = list(names.values()).count(names[key]) == 1
                project, _ = read_project(self.root, each.key, each.files)
                branches = tuple(file.branch for file in project.branches)
                found[names[key] if is_only else key] = branches
        return found

    def project_names(self) -> dict[str, str]:
        """The name of each project directory by its key, read again when it changed."""
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
                if not project.name:  # the events of its branches may tell it
                    project, _ = read_project(self.root, found.key, found.files)
                known = (mark, project.path)
                self._names[key] = known
            names[key] = known[1]
        return names


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
    own, block = project.own, LoadedBlock()

    def add(heading: str, records: Sequence[NamedRecord]) -> None:
        block.add(heading)
        for record in records:
            value = record.value
            line = f"- {text_of(value.get('content'))} ({text_of(value.get('type'))}"
            block.add("\n")
            block.add(f"{line}, {_age(record, now)})", f"{label}:{record.id}")

    if own is not None and _is_unexpired(own, now) and own.records:
        shown = [r for r in own.records if r.value.get("importance") != "low"]
        add(f"[Project: {project.name}]", shown[-PROJECT_EVENTS:])
    if branch is not None and _is_unexpired(branch, now) and branch.records:
        gap = "\n\n" if block.text else ""
        add(f"{gap}[Task: {branch.branch}]", branch.records[-TASK_EVENTS:])
    if not block.text:
        return None
    title = project.path if branch is None else f"{project.path}/{branch.branch}"
    file = str(own.file.path) if own else ""
    return block.loaded(title, file, is_of_entity=True, note=LOADED, entity=title)


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


SUPPORT = FormatSupport(
    Ambient,
    transfer=TransferSupport(belongings=("*.json", "*.json.migrated"), convert=convert),
    upkeep=upkeep_rules(Ambient.rules),
)
