"""Memories as the JSON that Ambient's own import reads.

    {"version": 1, "exportedAt": ..., "projects": {key: {"project": {...}, "tasks": {key: {...}}}}}

Events of an Ambient store are taken from its files as they stand, unknown keys included; archived
branches are left out, as Ambient leaves them out. Memories of other stores become events of a
project per first part of their entity; what an event cannot hold is counted in `lost`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memtui.errors import UnreadableFile
from memtui.files.reading import decode, read_bytes
from memtui.model import Memory
from memtui.stores.adopting import uuid_of
from memtui.stores.ambient.adopting import type_of

VERSION = 1
MOST_UNITS = 1000
"""UTF-16 units of an event's content (Ambient, src/types/index.ts)."""


@dataclass(slots=True)
class Backup:
    """The document, and how many memories lost something on the way into it."""

    document: dict[str, Any]
    cut: int = 0
    """Contents longer than Ambient keeps; they are cut."""
    archived: int = 0
    """Events of archived branches; they are left out."""
    _projects: dict[str, dict[str, Any]] = field(default_factory=dict)


def backup(memories: Iterable[Memory], formats: Mapping[str, str], now: datetime) -> Backup:
    """The document for these memories. `formats`: store label -> format. Raises UnreadableFile."""
    made = Backup({"version": VERSION, "exportedAt": _iso(now), "projects": {}})
    native: dict[str, set[str]] = {}
    for memory in memories:
        if formats.get(memory.store) == "ambient":
            for place in (memory.origin, *memory.also):
                native.setdefault(place.file, set()).add(memory.id)
        else:
            _add_foreign(made, memory)
    for file, ids in sorted(native.items()):
        _add_file(made, Path(file), ids)
    return made


def dumps(document: Mapping[str, Any], *, pretty: bool) -> str:
    """The text as Ambient prints it: `--pretty` is indented by two; a newline at the end."""
    text = json.dumps(
        document,
        ensure_ascii=False,
        indent=2 if pretty else None,
        separators=(",", ": ") if pretty else (",", ":"),
    )
    return "".join(c if not 0xD800 <= ord(c) < 0xE000 else f"\\u{ord(c):04x}" for c in text) + "\n"


def _iso(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03}Z"


def _add_file(made: Backup, path: Path, ids: set[str]) -> None:
    """The wanted events of one Ambient file, with everything else that the file says."""
    try:
        top = json.loads(decode(read_bytes(path)).removeprefix("\ufeff"))
    except ValueError as error:
        raise UnreadableFile("it is no JSON any more", where=str(path)) from error
    if not isinstance(top, dict) or not isinstance(top.get("events"), list):
        return
    events = [e for e in top["events"] if isinstance(e, dict) and e.get("id") in ids]
    if path.parent.name == "archived":
        made.archived += len(events)
        return
    is_task = path.parent.name == "tasks"
    folder = path.parent.parent if is_task else path.parent
    project = made.document["projects"].setdefault(
        folder.name, {"project": _project(folder.name, folder.name[:8], "", top), "tasks": {}}
    )
    chosen = {**top, "events": events}
    if is_task:
        project["tasks"][path.stem] = chosen
    else:
        project["project"] = chosen


def _project(key: str, name: str, origin: str, times: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "projectKey": key,
        "projectName": name,
        "origin": origin,
        "createdAt": times.get("createdAt", 0),
        "lastActive": times.get("lastActive", 0),
        "events": [],
    }


def _add_foreign(made: Backup, memory: Memory) -> None:
    """One memory of another store as an event of the branch `main`."""
    name = memory.entity.split("/")[0] or memory.store
    key = hashlib.sha256(f"memtui:{memory.store}/{name}".encode("utf-8", "replace")).hexdigest()[
        :16
    ]
    when = memory.created or memory.updated
    at = int(when.timestamp() * 1000) if when else 0
    times = {"createdAt": at, "lastActive": at}
    project = made.document["projects"].setdefault(
        key, {"project": _project(key, name, f"memtui:{memory.store}", times), "tasks": {}}
    )
    task = project["tasks"].setdefault(
        "main",
        {
            "branchKey": "main",
            "branchName": "main",
            "projectKey": key,
            **times,
            "archived": False,
            "events": [],
        },
    )
    for part in (project["project"], task):
        part["createdAt"] = min(part["createdAt"], at)
        part["lastActive"] = max(part["lastActive"], at)
    content = _fit(f"{memory.title}: {memory.content}" if memory.title else memory.content)
    made.cut += len(content) < len(memory.content)
    task["events"].append(
        {
            "id": uuid_of(memory.store, memory.id),
            "type": type_of(memory.type),
            "timestamp": at,
            "content": content,
            "importance": memory.importance,
            "metadata": {"source": memory.ref, "entity": memory.entity, "type": memory.type},
        }
    )


def _fit(content: str) -> str:
    """As many whole characters as Ambient keeps."""
    if len(content) * 2 <= MOST_UNITS:
        return content
    units = content.encode("utf-16-le", "surrogatepass")[: 2 * MOST_UNITS]
    return units.decode("utf-16-le", "ignore")
