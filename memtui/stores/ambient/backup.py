"""Ambient's backup, the JSON that its own `memories export` writes and `memories import` reads.

    {"version": 1, "exportedAt": ..., "projects": {key: {"project": {...}, "tasks": {key: {...}}}}}

Of an Ambient store it is what Ambient itself prints: files as they stand, unknown keys included
(src/cli/memories.ts:205), without archived branches, files that were idle for 90 days, files that
are no JSON to Ambient, and projects without a project.json. Memories of other stores become events
of a project per first part of their entity; a text too long for Ambient is cut.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from memtui.errors import BundleError, UnreadableFile
from memtui.files.json.locating import BYTE_ORDER_MARK
from memtui.files.reading import read_bytes
from memtui.model import Memory, Place
from memtui.stores import ambient
from memtui.stores.ambient import records
from memtui.stores.ambient.adding import type_of
from memtui.stores.ambient.store import Ambient
from memtui.stores.base import Unreadable
from memtui.stores.format import ExportedDocument, ExportRequest, IncomingStore
from memtui.stores.importing import uuid_of
from memtui.stores.sidecar import is_kept
from memtui.text import counted

VERSION = 1
ARCHIVED = "of archived branches, as in Ambient"
EXPIRED = "in files idle for 90 days, as in Ambient; --status all takes them"
NO_PROJECT = "of projects without a project.json, as in Ambient; --status all takes them"
UNREADABLE = "in files that Ambient cannot read"
NOT_HELD = "that only memtui, or a file of Ambient's first format, still holds"
"""Why memories are left out, in words that follow their number."""

_ARRAY_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_EXACT_BELOW = 1e21
"""Up to here JavaScript writes a whole number without an exponent."""


# ---- writing: the document ----------------------------------------------------------------------


def export(request: ExportRequest) -> ExportedDocument:
    """The backup of these memories, as `Format.document` asks for it."""
    exported = backup(request)
    text = dumps(exported.document, pretty=request.pretty)
    left_out = tuple(f"{count} {why}" for why, count in exported.left_out.items())
    cut = f"shortened: {counted(exported.cut, 'text')}, longer than Ambient keeps"
    return ExportedDocument(text, left_out, (cut,) if exported.cut else ())


class AmbientBackup(Struct):
    """The document, and how many memories were cut or left out."""

    document: dict[str, Any]
    cut: int = 0
    """Contents longer than Ambient keeps; they are cut."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Why memories are not in it -> how many; the words follow the number."""


def backup(request: ExportRequest) -> AmbientBackup:
    """The document of a request: of a store of Ambient's own, its files as they stand."""
    document = AmbientBackup({"version": VERSION, "exportedAt": _iso(request.now), "projects": {}})
    stores = [store for store in request.stores if store.format == Ambient.format]
    native: dict[str, list[Memory]] = {store.label: [] for store in stores}
    foreign: list[Memory] = []
    for memory in request.memories:
        native.get(memory.store, foreign).append(memory)
    for store in stores:
        selection = BackupSelection(store.root, native[store.label], request)
        projects = select_projects(selection, document.left_out)
        _add_projects(document.document["projects"], projects)
    for memory in foreign:
        _add_foreign(document, memory)
    return document


def dumps(document: Mapping[str, Any], *, pretty: bool) -> str:
    """The text as Ambient prints it: `--pretty` is indented by two; a newline at the end."""
    return records.to_json_text(document, indent=2 if pretty else None) + "\n"


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


def _add_foreign(document: AmbientBackup, memory: Memory) -> None:
    """One memory of another store as an event of the branch `main`."""
    name = memory.entity.split("/")[0] or memory.store
    key = ambient.key_of_name(f"memtui:{memory.store}/{name}")
    created = memory.created or memory.updated
    at = int(created.timestamp() * 1000) if created else 0
    head = {**records.project_head(key, name, f"memtui:{memory.store}", at), "events": []}
    project = document.document["projects"].setdefault(key, {"project": head, "tasks": {}})
    task = project["tasks"].setdefault(
        "main", {**records.branch_head(key, "main", at), "events": []}
    )
    for holder in (project["project"], task):
        holder["createdAt"] = min(holder["createdAt"], at)
        holder["lastActive"] = max(holder["lastActive"], at)
    text = f"{memory.title}: {memory.content}" if memory.title else memory.content
    content, _ = records.fit_content(text, records.EventRules(), force=True)
    document.cut += len(content) < len(memory.content)
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


# ---- writing: an Ambient store's own files ------------------------------------------------------


class BackupSelection(Struct, frozen=True):
    """Memories of one Ambient store that are to be exported."""

    root: Path
    memories: Sequence[Memory]
    request: ExportRequest


def select_projects(selection: BackupSelection, left_out: Counter[str]) -> dict[str, Any]:
    """The chosen events of a store as the `projects` of the document; `left_out` counts why
    memories are not among them."""
    ids_by_project: dict[str, set[str]] = {}
    for memory in selection.memories:
        for place in _files_of(memory):
            ids_by_project.setdefault(place, set()).add(str(memory.extra.get("id", memory.id)))
    projects: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for found in ambient.find_projects(selection.root):
        if isinstance(found, Unreadable):
            continue
        if selection.request.whole or not ids_by_project.keys().isdisjoint(found.files):
            key = found.key.removeprefix(f"{ambient.PROJECTS}/")
            project = _take_project(selection, key, found.files, ids_by_project, reasons)
            if project is not None:
                projects[key] = project
    for memory in selection.memories:
        why = [reasons.get(place, NOT_HELD) for place in _files_of(memory)] or [NOT_HELD]
        if all(why):
            left_out[why[0]] += 1
    return projects


