"""Events that come from elsewhere with an id: an import, or a move between stores.

They keep their id, time and metadata, go back into the project and the branches they stood in, and
supersede nothing: Ambient's own import can delete decisions that are there, this one cannot. What
only memtui kept stays with memtui.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan
from memtui.errors import Refused
from memtui.files.reading import safe_join
from memtui.model import Link, Memory
from memtui.stores.ambient import layout
from memtui.stores.ambient.events import SHORT_KEY, EventFile
from memtui.stores.ambient.project_files import (
    ProjectFiles,
    insert_into,
    made_file,
    open_project,
    task_key,
)
from memtui.stores.asked import content_of, created_of, importance_of, word_of
from memtui.stores.sidecar import Sidecar, edit, keep, link_value
from memtui.stores.timestamps import to_milliseconds

_NOT_KEYS = frozenset(
    {"id", "type", "timestamp", "content", "importance", "metadata"}
    | {"projectKey", "remote", "branches", "archived", "differs", "expires", "expired"}
    | {"kept", "rating", "reviewed", "unaddressable", "legacy", "directory"}
)
"""Of `extra`: what stands in another key of the event, or was never in one."""
_KEY = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Arrival:
    """A change that brings an event, and the store it comes to."""

    change: Change
    root: Path
    label: str
    sidecar: Sidecar
    now: datetime
    made: int
    """What new files say about when they were made, in milliseconds."""
    keys: Mapping[str, str] = field(repr=False)
    """Project directories by key, with the name each goes by as an entity."""

    @property
    def extra(self) -> Mapping[str, Any]:
        extra = self.change.fields.get("extra")
        return extra if isinstance(extra, Mapping) else {}

    @property
    def id(self) -> str:
        return str(self.change.fields["id"])

    @property
    def entity(self) -> str:
        entity = word_of(self.change, "entity", "").strip("/")
        if not entity or not entity.isprintable():
            raise Refused("an event belongs to a project", do="for example: shop-api/main")
        return entity

    @property
    def branches(self) -> list[str]:
        """The branches it stood in; without a list, the one its entity names."""
        found = self.extra.get("branches")
        if isinstance(found, list):
            return [str(branch) for branch in found if branch]
        branch = self.entity.partition("/")[2]
        return [branch] if branch else []

    @property
    def in_project(self) -> bool:
        """Whether project.json held it: its entity is then the project itself."""
        return "/" not in self.entity


def is_carried(change: Change) -> bool:
    return bool(change.fields.get("id"))


def carried_event(arrival: Arrival) -> dict[str, Any]:
    """The event's record, its keys in the order in which Ambient writes them."""
    change, extra = arrival.change, arrival.extra
    written = extra.get("timestamp")
    created = to_milliseconds(created_of(change, arrival.now))
    native = extra.get("importance")
    event: dict[str, Any] = {
        "id": arrival.id,
        "type": str(change.fields.get("type") or ""),
        "timestamp": written if _is_number(written) else created,
        "content": content_of(change),
        "importance": native if isinstance(native, str) else importance_of(change, "medium"),
    }
    source = str(change.fields.get("source") or "")
    metadata = extra.get("metadata") or ({"source": source} if source else None)
    others = {key: value for key, value in extra.items() if key not in _NOT_KEYS}
    return event | ({"metadata": metadata} if metadata else {}) | others


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _key(arrival: Arrival) -> str:
    """The project directory it came from, else the one that has its name, else a new one."""
    stated = arrival.extra.get("projectKey")
    if isinstance(stated, str) and _KEY.fullmatch(stated):
        return stated
    name = arrival.entity.partition("/")[0]
    for key, known in arrival.keys.items():
        if name in (key, known):
            return key
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _project_head(arrival: Arrival, key: str) -> dict[str, Any]:
    name = arrival.entity.partition("/")[0]
    now = arrival.made
    return {
        "projectKey": key,
        "projectName": name,
        "origin": str(arrival.extra.get("remote") or name),
        "createdAt": now,
        "lastActive": now,
    }


