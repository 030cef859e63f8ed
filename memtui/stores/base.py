"""The protocols of a store: `Store` is read, `WritableStore` is also changed.

A **shard** is the unit of reading and caching: a set of files that must be read together because
their memories refer to each other (an entity folder, a project, one document). A shard whose stamp
did not change is not read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeGuard

from memtui.changes import Act, Change, Edit, Plan
from memtui.dataclass import dataclass
from memtui.files.save_hooks import WriteRecorder as WriteRecorder
from memtui.model import Memory


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be read, and why; the rest of its store is read all the same."""

    file: str
    """Absolute path."""
    reason: str
    """Half a sentence for people."""
    gone: bool = False
    """It was listed and then did not exist. It is tried again at every refresh, because it may come
    back with the same stamp, as when a folder is moved away and back."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Files that are read together."""

    key: str
    """Stable and unique within the store: `entities/alice`, `2026-11-18.md`."""
    files: tuple[str, ...]
    """Absolute paths: all that the shard's memories depend on."""
    stamp: str
    """Changes whenever one of the files may have changed, see `memtui.files.reading.file_stamp`."""


@dataclass(frozen=True, slots=True)
class Scan:
    """The shards of a store in reading order, and what could not be listed."""

    shards: tuple[Shard, ...]
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """The memories of one shard, in the store's own order, and the files that could not be read."""

    memories: tuple[Memory, ...]
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """What a store wrote, where that differs from the plan.

    For example, a row number that was free when the change was planned can be another program's row
    when it is written.
    """

    edits: tuple[Edit, ...]
    """The edits as they were made, one for each that was given; undo reverts these."""
    refs: Mapping[str, str]
    """Planned ref -> written ref, where they differ."""


class StoreView(Protocol):
    """The memories that a store can look up while it plans a change."""

    def get(self, ref: str) -> Memory:
        """Return the memory with this ref. Raises RefError."""
        ...

    def memories(self, store: str) -> Iterable[Memory]:
        """Return all memories of the store with this label, of every status."""
        ...


class Store(Protocol):
    """One place on disk in one format, to be read.

    A class may inherit from this protocol or only have its members. Methods are called from one
    thread at a time. Paths are absolute.
    """

    format: str
    """Name of the format, as in `Format.name`."""
    label: str
    """Unique among the open stores; the first part of every ref."""
    root: Path
    """Where the store lies, as `Format.detect` gave it."""

    def scan(self) -> Scan:
        """List the shards without reading them.

        Called whenever something may have changed on disk, so it should cost stat calls only.

        Returns:
            The shards in reading order, with keys that stay the same and stamps that change with
            the files; and the files or folders that cannot be listed.
        """
        ...

    def read(self, shard: Shard) -> Reading:
        """Read one shard that `scan` listed.

        Args:
            shard: The shard; its files may have changed or gone since the scan.

        Returns:
            Its memories, each with a ref `label:id` that is unique in the store and with its
            origin among the shard's files; and the files that could not be read, with the reason.
        """
        ...


class WritableStore(Store, Protocol):
    """A store whose memories can be changed."""

    @property
    def read_only(self) -> str:
        """Why nothing can be written here at present, such as missing permissions; "" if it can."""
        return ""

    @property
    def editable(self) -> frozenset[str]:
        """Names of the `Memory` fields that `Act.EDIT` can change."""
        ...

    def refusal(self, act: Act, memory: Memory | None) -> str:
        """Say whether an act is possible, before the person is asked for its details.

        Args:
            act: What is to be done.
            memory: The memory; None for an ADD or if no particular one is meant.

        Returns:
            Why it is not possible, as half a sentence for people; "" if it is.
        """
        ...

    def plan(self, change: Change, view: StoreView) -> Plan:
        """Work out the exact edits of a change. Writes nothing.

        Args:
            change: What the person asks for.
            view: The memories of all open stores, as they were last read.

        Returns:
            The edits with what they replace, so that they can be shown, made and undone.

        Raises:
            Refused: The format has no way to do it.
            Conflict: The files are no longer what the view shows.
            RefError: The change names a memory that does not exist.
        """
        ...

    def apply(self, edits: Sequence[Edit], recorder: WriteRecorder) -> Written | None:
        """Make edits that `plan` gave, or that undo such edits.

        Args:
            edits: What to write; files that are no longer as planned must not be overwritten.
            recorder: Is told before and after each write, for recovery after a crash.

        Returns:
            What was written where that differs from the plan; None if nothing does.

        Raises:
            Conflict: A file changed since, and the edit cannot be merged into it.
            SaveError: It could not be written. No file is half written in either case.
        """
        ...

    def look_again(self, shards: Sequence[Shard]) -> Sequence[Shard]:
        """Stamp these shards anew after a write, without looking at the rest of the store.

        Args:
            shards: Shards of the last scan.

        Returns:
            Those of which all files exist, with the stamps of now. Shards that are new or gone
            are left to the next `scan`.
        """
        keys = {shard.key for shard in shards}
        return [shard for shard in self.scan().shards if shard.key in keys]


def is_writable(store: Store) -> TypeGuard[WritableStore]:
    """Whether the store has the writing half of the protocol."""
    return callable(getattr(store, "plan", None)) and callable(getattr(store, "apply", None))