def _files_of(memory: Memory) -> list[str]:
    """The files of Ambient that hold the memory: none when only memtui keeps it."""
    if is_kept(memory):
        return []
    return [place.file for place in (memory.origin, *memory.also)]


def _take_project(
    selection: BackupSelection,
    key: str,
    files: Iterable[str],
    ids_by_project: Mapping[str, set[str]],
    reasons: dict[str, str],
) -> dict[str, Any] | None:
    """One project of the document; `reasons` gets each file with why it is left out, or ""."""
    paths = {name: Path(name) for name in files}
    own = next((name for name, path in paths.items() if path.parent.name == key), "")
    read = {
        name: _read(path, selection)
        for name, path in paths.items()
        if path.parent.name != ambient.ARCHIVED
    }
    of_project = read[own][1] if own else NO_PROJECT
    found: dict[str, dict[str, Any]] = {}
    for name in paths:
        if name not in read:
            reasons[name] = ARCHIVED
            continue
        top, why = read[name]
        reasons[name] = "" if selection.request.every and top else of_project or why
        if top and not reasons[name]:
            found[name] = (
                top if selection.request.whole else _chosen(top, ids_by_project.get(name, set()))
            )
    with_events = [top for top in found.values() if selection.request.whole or top.get("events")]
    if not with_events:
        return None
    tasks = {
        paths[name].name.removesuffix(".json"): top
        for name, top in found.items()
        if name != own and (selection.request.whole or top.get("events"))
    }
    head = found.get(own)
    if not head:
        first, head = with_events[0], records.project_head(key, key[: records.SHORT_KEY], "", 0)
        head |= {name: first[name] for name in ("createdAt", "lastActive") if name in first}
        head["events"] = []
    return {"project": head, "tasks": _in_js_order(tasks.items())}


def _chosen(top: Mapping[str, Any], ids: set[str]) -> dict[str, Any]:
    """The file with these of its events alone."""
    events = top.get("events")
    listed = events if isinstance(events, list) else []
    return {**top, "events": [e for e in listed if isinstance(e, dict) and str(e.get("id")) in ids]}


def _read(path: Path, selection: BackupSelection) -> tuple[dict[str, Any] | None, str]:
    """A file as Ambient reads it (bytes that are not UTF-8 become U+FFFD), and why it would not
    load it; "" if it would."""
    try:
        text = read_bytes(path, selection.root).decode("utf-8", "replace")
        top = _parsed(text.removeprefix(BYTE_ORDER_MARK))
    except (UnreadableFile, ValueError, RecursionError):
        return None, UNREADABLE
    if not isinstance(top, dict):
        return None, UNREADABLE
    if text.startswith(BYTE_ORDER_MARK):
        return top, UNREADABLE
    return top, EXPIRED if _is_idle(top, selection.request.now) else ""


def _is_idle(top: Mapping[str, Any], now: datetime) -> bool:
    """The test of src/memory/store.ts:74; a file that does not say a time is never idle."""
    try:
        active = float(top.get("lastActive", "nan") or 0)
    except (TypeError, ValueError):
        return False
    return (now.timestamp() - records.IDLE_LIMIT.total_seconds()) * 1000 > active


def _parsed(text: str) -> Any:
    """The value as JavaScript holds it: whole numbers are integers, none is infinite, and keys
    that are array indices come first. Raises ValueError."""
    return json.loads(
        text, parse_float=_number, parse_constant=_no_json, object_pairs_hook=_in_js_order
    )


def _number(text: str) -> float | int | None:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        return None
    return int(number) if number.is_integer() and abs(number) < _EXACT_BELOW else number


def _no_json(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _in_js_order(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    indices = sorted(filter(_ARRAY_INDEX.fullmatch, found), key=int)
    return {**{key: found[key] for key in indices}, **found} if indices else found


# ---- reading ------------------------------------------------------------------------------------


def read(document: Mapping[str, Any]) -> IncomingStore:
    """The store that a backup holds. Raises BundleError."""
    if document.get("version") != VERSION or not isinstance(document["projects"], dict):
        raise BundleError("not an Ambient backup of a known version")
    texts: dict[str, str] = {}
    for key, project in document["projects"].items():
        if not ambient.PROJECT_KEY.fullmatch(key) or not isinstance(project, dict):
            raise BundleError("a project's key is not 16 hex digits")
        folder = f"{ambient.PROJECTS}/{key}"
        if project.get("project") is not None:
            texts[f"{folder}/{ambient.PROJECT}"] = _file(project["project"])
        for branch, task in (project.get("tasks") or {}).items():
            if not branch or records.task_key(branch) != branch or branch in (".", ".."):
                raise BundleError("a branch's key cannot be a file name")
            texts[f"{folder}/{ambient.TASKS}/{branch}.json"] = _file(task)
    files = {name: partial(text.encode, "utf-8") for name, text in texts.items()}
    return IncomingStore(Ambient.format, Ambient.format, _memories(texts), whole=True, files=files)


def _file(value: Any) -> str:
    if not isinstance(value, dict) or not isinstance(value.get("events"), list):
        raise BundleError("a project or branch of the backup has no events")
    return records.to_json_text(value)


def _memories(texts: Mapping[str, str]) -> list[Memory]:
    """What the adapter reads in these files."""
    with tempfile.TemporaryDirectory(prefix="memtui-import-") as folder:
        root = Path(folder)
        for name, text in texts.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
        store = Ambient(root, Ambient.format)
        found = [memory for shard in store.scan().shards for memory in store.read(shard).memories]
        return [
            replace(m, origin=Place(str(Path(m.origin.file).relative_to(root))), also=())
            for m in found
        ]
