"""Memories as the JSON that Ambient's own import reads.

    {"version": 1, "exportedAt": ..., "projects": {key: {"project": {...}, "tasks": {key: {...}}}}}

Of an Ambient store it is what Ambient's own export prints (see `ambient_files`). Memories of other
stores become events of a project per first part of their entity; a text too long for Ambient is
cut, and what has no place is counted.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memtui.bundle.ambient_files import Selection, project_head, take
from memtui.model import Memory
from memtui.stores.ambient.importing import type_of
from memtui.stores.base import Store
from memtui.stores.importing import uuid_of

VERSION = 1
MOST_UNITS = 1000
"""UTF-16 units of an event's content (Ambient, src/types/index.ts)."""


@dataclass(slots=True)
class Backup:
    """The document, and how many memories lost something on the way into it."""

    document: dict[str, Any]
    cut: int = 0
    """Contents longer than Ambient keeps; they are cut."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Why memories are not in it -> how many; the words follow the number."""


def backup(
    memories: Iterable[Memory],
    stores: Sequence[Store],
    now: datetime,
    *,
    whole: bool = False,
    every: bool = True,
) -> Backup:
    """The document for these memories of these stores.

    `whole`: they are all that Ambient still holds, so its files are taken as they stand. `every`:
    take what Ambient itself no longer reads too (`ambient_files`).
    """
    made = Backup({"version": VERSION, "exportedAt": _iso(now), "projects": {}})
    native: dict[str, list[Memory]] = {s.label: [] for s in stores if s.format == "ambient"}
    foreign: list[Memory] = []
    for memory in memories:
        native.get(memory.store, foreign).append(memory)
    for store in stores:
        if store.label in native:
            taken = take(Selection(store.root, native[store.label], now, whole, every))
            made.left_out += taken.left_out
            _add_projects(made.document["projects"], taken.projects)
    for memory in foreign:
        _add_foreign(made, memory)
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


def _add_projects(known: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Put projects beside those of another store; of one that both have, the events are joined."""
    for key, project in more.items():
        if key not in known:
            known[key] = project
            continue
        _join(known[key]["project"], project["project"])
        tasks = known[key]["tasks"]
        for branch, task in project["tasks"].items():
            if branch in tasks:
                _join(tasks[branch], task)
            else:
                tasks[branch] = task


def _join(known: dict[str, Any], more: Mapping[str, Any]) -> None:
    known["events"] = [*known["events"], *(e for e in more["events"] if e not in known["events"])]


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
        key, {"project": project_head(key, name, f"memtui:{memory.store}", times), "tasks": {}}
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
