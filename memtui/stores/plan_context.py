"""What planning starts from, and what a format does for each act."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

from memtui.changes import Act, Change, Plan, SidecarEdit
from memtui.errors import Refused
from memtui.model import Memory
from memtui.stores.base import StoreView
from memtui.stores.plans import SidecarEntry
from memtui.stores.sidecar import Sidecar, sidecar_edits


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


AnyContext = TypeVar("AnyContext", bound=PlanContext)

ActHandler = Callable[[Change, Memory, AnyContext], Plan]
"""Plans one act on a memory that exists. Raises Refused, Conflict or RefError."""


def _always(_act: Act, _memory: Memory) -> str:
    return ""


def _no_tags(_memory: Memory) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True)
class ActionSupport(Generic[AnyContext]):
    """How a format does what it can, and why it cannot do the rest.

    The acts that lie beside any store (`sidecar_acts.BESIDE`) need not be named here.
    """

    editable: frozenset[str]
    """The fields that EDIT can change."""
    add: Callable[[Change, AnyContext], Plan]
    """Plans an ADD. Raises Refused."""
    handlers: Mapping[Act, ActHandler[AnyContext]]
    unsupported: Mapping[Act, str]
    """Why the format has no way to do an act."""
    shard_of: Callable[[Memory], str]
    """Key of the shard that holds a memory."""
    not_on: Callable[[Act, Memory], str] = _always
    """Why an act that the format has cannot be done on this memory; empty when it can."""
    native_tags: Callable[[Memory], Iterable[str]] = _no_tags
    """Tags that the files themselves give, so that they are not kept twice."""
