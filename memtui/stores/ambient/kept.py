"""Events that left Ambient's files and stay with memtui: superseded and retired ones.

Ambient removes a superseded decision and keeps no history. The sidecar keeps the memory, its
lineage, and the raw text of every place it stood in, so that it can be put back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.changes import Edit, RecordEdit
from memtui.errors import Refused
from memtui.stores.ambient.events import Copy, EventFile, event
from memtui.stores.ambient.project_files import ProjectFiles, set_copy, touched
from memtui.stores.ambient.reading import EVENTS
from memtui.stores.sidecar import Sidecar, edit, keep


@dataclass(frozen=True, slots=True)
class Archive:
    """The sidecar of one store, as the place for what Ambient gives up."""

    root: Path
    label: str
    sidecar: Sidecar
    now: datetime

    def remove(
        self, files: ProjectFiles, id: str, status: str, successors: tuple[str, ...] = ()
    ) -> tuple[Edit, ...]:
        """Take an event out of every file that holds it, and keep it."""
        copies = files.copies(id)
        now = event(files.project, id, copies, self.label, self.now)
        memory = replace(now, status=status, superseded_by=successors)
        kept = edit(
            self.root,
            self.sidecar,
            id,
            files.shard,
            kept=keep(memory, (self._place(copy) for copy in copies)),
        )
        removals = tuple(set_copy(copy, None) for copy in copies)
        return removals if kept is None else (*removals, kept)

    def _place(self, copy: Copy) -> Mapping[str, Any]:
        return {
            "file": os.path.relpath(copy.where.file.path, self.root),
            "index": copy.named.index,
            "raw": copy.named.record.raw,
        }

    def put_back(self, files: ProjectFiles, id: str, now: int) -> tuple[Edit, ...]:
        """Put a kept event into the files it stood in, where they still exist.

        Raises Refused when none of them does.
        """
        entry = self.sidecar.entry(id)
        present = {str(file.file.path): file for file in files.project.files}
        into: list[EventFile] = []
        edits: list[Edit] = []
        for place in _places(entry):
            file = present.get(str(self.root / place["file"]))
            if file is None or any(named.id == id for named in file.records):
                continue
            index = place["index"] if place["index"] < len(file.file.records) else None
            path = str(file.file.path)
            edits.append(RecordEdit(path, EVENTS, "id", id, None, place["raw"], index))
            into.append(file)
        if not edits:
            raise Refused(
                "none of the files it stood in is there any more",
                where=str(files.folder),
                do="add it anew",
            )
        freed = edit(self.root, self.sidecar, id, files.shard, kept=None)
        beside: tuple[Edit, ...] = () if freed is None else (freed,)
        return (*edits, *touched(into, now), *beside)


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
