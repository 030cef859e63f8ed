"""Import events that have an id already, and convert memories of other formats.

They go into the project and the branches they were in, each copy with what it alone said, and
supersede nothing: Ambient's own import can delete decisions that are there, this one cannot. What
only memtui kept stays with memtui.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memtui.changes import Change, Edit, Outcome, Plan
from memtui.dataclass import dataclass, replace
from memtui.errors import Refused
from memtui.files.reading import safe_join
from memtui.model import Memory
from memtui.stores import ambient
from memtui.stores.ambient.project_files import (
    EventContext,
    EventRules,
    ProjectFiles,
    fit_content,
    insert_into,
    new_branch_file,
    new_project_file,
    task_key,
)
from memtui.stores.ambient.records import ARCHIVED_TAG, SHORT_KEY
from memtui.stores.format import ConvertedMemory
from memtui.stores.importing import (
    converted_ids,
    converted_links,
    described_memory,
    entity_parts,
    extra_in,
    kind_change,
    lost_names,
    native_keys,
    sidecar_values,
    text_with_title,
    uuid_of,
)
from memtui.stores.plans import plan_duplicate
from memtui.stores.sidecar import kept_value
from memtui.stores.values import (
    content_of,
    created_of,
    importance_of,
    is_number,
    list_of,
    to_milliseconds,
    word_of,
)

_WRITTEN_ELSEWHERE = frozenset(
    {"id", "type", "timestamp", "content", "importance", "metadata"}
    | {"projectKey", "remote", "branches", "archived", "differs", "expires", "expired"}
    | {"legacy", "directory"}
)
"""Of `extra`: what stands in another key of the event, or was never in one."""


@dataclass(frozen=True, slots=True)
class ImportedEvent:
    """An event to import, and the context it is planned in."""

    change: Change
    context: EventContext

    @property
    def extra(self) -> Mapping[str, Any]:
        return extra_in(self.change)

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
    def project(self) -> str:
        """Name of the project."""
        return self.entity.partition("/")[0]

    @property
    def remote(self) -> str:
        return str(self.extra.get("remote") or self.project)

    @property
    def branches(self) -> list[str]:
        """The branches that held it; without a list, the one its entity names."""
        found = self.extra.get("branches")
        if isinstance(found, list):
            return [str(branch) for branch in found if branch]
        branch = self.entity.partition("/")[2]
        return [branch] if branch else []

    @property
    def is_in_project(self) -> bool:
        """Whether project.json held it: its entity is then the project itself."""
        return "/" not in self.entity

    @property
    def is_gone(self) -> bool:
        """Whether only memtui's sidecar held it."""
        return self.change.fields.get("status") in ("superseded", "retired", "deleted")

    def copy_in(self, path: Path, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """The event with the differences of the copy in this file."""
        for other in list_of(self.extra.get("differs")):
            if isinstance(other, dict) and _same_name(other.get("file"), path):
                values = {key: value for key, value in other.items() if key != "file"}
                removed_keys = {key for key, value in values.items() if value is None}
                return {k: v for k, v in {**event, **values}.items() if k not in removed_keys}
        return event


def _same_name(file: object, path: Path) -> bool:
    """Whether two files have the same folder and name."""
    return isinstance(file, str) and Path(file).parts[-2:] == path.parts[-2:]


def event_record(arrival: ImportedEvent) -> dict[str, Any]:
    """Build the record of the event, keys in Ambient's order."""
    change, extra = arrival.change, arrival.extra
    written = extra.get("timestamp")
    created = to_milliseconds(created_of(change, arrival.context.now))
    native = extra.get("importance")
    event: dict[str, Any] = {
        "id": arrival.id,
        "type": str(change.fields.get("type") or ""),
        "timestamp": written if is_number(written) else created,
        "content": content_of(change),
        "importance": native if isinstance(native, str) else importance_of(change, "medium"),
    }
    source = str(change.fields.get("source") or "")
    metadata = extra.get("metadata") or ({"source": source} if source else None)
    return (
        event
        | ({"metadata": metadata} if metadata else {})
        | native_keys(change, _WRITTEN_ELSEWHERE)
    )


def _key(arrival: ImportedEvent) -> str:
    """The key of the project: the original one, else that of the same name, else a new one."""
    stated = arrival.extra.get("projectKey")
    if isinstance(stated, str) and ambient.PROJECT_KEY.fullmatch(stated):
        return stated
    for key, known in arrival.context.keys().items():
        if arrival.project in (key, known):
            return key
    return ambient.key_of_name(arrival.project)


def _into_branch(
    arrival: ImportedEvent, files: ProjectFiles, branch: str, event: Mapping[str, Any]
) -> list[Edit]:
    archived = arrival.extra.get("archived") is True
    folder = ambient.ARCHIVED if archived else ambient.TASKS
    path = safe_join(files.folder / folder, f"{task_key(branch)}.json")
    copy_values = arrival.copy_in(path, event)
    for file in files.project.files:
        if file.file.path == path:
            return [*insert_into(file, copy_values)]
    now = arrival.context.milliseconds
    return new_branch_file(files, branch, copy_values, now, archived=archived)


def _into_project(
    arrival: ImportedEvent, files: ProjectFiles, event: Mapping[str, Any]
) -> list[Edit]:
    copy_values = arrival.copy_in(files.folder / ambient.PROJECT, event)
    if files.own is None:
        return _new_project(arrival, files, copy_values)
    return [*insert_into(files.own, copy_values)]


def _new_project(
    arrival: ImportedEvent, files: ProjectFiles, event: Mapping[str, Any] | None
) -> list[Edit]:
    now = arrival.context.milliseconds
    return new_project_file(files, arrival.project, arrival.remote, event, now)


def _name_project(arrival: ImportedEvent, files: ProjectFiles) -> list[Edit]:
    """Create the project.json of a new project whose events all lie in branches, for its name."""
    path = safe_join(files.folder, ambient.PROJECT)
    unnamed = arrival.project == files.folder.name[:SHORT_KEY]
    if unnamed or arrival.is_in_project or files.project.files or os.path.lexists(path):
        return []
    return _new_project(arrival, files, None)


def plan_import(change: Change, context: EventContext) -> Plan:
    """Plan the import of one event. Raises Refused."""
    arrival = ImportedEvent(change, context)
    files = context.open(_key(arrival))
    if context.sidecar.entry(arrival.id).get("kept") or arrival.id in files.by_id:
        return plan_duplicate(change, "an event with this id")
    edits: list[Edit] = []
    if not arrival.is_gone:
        event = event_record(arrival)
        if arrival.is_in_project:
            edits += _into_project(arrival, files, event)
        edits += _name_project(arrival, files)
        for branch in arrival.branches:
            edits += _into_branch(arrival, files, branch, event)
    edits += context.entry_edits(arrival.id, files.shard, **_sidecar_values(arrival))
    refs = (context.ref(arrival.id),)
    return Plan((change,), tuple(edits), Outcome.ADDED, refs=refs, warnings=files.warnings)


def _sidecar_values(arrival: ImportedEvent) -> dict[str, Any]:
    """The keys of the sidecar entry: what the record of the event cannot hold."""
    native = (ARCHIVED_TAG,) if arrival.extra.get("archived") else ()
    values = sidecar_values(arrival.change, tags=native)
    values["kept"] = kept_value(_memory(arrival)) if arrival.is_gone else None
    return values | {"superseded_by": None}


def _memory(arrival: ImportedEvent) -> Memory:
    """The memory to keep in the sidecar when Ambient no longer held the event."""
    change, context = arrival.change, arrival.context
    memory = described_memory(change, context.ref(arrival.id), "event", content_of(change))
    return replace(
        memory,
        entity=arrival.entity,
        created=created_of(change, context.now),
        importance=importance_of(change, "medium"),
    )


EVENT_TYPES = ("decision", "error-resolution", "task-update", "file-context", "session-summary")
_TYPE_OF = {
    "architecture": "decision",
    "bugfix": "error-resolution",
    "goal": "decision",
    "policy": "decision",
    "preference": "decision",
    "session": "session-summary",
    "session_summary": "session-summary",
    "summary": "session-summary",
    "value": "decision",
}
"""Words of other stores; what is not here becomes a task-update."""
DEFAULT_BRANCH = "main"


def type_of(word: str) -> str:
    """The type of Ambient's five that stands for another store's word."""
    return word if word in EVENT_TYPES else _TYPE_OF.get(word, "task-update")


def convert(memory: Memory) -> ConvertedMemory:
    """Convert a memory to an event: entity `project/branch`, from the entity's parts."""
    parts = entity_parts(memory)
    branch = "/".join(parts[1:]) or DEFAULT_BRANCH
    high = memory.importance == "high"
    content, cut = fit_content(text_with_title(memory) or memory.headline, EventRules(), True)
    origin_values = {"source": memory.ref, "entity": memory.entity, "type": memory.type}
    fields = {
        "id": uuid_of(memory.store, memory.id),
        "content": content,
        "type": type_of(memory.type),
        "importance": memory.importance,
        "entity": parts[0] if high else f"{parts[0]}/{branch}",
        "created": memory.created or memory.updated,
        "status": "active" if memory.status == "proposed" else memory.status,
        "source": memory.ref,
        "tags": memory.tags,
        "pinned": memory.pinned,
        "supersedes": converted_ids(memory, memory.supersedes),
        "superseded_by": converted_ids(memory, memory.superseded_by),
        "links": converted_links(memory),
        "extra": {
            "branches": [branch],
            "metadata": {key: value for key, value in origin_values.items() if value},
        },
    }
    changes = (
        (cut, f"content ({cut})"),
        kind_change(memory, "event"),
        (memory.entity not in ("", fields["entity"]), "entity (becomes project/branch)"),
        (memory.type not in ("", fields["type"]), f"type (becomes {fields['type']})"),
        (memory.status == "proposed", "status proposed (becomes active)"),
    )
    return ConvertedMemory(fields, lost_names(memory, changes, "updated", "confidence", "source"))
