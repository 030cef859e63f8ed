"""What planning a change starts from, whatever the format: the store, its sidecar, the time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

from memtui.changes import Change, SidecarEdit
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.base import StoreView
from memtui.stores.sidecar import Sidecar, sidecar_edits
from memtui.stores.sidecar_acts import SidecarEntry


class ContextFields(TypedDict):
    """The fields of every `PlanContext`, for formats that add fields of their own."""

    root: Path
    label: str
    sidecar: Sidecar
    now: datetime
    view: StoreView
    shard_of: Callable[[Memory], str]


@dataclass(frozen=True, slots=True)
class PlanContext:
    """One store, while one change is planned. A format whose acts need more makes a subclass."""

    root: Path
    label: str
    sidecar: Sidecar = field(repr=False)
    now: datetime
    view: StoreView = field(repr=False)
    shard_of: Callable[[Memory], str] = field(repr=False)
    """Key of the shard that holds a memory."""

    def ref(self, named: object) -> str:
        """The ref of a memory of this store that is named by its id or its ref."""
        return f"{self.label}:{str(named).removeprefix(f'{self.label}:')}"

    def sidecar_entry(self, memory: Memory) -> SidecarEntry:
        """The memory and its entry in the sidecar."""
        return SidecarEntry(memory, self.root, self.sidecar, self.shard_of(memory))

    def entry_edits(self, id: str, shard: str, **values: Any) -> tuple[SidecarEdit, ...]:
        """The edit that sets these keys of the entry of a memory that is not there yet, or of one
        in a shard that is known; none when it says so already."""
        return sidecar_edits(self.root, self.sidecar, id, shard, **values)

    def others(self, change: Change, memory: Memory) -> tuple[Memory, ...]:
        """Those that a MERGE would merge into this memory. Raises Refused or RefError."""
        named = change.fields.get("others")
        refs = dict.fromkeys(map(self.ref, named if isinstance(named, list | tuple) else ()))
        others = tuple(self.view.get(ref) for ref in refs if ref != memory.ref)
        if not others:
            raise Refused("there is nothing to merge it with", where=memory.ref)
        return others
