"""One items.json as it is at this moment: what planning a change starts from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memtui.changes import Edit, Plan, RecordEdit, TextEdit
from memtui.errors import Conflict, UnreadableFile
from memtui.files.json_spans import load, new_record
from memtui.files.reading import decode, read_bytes, safe_join
from memtui.model import Memory
from memtui.stores.agent_memory import facts, layout
from memtui.stores.agent_memory.notes import stated_type
from memtui.stores.json_file import Named, named_records, read_json
from memtui.stores.unread import as_refused

INDENT = "  "
"""What jq puts before each level."""


@dataclass(frozen=True, slots=True)
class FactFile:
    """The facts of one entity."""

    path: Path
    slug: str
    exists: bool
    type: str
    """The entity's type: of its first fact, else of its summary, else empty."""
    records: tuple[Named, ...] = field(default=(), repr=False)
    memories: tuple[Memory, ...] = field(default=(), repr=False)

    def record(self, id: str) -> Named:
        """The record with this id. Raises Conflict when another program took it away."""
        for named in self.records:
            if named.id == id:
                return named
        raise Conflict("another program removed this fact", where=str(self.path))

    def coming(self, planned: Iterable[Plan], label: str) -> list[Memory]:
        """The active facts that these plans would add here; their texts are all that counts."""
        path = str(self.path)
        raws = [
            edit.after
            for plan in planned
            for edit in plan.edits
            if isinstance(edit, RecordEdit) and edit.path == path and edit.before is None
        ]
        values = [load(raw) for raw in raws if raw is not None]
        return [
            Memory(f"{label}:{value['id']}", value["id"], label, "fact", content=value["content"])
            for value in values
            if value.get("status") == facts.ACTIVE
        ]

    def edit(self, named: Named, after: str | None) -> RecordEdit:
        """Set or remove a record."""
        return RecordEdit(str(self.path), (), "id", named.id, named.record.raw, after, named.index)

    def insert(self, value: dict[str, Any]) -> tuple[Edit, ...]:
        """Put a new fact at the end; a file that does not exist is made, empty, first."""
        neighbour = self.records[-1].record.raw if self.records else None
        return self.insert_raw(str(value["id"]), new_record(neighbour, value, INDENT))

    def insert_raw(self, id: str, raw: str) -> tuple[Edit, ...]:
        """Put a fact that is written down already at the end."""
        path = str(self.path)
        made = () if self.exists else (TextEdit(path, None, "[]\n"),)
        return (*made, RecordEdit(path, (), "id", id, None, raw))


def _summary_type(folder: Path, root: Path) -> str:
    try:
        return stated_type(decode(read_bytes(folder / layout.SUMMARY, root)))
    except UnreadableFile:
        return ""


def open_facts(root: Path, slug: str, label: str) -> FactFile:
    """Read an entity's facts for a change; an entity that does not exist yet is an empty one.

    Raises Refused when the slug cannot be a folder, or the file cannot be read: what cannot be read
    must not be written.
    """
    folder = safe_join(root / layout.ENTITIES, slug)
    path = folder / layout.ITEMS
    if not os.path.lexists(path):
        return FactFile(path, slug, False, _summary_type(folder, root))
    try:
        file = read_json(path, root)
    except UnreadableFile as error:
        raise as_refused(error, path) from None
    records, _ = named_records(file, slug)
    kind = facts.first_type(named.value for named in records) or _summary_type(folder, root)
    return FactFile(
        path, slug, True, kind, tuple(records), tuple(facts.facts(file, records, label, slug))
    )
