"""Detect whether other programs have reverted the rows that memtui wrote.

Engram writes single columns, so each column that memtui changed is looked at alone; it is compared
as it is read, where NULL and an empty text are the same. What Engram counts and dates by itself
says nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from memtui.changes import RowEdit
from memtui.errors import MemtuiError
from memtui.files.revert_detection import CHANGED, HELD, EditSequence, EditState, EditStatus
from memtui.stores.engram.connection import run_read
from memtui.stores.engram.records import from_json_value, text, to_json_value
from memtui.stores.engram.row_writing import DERIVED
from memtui.stores.engram.rows import find_row
from memtui.stores.engram.schema import Schema, inspect

MEMORY_TABLES = frozenset({"observations", "user_prompts", "memory_relations"})
"""Tables whose rows a person knows of; sessions and former versions only go with them."""
ENGRAM_COLUMNS = DERIVED | {"duplicate_count", "last_seen_at", "id"}
"""Columns that Engram moves by itself."""

Row = Mapping[str, Any]
Found = list[tuple[EditSequence, EditStatus]]


def standing(trails: Sequence[EditSequence]) -> Found:
    """The status of each sequence of row edits, without those whose database cannot be read."""
    by_path: dict[str, list[tuple[EditSequence, list[RowEdit]]]] = {}
    for trail in trails:
        edits = [edit for edit in trail if isinstance(edit, RowEdit)]
        if edits and edits[0].table in MEMORY_TABLES:
            by_path.setdefault(edits[0].path, []).append((trail, edits))
    found: Found = []
    for path, asked in by_path.items():
        try:
            found += run_read(Path(path), partial(_statuses, asked))
        except sqlite3.Error:
            continue
    return found


def _statuses(
    asked: Sequence[tuple[EditSequence, list[RowEdit]]], connection: sqlite3.Connection
) -> Found:
    schema = inspect(connection)
    rows = [_row(connection, schema, edits[0]) for _, edits in asked]
    updated = {
        (edits[0].table, row["id"])
        for row, (_, edits) in zip(rows, asked, strict=True)
        if row and edits[0].before is not None
    }
    found: Found = []
    for row, (trail, edits) in zip(rows, asked, strict=True):
        stand = _edit_status(edits, row, updated)
        if stand is not None:
            found.append((trail, stand))
    return found


def _row(connection: sqlite3.Connection, schema: Schema, edit: RowEdit) -> Row | None:
    try:
        return find_row(connection, schema, edit)
    except MemtuiError:
        return None


def _edit_status(
    trail: Sequence[RowEdit], row: Row | None, updated: set[tuple[str, Any]]
) -> EditStatus | None:
    newest = trail[0]
    if newest.after is None:
        return _deletion_status(newest, row)
    if newest.before is None:
        # A later edit of the same row, by its number, has the last word.
        known = row is not None and (newest.table, row["id"]) in updated
        return HELD if known else _insertion_status(newest, row)
    return CHANGED if row is None else _update_status(trail, row)


def _deletion_status(edit: RowEdit, row: Row | None) -> EditStatus:
    if row is None or row.get("judgment_status") == "orphaned":
        return HELD
    before = edit.before or {}
    if not all(_same(row[name], before[name]) for name in before if name not in ENGRAM_COLUMNS):
        return CHANGED
    now = {name: to_json_value(row[name]) for name in before}
    return EditStatus(EditState.REVERTED, RowEdit(edit.path, edit.table, edit.key, now, None))


def _insertion_status(edit: RowEdit, row: Row | None) -> EditStatus:
    if row is None:
        return EditStatus(EditState.REVERTED, edit)
    gone = row.get("deleted_at")
    if gone is None or (edit.after or {}).get("deleted_at") is not None:
        return HELD
    before, after = {"deleted_at": gone}, {"deleted_at": None}
    return EditStatus(EditState.REVERTED, RowEdit(edit.path, edit.table, edit.key, before, after))


def _update_status(trail: Sequence[RowEdit], row: Row) -> EditStatus | None:
    wanted: dict[str, Any] = {}
    former: dict[str, list[Any]] = {}
    for edit in trail:
        before, after = edit.before or {}, edit.after or {}
        for name in after.keys() - ENGRAM_COLUMNS:
            if not _same(after[name], before.get(name)):
                wanted.setdefault(name, after[name])
                former.setdefault(name, []).append(before.get(name))
    lost = [name for name in wanted if not _same(row[name], wanted[name])]
    back = [name for name in lost if any(_same(row[name], old) for old in former[name])]
    if back:
        now = {name: to_json_value(row[name]) for name in back}
        again = {name: wanted[name] for name in back}
        edit = trail[0]
        return EditStatus(EditState.REVERTED, RowEdit(edit.path, edit.table, edit.key, now, again))
    if lost:
        return CHANGED
    return HELD if wanted else None


def _same(one: object, other: object) -> bool:
    return _read(from_json_value(one)) == _read(from_json_value(other))


def _read(value: object) -> object:
    return text(value) if value is None or isinstance(value, str | bytes) else value
