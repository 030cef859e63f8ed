"""The tables of mem0 (mem0/memory/storage.py, mem0ai 2.0.18) and of a local Qdrant.

Each row of `history` is a version of a memory: `event` is ADD, UPDATE or DELETE. The latest row of
a memory is current, or deleted; it supersedes the one before. A point of a local Qdrant is a Python
pickle (qdrant_client/local/persistence.py), which is counted and not read: loading one runs what it
names, and a small one may unfold to any size. Nothing is written: a memory is a vector too, which
only mem0 can compute.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memtui.stores.base import Remark
from memtui.stores.format import FormatSupport, TransferSupport
from memtui.stores.mem0 import HISTORY, STORAGE
from memtui.stores.sqlite.connection import run_read
from memtui.stores.sqlite.rows import text
from memtui.stores.sqlite.tables import (
    Rows,
    Table,
    TableStore,
    database_support,
    existing_file,
    holds_tables,
)
from memtui.stores.values import from_iso
from memtui.text import counted

NEEDED = {
    HISTORY: {"history": "id memory_id old_memory new_memory event created_at"},
    STORAGE: {"points": "id point"},
}


def is_mem0(file: Path) -> bool:
    """Whether the tables of mem0 or of a local Qdrant are in this file."""
    return file.name in NEEDED and holds_tables(file, NEEDED[file.name], by_name=False)


def _relate(rows: Rows) -> None:
    """Note for each row of a memory what came before and after it."""
    last: dict[Any, dict[str, Any]] = {}
    for row in rows:
        if (before := last.get(row["memory_id"])) is not None:
            before["later"], row["former"] = row["id"], before["id"]
        last[row["memory_id"]] = row


def _version(row: Mapping[str, Any]) -> dict[str, Any]:
    is_deleted = bool(row.get("is_deleted")) or row.get("event") == "DELETE"
    status = "deleted" if is_deleted else "superseded" if row.get("later") else "active"
    extra = {n: row[n] for n in ("memory_id", "event", "role") if row.get(n) is not None}
    times = {n: row[n] for n in ("created_at", "updated_at") if row.get(n) is not None}
    return {
        "content": text(row.get("new_memory") or row.get("old_memory")),
        "status": status,
        "supersedes": (text(row["former"]),) if row.get("former") else (),
        "superseded_by": (text(row["later"]),) if row.get("later") else (),
        "updated": from_iso(row.get("updated_at")) or from_iso(row.get("created_at")),
        "extra": extra | times,
    }


TABLES = (
    Table(
        "history",
        "",
        "fact",
        {"source": "actor_id", "created": "created_at"},
        {"new_memory": ""},
        relate=_relate,
        more=_version,
    ),
)


class Mem0(TableStore):
    """One database: the history, or a collection of a local Qdrant."""

    format = "mem0"
    tables = TABLES
    why_read_only = "a memory here is a vector too, which only mem0 can compute"

    def marks(self, connection: sqlite3.Connection) -> dict[str, str]:
        return {} if self.file.name == STORAGE else super().marks(connection)

    def remarks(self) -> Sequence[Remark]:
        """How many points of a local Qdrant are not read."""
        if self.file.name != STORAGE:
            return ()
        try:
            (number,) = run_read(
                self.file, lambda each: each.execute("SELECT count(*) FROM points").fetchone()
            )
        except sqlite3.Error:
            return ()
        found = f"{counted(number, 'point')} of a local Qdrant"
        return (Remark(str(self.file), f"{found}: Python pickles, which memtui does not read"),)


def open_store(root: Path, label: str) -> Mem0:
    """Open a database. Raises StoreError when there is none."""
    return Mem0(root, label, existing_file(_database(root)))


def _database(root: Path) -> Path:
    return root / HISTORY if root.is_dir() else root


SUPPORT = FormatSupport(
    open_store, transfer=TransferSupport(), database=database_support(HISTORY, _database)
)
