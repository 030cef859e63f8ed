"""The history of memtui's edits of each record, value, file and row."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from memtui.changes import Edit, RecordEdit, RowEdit, SidecarEdit, TextEdit, TreeEdit, ValueEdit
from memtui.files.merging import is_same_value, record_key
from memtui.journal.action import ActionState, JournalAction


@dataclass(frozen=True, slots=True)
class Step:
    """One edit as it was last made: the inverted one for an action that is undone."""

    action: JournalAction
    store: str
    """See `Part.store`."""
    edit: Edit


@dataclass(frozen=True, slots=True)
class EditHistory:
    """The edits of one target, newest first, each starting from the result of the next.

    Older than a change by another program are only the edits that created the target.
    """

    target: Hashable
    """What was edited: its path, and its key inside the file."""
    steps: tuple[Step, ...]

    @property
    def edits(self) -> tuple[Edit, ...]:
        return tuple(step.edit for step in self.steps)


def edit_histories(actions: Iterable[JournalAction]) -> list[EditHistory]:
    """Group the edits of these actions, which come newest first, by target."""
    found: dict[Hashable, list[Step]] = {}
    ended: set[Hashable] = set()
    for step in _steps(actions):
        target = _target(step.edit)
        steps = found.setdefault(target, [])
        if steps and not _follows(steps[-1].edit, step.edit):
            ended.add(target)  # another program wrote in between
        if target not in ended or _creates(step.edit):
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
