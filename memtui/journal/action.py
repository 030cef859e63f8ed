"""A journal action with its edits, as a value.

Also the memories that an action changed, and the edit history that the actions of a journal make of
each record, value, file and row.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from memtui.changes import JSON_PARTS, SHARED_TEXTS, Act, Edit, Kind, StoreEdits, invert_edits
from memtui.errors import RefError
from memtui.files.merging import is_same_value
from memtui.model import Memory


class ActionState(StrEnum):
    """The state of an action."""

    INTENT = "intent"
    """Begun: its process is at work, or was killed and the action is not recovered yet."""
    DONE = "done"
    VOID = "void"
    """Nothing of it is on disk."""
    UNDONE = "undone"
    UNSURE = "unsure"
    """Interrupted, and a file is now neither as before nor as after it."""


class StoredEdit(Struct, frozen=True):
    """One edit of an action, as it is stored."""

    action: int
    position: int
    """Its place among the edits of the action."""
    part: int
    """Index of its store in `JournalAction.stores`."""
    edit: Edit
    """With None before and after until its texts are read."""
    in_effect: bool
    """Whether the action has made it, and not taken it back."""
    target: int = 0
    """Id of what it changes."""
    before: int | None = None
    """Id of the text."""
    after: int | None = None


class Author(Struct, frozen=True):
    """The agent that made or proposes a change, by what its program says of itself."""

    client: str
    """Name of the program; may contain any characters."""
    version: str
    session: str
    """Id of the server's process that it was connected to."""

    def __str__(self) -> str:
        return f"{self.client} {self.version}".rstrip()


class JournalAction(Struct, frozen=True):
    """One change a person or an agent made; undone and redone as a whole."""

    id: int
    title: str
    time: float
    """Unix seconds of its beginning."""
    changed: float
    """Unix seconds when it was last done, undone or redone."""
    state: ActionState
    stores: tuple[str, ...]
    """Paths of the roots of the stores that it changed, in order."""
    load: Callable[[], Sequence[StoredEdit]]
    """Reads its edits from the journal, once. Raises SaveError."""
    note: str = ""
    """A message for the person: that only a part was done, or what recovery found."""
    author: Author | None = None
    """The agent that made it; None: a person."""
    refs: Mapping[str, str] = field(default_factory=dict)
    """Right after a change or a redo: the planned ref to the written ref where they differ. Not
    stored."""
    warnings: tuple[str, ...] = ()
    """Right after it was done, undone or redone: what was not done beside it. Not stored."""
    effects: tuple[str, ...] = ()
    """Right after it was undone or redone: what that means for each program. Not stored."""

    @property
    def act(self) -> Act | None:
        """What it does, by its title; None where that names no act."""
        verb = self.title.partition(" ")[0].removesuffix(":")
        return Act(verb) if verb in Act.__members__.values() else None

    @property
    def is_of_several(self) -> bool:
        """Whether it changes several memories, by its title: `retire 3 memories`."""
        return re.match(r"[\w-]+ \d", self.title) is not None

    @property
    def parts(self) -> tuple[StoreEdits, ...]:
        """All of its edits."""
        return self._parts(self.load())

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(stored.edit for stored in self.load())

    def inverted(self) -> tuple[StoreEdits, ...]:
        """Return the edits that undo what it has in effect."""
        parts = self._parts([stored for stored in self.load() if stored.in_effect])
        return tuple(
            StoreEdits(store_edits.store, invert_edits(store_edits.edits))
            for store_edits in reversed(parts)
        )

    def _parts(self, edits: Sequence[StoredEdit]) -> tuple[StoreEdits, ...]:
        by_part: list[list[Edit]] = [[] for _ in self.stores]
        for stored in edits:
            by_part[stored.part].append(stored.edit)
        named = zip(self.stores, by_part, strict=True)
        return tuple(StoreEdits(store, tuple(edits)) for store, edits in named)


class Write(Struct, frozen=True):
    """One write of a file or table row."""

    path: str
    pre: str
    """SHA-256 before; '' where there is no file."""
    post: str
    done: bool


