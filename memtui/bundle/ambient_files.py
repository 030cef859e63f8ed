"""What Ambient's own export prints of a store's files, cut down to chosen memories.

Files are taken as they stand, unknown keys included (src/cli/memories.ts:205). Ambient leaves out
archived branches, files that were idle for 90 days, files that are no JSON to it, and projects
without a project.json.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.errors import UnreadableFile
from memtui.files.json.locating import BYTE_ORDER_MARK
from memtui.files.reading import read_bytes
from memtui.model import Memory
from memtui.stores.ambient import layout
from memtui.stores.ambient.records import IDLE_LIMIT, SHORT_KEY
from memtui.stores.base import Unreadable

ARCHIVED = "of archived branches, as in Ambient"
EXPIRED = "in files idle for 90 days, as in Ambient; --status all takes them"
NO_PROJECT = "of projects without a project.json, as in Ambient; --status all takes them"
UNREADABLE = "in files that Ambient cannot read"
NOT_HELD = "that only memtui, or a file of Ambient's first format, still holds"
"""Why memories are left out, in words that follow their number."""

_ARRAY_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_EXACT_BELOW = 1e21
"""Up to here JavaScript writes a whole number without an exponent."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Memories of one Ambient store that are to be exported."""

    root: Path
    memories: Sequence[Memory]
    now: datetime
    whole: bool
    """They are all of the store: a file is taken with all it holds, also with no event at all."""
    every: bool
    """Take what Ambient itself no longer reads too: expired files, projects without a head."""


@dataclass(slots=True)
class Taken:
    """The `projects` of the document, and why memories are not in it."""

    projects: dict[str, Any] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)


def take(selection: Selection) -> Taken:
    """The chosen events of a store, project by project."""
    wanted: dict[str, set[str]] = {}
    for memory in selection.memories:
        for place in _places(memory):
            wanted.setdefault(place, set()).add(str(memory.extra.get("id", memory.id)))
    taken = Taken()
    reasons: dict[str, str] = {}
    for found in layout.projects(selection.root):
        if isinstance(found, Unreadable):
            continue
        if selection.whole or not wanted.keys().isdisjoint(found.files):
            key = found.key.removeprefix(f"{layout.PROJECTS}/")
            project = _take_project(selection, key, found.files, wanted, reasons)
            if project is not None:
                taken.projects[key] = project
    for memory in selection.memories:
        why = [reasons.get(place, NOT_HELD) for place in _places(memory)] or [NOT_HELD]
        if all(why):
            taken.left_out[why[0]] += 1
    return taken


def _places(memory: Memory) -> list[str]:
    """The files of Ambient that hold the memory: none when only memtui keeps it."""
    if memory.extra.get("kept") is True:
        return []
    return [place.file for place in (memory.origin, *memory.also)]


def _take_project(
    selection: Selection,
    key: str,
    files: Iterable[str],
    wanted: Mapping[str, set[str]],
    reasons: dict[str, str],
) -> dict[str, Any] | None:
    """One project of the document; `reasons` gets each file with why it is left out, or ""."""
    paths = {name: Path(name) for name in files}
    own = next((name for name, path in paths.items() if path.parent.name == key), "")
    read = {
        name: _read(path, selection)
        for name, path in paths.items()
        if path.parent.name != layout.ARCHIVED
    }
    of_project = read[own].reason if own else NO_PROJECT
    found: dict[str, dict[str, Any]] = {}
    for name in paths:
        if name not in read:
            reasons[name] = ARCHIVED
            continue
        top = read[name].top
        reasons[name] = "" if selection.every and top else of_project or read[name].reason
        if top and not reasons[name]:
            found[name] = top if selection.whole else _chosen(top, wanted.get(name, set()))
    held = [top for top in found.values() if selection.whole or top.get("events")]
    if not held:
        return None
    tasks = {
        paths[name].name.removesuffix(".json"): top
        for name, top in found.items()
        if name != own and (selection.whole or top.get("events"))
    }
    head = found.get(own) or project_head(key, key[:SHORT_KEY], "", held[0])
    return {"project": head, "tasks": _in_js_order(tasks.items())}


def project_head(key: str, name: str, origin: str, times: Mapping[str, Any]) -> dict[str, Any]:
    """A project.json without events for a project that has none."""
    return {
        "projectKey": key,
        "projectName": name,
        "origin": origin,
        "createdAt": times.get("createdAt", 0),
        "lastActive": times.get("lastActive", 0),
        "events": [],
    }


def _chosen(top: Mapping[str, Any], ids: set[str]) -> dict[str, Any]:
    """The file with these of its events alone."""
    events = top.get("events")
    listed = events if isinstance(events, list) else []
    return {**top, "events": [e for e in listed if isinstance(e, dict) and str(e.get("id")) in ids]}


@dataclass(frozen=True, slots=True)
class _Read:
    """One file, and why Ambient would not load it; empty when it would."""

    top: dict[str, Any] | None
    reason: str = ""


def _read(path: Path, selection: Selection) -> _Read:
    """A file as Ambient reads it: bytes that are not UTF-8 become U+FFFD."""
    try:
        text = read_bytes(path, selection.root).decode("utf-8", "replace")
        top = _parsed(text.removeprefix(BYTE_ORDER_MARK))
    except (UnreadableFile, ValueError, RecursionError):
        return _Read(None, UNREADABLE)
    if not isinstance(top, dict):
        return _Read(None, UNREADABLE)
    if text.startswith(BYTE_ORDER_MARK):
        return _Read(top, UNREADABLE)
    return _Read(top, EXPIRED if _is_idle(top, selection.now) else "")


def _is_idle(top: Mapping[str, Any], now: datetime) -> bool:
    """The test of src/memory/store.ts:74; a file that does not say a time is never idle."""
    try:
        active = float(top.get("lastActive", "nan") or 0)
    except (TypeError, ValueError):
        return False
    return (now.timestamp() - IDLE_LIMIT.total_seconds()) * 1000 > active


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
