"""A Simple Memory on disk: where it is, what it holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from memtui.changes import Act, Change, Edit, Plan
from memtui.model import CURRENT, Memory
from memtui.stores.action_support import ActHandler, ActionSupport
from memtui.stores.base import Reading, Shard, StoreView
from memtui.stores.file_store import FileStore
from memtui.stores.importing import is_import
from memtui.stores.plans import dangling_warnings, plan_one
from memtui.stores.scanning import FoundShard, LastRead
from memtui.stores.sidecar import Sidecar
from memtui.stores.sidecar_acts import plan_beside
from memtui.stores.simple_memory import adding, editing, record_files
from memtui.stores.simple_memory import editing as pins
from memtui.stores.simple_memory.editing import merge
from memtui.stores.simple_memory.importing import plan_carried
from memtui.stores.simple_memory.record_files import SHARD, PartFile, RecordContext, fixed
from memtui.stores.simple_memory.records import (
    EPISODES,
    FACTS,
    PART_OF_KIND,
    PARTS,
    SCHEMA,
    tags_of,
)
from memtui.stores.values import utc_now

Editing = Callable[[Change, Memory, RecordContext], tuple[Edit, ...]]


def _not_on(act: Act, memory: Memory) -> str:
    why = fixed(memory)
    if why:
        return why
    if act in (Act.ACCEPT, Act.DECLINE) and memory.status != "proposed":
        return "it is not a proposal"
    if act is Act.RETIRE and memory.status == "retired":
        return "it is retired already"
    if act is Act.RESTORE and memory.status in CURRENT:
        return "it is current already"
    if act is Act.RETYPE and memory.kind != SCHEMA.kind:
        return "only a schema item has a type"
    if act is Act.SUPERSEDE and memory.kind == EPISODES.kind:
        return "an episode is what happened; it has no successor"
    if act is Act.MERGE and memory.kind != FACTS.kind:
        return "only facts can be merged"
    return ""


def _native_tags(memory: Memory) -> tuple[str, ...]:
    return tags_of(PART_OF_KIND[memory.kind], memory.extra)


def _add(change: Change, context: RecordContext) -> Plan:
    return plan_carried(change, context) if is_import(change) else adding.add(change, context)


def _one(editing: Editing, *, ends: bool = False) -> ActHandler[RecordContext]:
    """An act whose edits are all of one record and its entry."""

    def plan(change: Change, memory: Memory, context: RecordContext) -> Plan:
        return plan_one(change, memory, editing(change, memory, context), ends=ends)

    return plan


def _link(change: Change, memory: Memory, context: RecordContext) -> Plan:
    native = pins.native_link(change, memory, context)
    if native is None:
        return plan_beside(change, context.beside(memory), context.now)
    return plan_one(change, memory, native)


def _delete(change: Change, memory: Memory, context: RecordContext) -> Plan:
    target = context.target(memory)
    edits: tuple[Edit, ...] = (target.removed(), *target.beside.forget())
    return plan_one(
        change, memory, edits, dangling_warnings(memory, context.view.memories(context.label))
    )


ACTS = ActionSupport(
    editable=editing.EDITABLE,
    add=_add,
    handlers={
        Act.EDIT: _one(editing.edit),
        Act.RETYPE: _one(editing.edit),
        Act.RETIRE: _one(editing.retire, ends=True),
        Act.RESTORE: _one(editing.restore),
        Act.ACCEPT: _one(editing.accept),
        Act.DECLINE: _one(editing.decline, ends=True),
        Act.PIN: _one(pins.pin),
        Act.UNPIN: _one(pins.pin),
        Act.LINK: _link,
        Act.UNLINK: _link,
        Act.SUPERSEDE: adding.supersede,
        Act.MERGE: merge,
        Act.DELETE: _delete,
    },
    unsupported={},
    shard_of=lambda _: SHARD,
    not_on=_not_on,
    native_tags=_native_tags,
)


FEWEST_FILES = 2
"""Of the three files: one alone, such as `schema.json`, is too common a name to go by."""


def detect(path: Path) -> Path | None:
    """The folder that holds the files, when this is it, or one of its files."""
    names = {part.file for part in PARTS}
    folder = path.parent if path.name in names and os.path.isfile(path) else path
    there = [name for name in names if os.path.isfile(folder / name)]
    if len(there) < FEWEST_FILES or not all(_is_array(folder / name) for name in there):
        return None
    return folder


def _is_array(path: Path) -> bool:
    """Does the file begin as a JSON array? An empty or unreadable one is given the benefit."""
    try:
        with open(path, "rb") as file:
            head = file.read(4_096).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError:
        return True
    return not head or head.startswith(b"[")


class SimpleMemoryStore(FileStore[RecordContext]):
    """Facts, episodes and schema items in three JSON arrays of one folder."""

    format = "simple-memory"
    acts = ACTS

    def __init__(self, root: Path, label: str, now: Callable[[], datetime] = utc_now) -> None:
        super().__init__(root, label, now)
        self._last: LastRead[PartFile] = LastRead()

    def found(self) -> list[FoundShard]:
        """All files together: the records refer to each other across them."""
        paths = (str(self.root / part.file) for part in PARTS)
        return [
            FoundShard(record_files.SHARD, tuple(path for path in paths if os.path.lexists(path)))
        ]

    def read_files(self, shard: Shard, sidecar: Sidecar) -> Reading:  # noqa: ARG002
        """All memories of the store: there is only the one shard."""
        return record_files.read(self.root, self.label, sidecar)

    def plan_context(self, view: StoreView) -> RecordContext:
        return RecordContext(**self.context_fields(view), last=self._last)