def pack(value: Any) -> str:
    """Encode a value as ASCII JSON, so that lone surrogates survive SQLite."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


class ActionStep(Struct, frozen=True):
    """One edit as it was last made: the inverted one for an action that is undone."""

    action: JournalAction
    stored: StoredEdit
    is_inverted: bool = False
    """Whether it was last taken back."""

    @property
    def store(self) -> str:
        """Path of the store's root."""
        return self.action.stores[self.stored.part]

    @property
    def edit(self) -> Edit:
        return self.stored.edit


class EditHistory(Struct, frozen=True):
    """The edits of one target, newest first, each starting from the result of the next.

    Older than a change by another program are only the edits that created the target. A file that
    holds several memories has a history for each run of edits in which nobody else wrote it.
    """

    target: Hashable
    """What was edited: its path, and its key inside the file."""
    steps: tuple[ActionStep, ...]

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(step.edit for step in self.steps)


_UNTRACKED = (Kind.ROW, Kind.SIDECAR)
"""Kinds whose creation does not count once another program has changed them."""


def edit_histories(steps: Iterable[ActionStep]) -> list[EditHistory]:
    """Group these steps, which come newest first, by target."""
    found: dict[Hashable, list[ActionStep]] = {}
    ended: set[Hashable] = set()
    numbers: dict[Hashable, int] = {}
    whole: set[str] = set()
    """Files that a newer edit of memtui's own has written as a whole: what became of older edits of
    their parts is that edit's doing."""
    for step in steps:
        edit = step.edit
        target: Hashable = edit.target
        if edit.kind is Kind.FILE:
            whole.add(edit.path)
        elif edit.path in whole and edit.kind in JSON_PARTS | SHARED_TEXTS:
            continue
        if edit.kind in SHARED_TEXTS:
            # Others write such a file between any two edits. Its items have histories of their own.
            number = numbers.get(target, 0)
            known = found.get((target, number))
            if edit.kind is not Kind.LINES or (known and not _follows(known[-1].edit, edit)):
                number += 1
            numbers[target] = number
            target = target, number
        steps_of_target = found.setdefault(target, [])
        if steps_of_target and not _follows(steps_of_target[-1].edit, edit):
            ended.add(target)  # another program wrote in between
        if target not in ended or (edit.before is None and edit.kind not in _UNTRACKED):
            steps_of_target.append(step)
    return [EditHistory(target, tuple(steps)) for target, steps in found.items()]


def _follows(newer: Edit, older: Edit) -> bool:
    """Whether the newer edit started from the result of the older one."""
    before, after = newer.before, older.after
    if newer.kind in JSON_PARTS:
        return is_same_value(before, after)
    if newer.kind is Kind.ROW and before is not None and after is not None:
        return all(before[name] == after[name] for name in before.keys() & after.keys())
    return bool(before == after)


def changed_memories(
    action: JournalAction, labels: Mapping[str, str], get: Callable[[str], Memory]
) -> list[Memory]:
    """Return the memories that an action changed and that exist, in the order of its edits.

    `labels` maps the root of a store to the label of the open store there; `get` raises RefError.
    """
    found: dict[str, Memory] = {}
    for part in action.parts:
        label = labels.get(part.store)
        for edit in part.edits if label else ():
            for id in _possible_ids(edit, part.store):
                with suppress(RefError):
                    memory = get(f"{label}:{id}")
                    found.setdefault(memory.ref, memory)
                    break
    return list(found.values())


def _possible_ids(edit: Edit, root: str) -> Iterator[str]:
    if edit.kind in (Kind.RECORD, Kind.SIDECAR):
        yield edit.id
    elif edit.kind is Kind.ROW:
        for row in (edit.row, edit.after or {}, edit.before or {}):
            numbers = [str(row[name]) for name in ("id", "rowid") if name in row]
            yield from (each for n in numbers for each in (n, f"{edit.table}/{n}"))
    else:
        path = os.path.relpath(edit.path, root)
        yield path
        yield path.removesuffix(".md")
