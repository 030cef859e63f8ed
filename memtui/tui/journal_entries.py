"""What an action of the journal touched: the memories to go to, and its edits as a diff."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from memtui.changes import Edit, RecordEdit, RowEdit, SidecarEdit, TextEdit, TreeEdit, ValueEdit
from memtui.errors import MemtuiError
from memtui.files.save_transaction import FileDiff

if TYPE_CHECKING:
    from memtui.journal import JournalAction
    from memtui.library import Library
    from memtui.model import Memory


def memories_of(action: JournalAction, library: Library) -> list[Memory]:
    """The memories the action touched that are still there, the first named first."""
    labels = {str(store.root): store.label for store in library.stores}
    found: dict[str, Memory] = {}
    for part in action.parts:
        label = labels.get(part.store)
        for edit in part.edits if label else ():
            for id in _ids(edit, part.store):
                try:
                    memory = library.get(f"{label}:{id}")
                except MemtuiError:
                    continue
                found.setdefault(memory.ref, memory)
                break
    return list(found.values())


def _ids(edit: Edit, root: str) -> Iterator[str]:
    """What the memory of an edit may be called."""
    if isinstance(edit, RecordEdit | SidecarEdit):
        yield edit.id
    elif isinstance(edit, RowEdit):
        for row in (edit.key, edit.after or {}, edit.before or {}):
            yield from (str(row[name]) for name in ("id", "rowid") if name in row)
    else:
        path = os.path.relpath(edit.path, root)
        yield path
        yield path.removesuffix(".md")


def diffs_of(action: JournalAction) -> list[FileDiff]:
    """Each edit as it was made, as text before and after."""
    return [diff for edit in action.edits for diff in _diffs(edit)]


def _diffs(edit: Edit) -> list[FileDiff]:
    if not isinstance(edit, TreeEdit):
        return [_diff(edit)]
    before, after = (_contents(tree) for tree in (edit.before, edit.after))
    return [
        FileDiff(os.path.join(edit.path, name), before.get(name), after.get(name))
        for name in dict.fromkeys([*before, *after])
    ]


def _contents(tree: Mapping[str, Any] | None) -> dict[str, str]:
    """What a folder holds; of a database, how many rows."""
    if tree is None:
        return {}
    found = {name: text for name, (text, _) in tree["files"].items()}
    for name, (_, rows) in tree["databases"].items():
        found[name] = f"{len(rows)} rows\n"
    return found


def _diff(edit: RecordEdit | ValueEdit | TextEdit | SidecarEdit | RowEdit) -> FileDiff:
    if isinstance(edit, RowEdit):
        key = ", ".join(f"{name}={value}" for name, value in edit.key.items())
        return FileDiff(f"{edit.path} {edit.table} {key}", _rows(edit.before), _rows(edit.after))
    if isinstance(edit, SidecarEdit):
        name = f"{edit.root}/.memtui: {edit.id}"
        return FileDiff(name, _rows(edit.before), _rows(edit.after))
    name = f"{edit.path} {edit.id}" if isinstance(edit, RecordEdit) else edit.path
    return FileDiff(name, edit.before, edit.after)


def _rows(values: object) -> str | None:
    if not isinstance(values, dict):
        return None if values is None else str(values)
    return "".join(f"{key}: {'' if value is None else value}\n" for key, value in values.items())