def _into_branch(
    arrival: Arrival, files: ProjectFiles, branch: str, event: Mapping[str, Any]
) -> list[Edit]:
    archived = arrival.extra.get("archived") is True
    folder = layout.ARCHIVED if archived else layout.TASKS
    path = safe_join(files.folder / folder, f"{task_key(branch)}.json")
    for file in files.project.files:
        if file.file.path == path:
            return [insert_into(file, event)]
    if os.path.lexists(path):
        raise Refused("it cannot be read, so it is not written", where=str(path))
    now = arrival.made
    head = {
        "branchKey": task_key(branch),
        "branchName": branch,
        "projectKey": files.folder.name,
        "createdAt": now,
        "lastActive": now,
        "archived": archived,
    }
    return made_file(path, head, event)


def _into_project(arrival: Arrival, files: ProjectFiles, event: Mapping[str, Any]) -> list[Edit]:
    own: EventFile | None = files.own
    if own is not None:
        return [insert_into(own, event)]
    path = safe_join(files.folder, layout.PROJECT)
    if os.path.lexists(path):
        raise Refused("it cannot be read, so it is not written", where=str(path))
    return made_file(path, _project_head(arrival, files.folder.name), event)


def _named(arrival: Arrival, files: ProjectFiles) -> list[Edit]:
    """The project.json of a new project whose events all lie in branches: it holds the name."""
    name = arrival.entity.partition("/")[0]
    path = safe_join(files.folder, layout.PROJECT)
    unnamed = name == files.folder.name[:SHORT_KEY]
    if unnamed or arrival.in_project or files.project.files or os.path.lexists(path):
        return []
    return made_file(path, _project_head(arrival, files.folder.name), None)


def plan_carried(arrival: Arrival) -> Plan:
    """The plan of taking in one event."""
    change = arrival.change
    files = open_project(arrival.root, _key(arrival))
    known = arrival.sidecar.entry(arrival.id).get("kept")
    if known or arrival.id in files.by_id:
        reason = "an event with this id is there already"
        return Plan((change,), outcome=Outcome.DEDUPE, reason=reason)
    event = carried_event(arrival)
    edits: list[Edit] = []
    gone = change.fields.get("status") in ("superseded", "retired", "deleted")
    if not gone:
        if arrival.in_project:
            edits += _into_project(arrival, files, event)
        edits += _named(arrival, files)
        for branch in arrival.branches:
            edits += _into_branch(arrival, files, branch, event)
    made = edit(
        arrival.root,
        arrival.sidecar,
        arrival.id,
        files.shard,
        **_beside(arrival),
        kept=keep(_memory(arrival)) if gone else None,
    )
    return Plan(
        changes=(change,),
        edits=(*edits, *(() if made is None else (made,))),
        outcome=Outcome.ADDED,
        refs=(f"{arrival.label}:{arrival.id}",),
        warnings=files.warnings,
    )


def _beside(arrival: Arrival) -> dict[str, Any]:
    """What the sidecar keeps of the event: all that its record cannot hold."""
    fields, extra = arrival.change.fields, arrival.extra
    links = [link for link in fields.get("links") or () if isinstance(link, Link)]
    archived = ("archived",) if extra.get("archived") else ()
    return {
        "tags": [str(tag) for tag in fields.get("tags") or () if tag not in archived],
        "pinned": fields.get("pinned") is True,
        "rating": extra.get("rating"),
        "reviewed": extra.get("reviewed"),
        "links": [link_value(link) for link in links],
        "supersedes": [str(id) for id in fields.get("supersedes") or ()],
    }


def _memory(arrival: Arrival) -> Memory:
    """The memory that memtui keeps, where Ambient no longer held it."""
    fields = arrival.change.fields
    extra = {key: value for key, value in arrival.extra.items() if key != "kept"}
    return Memory(
        ref=f"{arrival.label}:{arrival.id}",
        id=arrival.id,
        store=arrival.label,
        kind="event",
        type=str(fields.get("type") or ""),
        content=content_of(arrival.change),
        entity=arrival.entity,
        created=created_of(arrival.change, arrival.now),
        importance=importance_of(arrival.change, "medium"),
        status=str(fields.get("status")),
        superseded_by=tuple(str(id) for id in fields.get("superseded_by") or ()),
        extra=extra,
    )
