"""What every store offers: find it, scan it cheaply, read it shard by shard, plan and make changes.

A **shard** is the unit of reading and caching: a set of files that must be read together because
their memories refer to each other (an entity folder, an Ambient project, one document). A shard
whose stamp did not change is not read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memtui.changes import Act, Change, Edit, Plan
from memtui.files.write_recorder import WriteRecorder as WriteRecorder
from memtui.model import Memory


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be read, and why; it never stops the rest of its store."""

    file: str
    reason: str
    gone: bool = False
    """It was listed and then not there. It may come back exactly as it was, stamp and all, as when
    a folder is moved away and back: so it is looked for again every time."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Files that are read together."""

    key: str
    """Stable within the store: `entities/alice`, `projects/4d3a…`, `2026-11-18.md`."""
    files: tuple[str, ...]
    """Absolute paths."""
    stamp: str
    """Changes whenever one of the files may have changed (see `files.reading.file_stamp`)."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a cheap look at the folder says: shards in reading order, and what is in the way."""

    shards: tuple[Shard, ...]
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """The memories of one shard, in the store's own order, and the files that could not be read."""

    memories: tuple[Memory, ...]
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """What a store wrote where that differs from the plan, as of the moment of the write.

    A number that was free when the change was planned can belong to another program's row by then.
    """

    edits: tuple[Edit, ...]
    """The edits as they were made, one for each that was asked for; undoing takes these back."""
    refs: Mapping[str, str]
    """The ref that was planned to the ref that was written, where they differ."""


class StoreView(Protocol):
    """What a store may ask about its own memories while it plans a change."""

    def get(self, ref: str) -> Memory:
        """Raises RefError."""
        ...

    def memories(self, store: str) -> Iterable[Memory]:
        """All memories of the store with this label, whatever their status."""
        ...


class Store(Protocol):
    """One place on disk in one format."""

    format: str
    """Name of the format: `agent-memory`, `ambient`..."""
    label: str
    """Unique among the open stores; the first part of every ref."""
    root: Path

    @property
    def read_only(self) -> str:
        """Why nothing can be written here; empty when it can."""
        ...

    @property
    def editable(self) -> frozenset[str]:
        """The `Memory` fields that EDIT can change in this format."""
        ...

    def scan(self) -> Scan:
        """List the shards without reading them; stat calls only. Never raises for one bad file."""
        ...

    def look_again(self, shards: Sequence[Shard]) -> Sequence[Shard]:
        """These shards with the stamps of now, as far as all their files are there; a look at no
        other file. What is new or gone is told by `scan` only."""
        ...

    def read(self, shard: Shard) -> Reading:
        """Read one shard. Faults of single files come back as `Unreadable`."""
        ...

    def refusal(self, act: Act, memory: Memory | None) -> str:
        """Why this act cannot be done on this memory; empty when it can."""
        ...

    def plan(self, change: Change, view: StoreView) -> Plan:
        """Work out the exact edits. Writes nothing. Raises Refused or RefError."""
        ...

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> Written | None:
        """Make the edits; None when they were made exactly as they are.

        Raises Conflict or SaveError, with nothing half done in any file.
        """
        ...
