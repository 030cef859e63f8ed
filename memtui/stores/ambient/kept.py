"""Events that left Ambient's files and stay with memtui: superseded and retired ones.

Ambient removes a superseded decision and keeps no history. The sidecar keeps the memory, its
lineage, and the raw text of every place it stood in, so that it can be put back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from memtui.changes import Edit
from memtui.errors import Refused
from memtui.stores.ambient.desk import EventDesk
from memtui.stores.ambient.events import Copy, EventFile, event
from memtui.stores.ambient.project_files import ProjectFiles, touched
from memtui.stores.overlay import keep


def taken_out(
    desk: EventDesk, files: ProjectFiles, id: str, status: str, successors: tuple[str, ...] = ()
) -> tuple[Edit, ...]:
    """Take an event out of every file that holds it, and keep it."""
    copies = files.copies(id)
    now = event(files.project, id, copies, desk.label, desk.now)
    memory = replace(now, status=status, superseded_by=successors)
    kept = keep(memory, (_place(copy, desk) for copy in copies))
    removals = tuple(copy.set(None) for copy in copies)
    return (*removals, *desk.noted(id, files.shard, kept=kept))


def _place(copy: Copy, desk: EventDesk) -> Mapping[str, Any]:
    return {
        "file": os.path.relpath(copy.where.file.path, desk.root),
        "index": copy.named.index,
        "raw": copy.named.record.raw,
    }


def put_back(desk: EventDesk, files: ProjectFiles, id: str) -> tuple[Edit, ...]:
    """Put a kept event into the files it stood in, where they still exist.

    Raises Refused when none of them does.
    """
    present = {str(file.file.path): file for file in files.project.files}
    into: list[EventFile] = []
    edits: list[Edit] = []
    for place in _places(desk.sidecar.entry(id)):
        file = present.get(str(desk.root / place["file"]))
        if file is None or any(named.id == id for named in file.records):
            continue
        index = place["index"] if place["index"] < len(file.file.records) else None
        edits += file.file.insert_raw(id, place["raw"], index)
        into.append(file)
    if not edits:
        raise Refused(
            "none of the files it stood in is there any more",
            where=str(files.folder),
            do="add it anew",
        )
    return (*edits, *touched(into, desk.milliseconds), *desk.noted(id, files.shard, kept=None))


def _places(entry: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """The places of a kept event that are whole."""
    kept = entry.get("kept")
    places = kept.get("places") if isinstance(kept, dict) else None
    for place in places if isinstance(places, list) else ():
        if (
            isinstance(place, dict)
            and isinstance(place.get("file"), str)
            and isinstance(place.get("raw"), str)
            and isinstance(place.get("index"), int)
            and place["index"] >= 0
        ):
            yield place
