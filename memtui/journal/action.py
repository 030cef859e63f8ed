"""A journal action with its edits, as a value and as JSON for the journal's rows.

Also the memories that an action changed, and the edit history that the actions of a journal make of
each record, value, file and row.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import Any

from memtui.changes import (
    Edit,
    RecordEdit,
    RowEdit,
    SidecarEdit,
    StoreEdits,
    TextEdit,
    TreeEdit,
    ValueEdit,
    invert_edits,
)
from memtui.dataclass import dataclass, field
from memtui.errors import RefError
from memtui.files.merging import is_same_value, record_key
from memtui.model import Memory

_KINDS = (RecordEdit, ValueEdit, TextEdit, SidecarEdit, RowEdit, TreeEdit)
_EDITS = {edit.__name__: edit for edit in _KINDS}


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


@dataclass(frozen=True, slots=True)
class JournalAction:
    """One change a person made; undone and redone as a whole."""

    id: int
    title: str
    time: float
    """Unix seconds of its beginning."""
    changed: float
    """Unix seconds when it was last done, undone or redone."""
    state: ActionState
    parts: tuple[StoreEdits, ...]
    note: str = ""
    """A message for the person: that only a part was done, or what recovery found."""
    refs: Mapping[str, str] = field(default_factory=dict)
    """Right after a change or a redo: the planned ref to the written ref where they differ. Not
    stored."""
    warnings: tuple[str, ...] = ()
    """Right after it was done, undone or redone: what was not done beside it. Not stored."""

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(edit for store_edits in self.parts for edit in store_edits.edits)

    def inverted(self) -> tuple[StoreEdits, ...]:
        """Return the edits that undo it."""
        return tuple(
            StoreEdits(store_edits.store, invert_edits(store_edits.edits))
            for store_edits in reversed(self.parts)
        )


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a file or table row."""

    path: str
    pre: str
    """SHA-256 before; '' where there is no file."""
    post: str
    done: bool


def pack(value: Any) -> str:
    """Encode a value as ASCII JSON, so that lone surrogates survive SQLite."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def unpack(text: str) -> Any:
    return json.loads(text)


def pack_parts(parts: tuple[StoreEdits, ...]) -> str:
    return pack([{"store": e.store, "edits": [*map(_edit_record, e.edits)]} for e in parts])


def unpack_parts(text: str) -> tuple[StoreEdits, ...]:
    """Invert `pack_parts`. Raises KeyError, TypeError or ValueError on other text."""
    return tuple(
        StoreEdits(record["store"], tuple(_edit(edit) for edit in record["edits"]))
        for record in unpack(text)
    )


def _edit_record(edit: Edit) -> dict[str, Any]:
    record: dict[str, Any] = {"edit": type(edit).__name__}
    for name in edit.__dataclass_fields__.keys() - {"undoes"}:  # an action is stored as done
        value = getattr(edit, name)
        record[name] = dict(value) if isinstance(value, Mapping) else value
    return record


def _edit(record: dict[str, Any]) -> Edit:
    values = dict(record)
    kind = _EDITS[values.pop("edit")]
    for name in ("array", "pointer"):
        if name in values:
            values[name] = tuple(values[name])
    edit: Edit = kind(**values)
    return edit


@dataclass(frozen=True, slots=True)
class ActionStep:
    """One edit as it was last made: the inverted one for an action that is undone."""

    action: JournalAction
    store: str
    """Path of the store's root."""
    edit: Edit


@dataclass(frozen=True, slots=True)
class EditHistory:
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


def edit_histories(actions: Iterable[JournalAction]) -> list[EditHistory]:
    """Group the edits of these actions, which come newest first, by target."""
    found: dict[Hashable, list[ActionStep]] = {}
    ended: set[Hashable] = set()
    numbers: dict[Hashable, int] = {}
    for step in _steps(actions):
        target = _target(step.edit)
        if isinstance(step.edit, TextEdit) and (step.edit.items or step.edit.by_lines):
            # Others write such a file between any two edits. Its items have histories of their own.
            number = numbers.get(target, 0)
            known = found.get((target, number))
            if step.edit.items or (known and not _follows(known[-1].edit, step.edit)):
                number += 1
            numbers[target] = number
            target = target, number
        steps = found.setdefault(target, [])
        if steps and not _follows(steps[-1].edit, step.edit):
            ended.add(target)  # another program wrote in between
        if target not in ended or _creates(step.edit):
            steps.append(step)
    return [EditHistory(target, tuple(steps)) for target, steps in found.items()]


def last_steps(
    actions: Iterable[JournalAction], is_wanted: Callable[[Edit], bool]
) -> list[ActionStep]:
    """The edits of these actions, which come newest first, that are wanted, in the same order."""
    return [step for step in _steps(actions) if is_wanted(step.edit)]


def _steps(actions: Iterable[JournalAction]) -> Iterator[ActionStep]:
    for action in actions:
        undone = action.state is ActionState.UNDONE
        for store_edits in action.inverted() if undone else action.parts:
            for edit in reversed(store_edits.edits):
                if isinstance(edit, TreeEdit):  # a new store is its programs' own
                    continue
                yield ActionStep(action, store_edits.store, edit)


def changed_memories(
    action: JournalAction, labels: Mapping[str, str], get: Callable[[str], Memory]
) -> list[Memory]:
    """Return the memories that an action changed and that exist, in the order of its edits.

    Args:
        action: the action.
        labels: root of a store -> label of the open store there.
        get: the memory of a ref; raises RefError.
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
    if isinstance(edit, RecordEdit | SidecarEdit):
        yield edit.id
    elif isinstance(edit, RowEdit):
        for row in (edit.key, edit.after or {}, edit.before or {}):
            yield from (str(row[name]) for name in ("id", "rowid") if name in row)
    else:
        path = os.path.relpath(edit.path, root)
        yield path
        yield path.removesuffix(".md")


def _target(edit: Edit) -> Hashable:
    if isinstance(edit, SidecarEdit):
        return "note", edit.root, edit.id
    if isinstance(edit, RecordEdit):
        return edit.path, *record_key(edit)
    if isinstance(edit, ValueEdit):
        return edit.path, edit.pointer
    if isinstance(edit, RowEdit):
        return edit.path, edit.table, json.dumps(dict(edit.key), sort_keys=True)
    return (edit.path,)


def _creates(edit: Edit) -> bool:
    """Whether this edit created its record, value or file."""
    if isinstance(edit, ValueEdit):
        return not edit.before
    return isinstance(edit, RecordEdit | TextEdit) and edit.before is None


def _follows(newer: Edit, older: Edit) -> bool:
    """Whether the newer edit started from the result of the older one."""
    if isinstance(newer, RecordEdit) and isinstance(older, RecordEdit):
        return is_same_value(newer.before, older.after)
    if isinstance(newer, ValueEdit) and isinstance(older, ValueEdit):
        return is_same_value(newer.before or None, older.after or None)
    if isinstance(newer, RowEdit) and isinstance(older, RowEdit):
        if newer.before is None or older.after is None:
            return newer.before is older.after
        shared = newer.before.keys() & older.after.keys()
        return all(newer.before[name] == older.after[name] for name in shared)
    return newer.before == older.after
