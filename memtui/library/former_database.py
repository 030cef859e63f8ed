"""Read a database store as it was before some row edits: from a copy in which they are undone."""

from __future__ import annotations

import logging
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from memtui.changes import RowEdit
from memtui.model import Memory
from memtui.stores import registry
from memtui.stores.base import Shard, Store

log = logging.getLogger(__name__)

LARGEST = 512 * 1024 * 1024
"""Bytes of a database that is copied."""


def read_before(
    store: Store, edits: Sequence[RowEdit]
) -> tuple[dict[str, Memory], set[str]] | None:
    """Read the memories that differ from the present.

    Args:
        store: A store in one database.
        edits: Row edits of it, newest first.

    Returns:
        Ref -> the memory before, and the refs of those that were not there; None if the database
        cannot be copied.
    """
    known = registry.format_of(store.format)
    file = Path(edits[0].path)
    with tempfile.TemporaryDirectory(prefix="memtui-former-") as folder:
        copy = Path(folder).resolve() / file.name
        try:
            if known is None or file.stat().st_size > LARGEST:
                return None
            _copy(file, copy)
            _undo(copy, edits)
            root = known.detect(copy) or known.detect(copy.parent)
            if root is None:
                return None
            former = known.open(root, store.label)
            present = {shard.key: shard for shard in store.scan().shards}
            past = {shard.key: shard for shard in former.scan().shards}
            changed = [key for key in {**present, **past} if _differ(present, past, key)]
            now = _memories(store, [present[key] for key in changed if key in present])
            then = _memories(former, [past[key] for key in changed if key in past])
        except Exception as error:  # a damaged database may fail in any way, a format too
            log.warning("the database as it was cannot be read: %r", error)
            return None
    placed = {
        ref: replace(memory, origin=replace(memory.origin, file=str(file)))
        for ref, memory in then.items()
    }
    differing = {ref: memory for ref, memory in placed.items() if memory != now.get(ref)}
    return differing, now.keys() - placed.keys()


def _differ(present: Mapping[str, Shard], past: Mapping[str, Shard], key: str) -> bool:
    one, other = present.get(key), past.get(key)
    return one is None or other is None or one.stamp != other.stamp


def _memories(store: Store, shards: Sequence[Shard]) -> dict[str, Memory]:
    return {memory.ref: memory for shard in shards for memory in store.read(shard).memories}


def _copy(file: Path, copy: Path) -> None:
    with (
        closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)


def _undo(copy: Path, edits: Sequence[RowEdit]) -> None:
    """Undo the edits in the copy, without the triggers of the schema, which nobody vouches for."""
    with closing(sqlite3.connect(copy)) as db, db:
        db.execute("PRAGMA trusted_schema = OFF")
        triggers = db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            db.execute(f"DROP TRIGGER {_quoted(name)}")
        for edit in edits:
            with suppress(sqlite3.IntegrityError):
                _undo_row(db, edit)


def _undo_row(db: sqlite3.Connection, edit: RowEdit) -> None:
    table = _quoted(edit.table)
    where = " AND ".join(f"{_quoted(name)} IS ?" for name in edit.key)
    keys = list(edit.key.values())
    if edit.before is None:
        db.execute(f"DELETE FROM {table} WHERE {where}", keys)
        return
    columns = {name: value for name, value in edit.before.items() if _is_plain(value)}
    if not columns:
        return
    if edit.after is None:
        names = ", ".join(map(_quoted, columns))
        marks = ", ".join("?" * len(columns))
        db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(columns.values()))
        return
    sets = ", ".join(f"{_quoted(name)} = ?" for name in columns)
    db.execute(f"UPDATE {table} SET {sets} WHERE {where}", [*columns.values(), *keys])


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
