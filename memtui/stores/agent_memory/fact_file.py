"""One items.json as it is at this moment: what planning a change starts from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from memtui.changes import Plan, RecordEdit
from memtui.errors import Conflict, UnreadableFile
from memtui.files.json.editing import load
from memtui.files.reading import decode, read_bytes, safe_join
from memtui.model import Memory
from memtui.stores.agent_memory import facts, layout
from memtui.stores.agent_memory.notes import stated_type
from memtui.stores.json_file import JsonFile, Named, named_records, read_to_change

INDENT = "  "
"""What jq puts before each level."""


@dataclass(frozen=True, slots=True)
class FactFile:
    """The facts of one entity."""

    items: JsonFile
    slug: str
    type: str
    """The entity's type: of its first fact, else of its summary, else empty."""
    records: tuple[Named, ...] = field(default=(), repr=False)
    memories: tuple[Memory, ...] = field(default=(), repr=False)

    def record(self, id: str) -> Named:
        """The record with this id. Raises Conflict when another program took it away."""
        for named in self.records:
            if named.id == id:
                return named
        raise Conflict("another program removed this fact", where=str(self.items.path))

    @property
    def active(self) -> list[Memory]:
        """The facts whose status is exactly `active`: those that the program compares with.

        It ignores those of any other status, also of none.
        """
        each = zip(self.records, self.memories, strict=True)
        return [memory for named, memory in each if named.value.get("status") == facts.ACTIVE]

    def coming(self, planned: Iterable[Plan], label: str) -> list[Memory]:
        """The active facts that these plans would add here; their texts are all that counts."""
        path = str(self.items.path)
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
    file = read_to_change(folder / layout.ITEMS, root)
    records, _ = named_records(file, slug)
    kind = facts.first_type(named.value for named in records) or _summary_type(folder, root)
    memories = facts.facts(file, records, label, slug)
    return FactFile(file, slug, kind, tuple(records), tuple(memories))
