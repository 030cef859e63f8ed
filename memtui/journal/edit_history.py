"""What memtui did to each record, value, file and row, one step after another."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from memtui.changes import Edit, RecordEdit, RowEdit, SidecarEdit, TextEdit, TreeEdit, ValueEdit
from memtui.files.merging import is_same_value, record_key
from memtui.journal.action import ActionState, JournalAction


@dataclass(frozen=True, slots=True)
class Step:
    """One edit as it was made last: of an action taken back, the inverted one."""

    action: JournalAction
    store: str
    """See `Part.store`."""
    edit: Edit


@dataclass(frozen=True, slots=True)
class EditHistory:
    """The steps on one thing, newest first, each beginning with what the next one left.

    Where somebody else wrote in between, of the older ones only those that made the thing.
    """

    target: Hashable
    """What was written: its path, and what names it inside."""
    steps: tuple[Step, ...]

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(step.edit for step in self.steps)


def edit_histories(actions: Iterable[JournalAction]) -> list[EditHistory]:
    """The trails of these actions, which come newest first."""
    found: dict[Hashable, list[Step]] = {}
    ended: set[Hashable] = set()
    for step in _steps(actions):
        target = _target(step.edit)
        steps = found.setdefault(target, [])
        if steps and not _follows(steps[-1].edit, step.edit):
            ended.add(target)  # somebody else wrote in between
        if target not in ended or _makes(step.edit):
            steps.append(step)
    return [EditHistory(target, tuple(steps)) for target, steps in found.items()]


def _steps(actions: Iterable[JournalAction]) -> Iterator[Step]:
    for action in actions:
        undone = action.state is ActionState.UNDONE
        for part in action.inverted() if undone else action.parts:
            for edit in reversed(part.edits):
                if isinstance(edit, TreeEdit):  # a new store is its programs' own
                    continue
                yield Step(action, part.store, edit)


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


def _makes(edit: Edit) -> bool:
    """Whether a record, value or file is there because of this edit, whoever changed it since."""
    if isinstance(edit, ValueEdit):
        return not edit.before
    return isinstance(edit, RecordEdit | TextEdit) and edit.before is None


def _follows(newer: Edit, older: Edit) -> bool:
    """Whether the newer edit began with what the older one left."""
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
