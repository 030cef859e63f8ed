"""Engram's SQLite database: observations, prompts and sessions; July 2026 and v3 schemas."""

from __future__ import annotations

from pathlib import Path

from memtui.stores.format import (
    DatabaseSupport,
    ExchangeDocument,
    Format,
    TransferSupport,
    lazy_function,
)

NAME = "engram"
DATABASE = "engram.db"
SUFFIXES = (".db", ".sqlite", ".sqlite3")
"""Files of another name that are worth a look inside."""

_detect = lazy_function("memtui.stores.engram.store", "detect")


def detect(path: Path) -> Path | None:
    """The folder of an `engram.db`, or a database of another name that holds Engram's tables."""
    try:
        likely = (path / DATABASE).is_file() or path.suffix.lower() in SUFFIXES
    except (OSError, ValueError):
        return None
    found: Path | None = _detect(path) if likely else None
    return found


def database_file(root: Path) -> Path:
    """The database of the store at this root, which is its folder or the file itself."""
    return root / DATABASE if root.is_dir() else root


FORMAT = Format(
    name=NAME,
    title="Engram: persistent memory for coding agents (SQLite)",
    places=("$ENGRAM_DATA_DIR", "~/.engram"),
    detect=detect,
    open=lazy_function("memtui.stores.engram.store", "open_store"),
    nearby=(".", ".engram"),
    database=DatabaseSupport(
        DATABASE,
        lazy_function("memtui.stores.engram.store", "dump_store"),
        lazy_function("memtui.stores.engram.rebuild", "rebuild"),
        lazy_function("memtui.stores.engram.rows", "current_digest"),
        lazy_function("memtui.stores.engram.rows", "find_row_statuses"),
        lazy_function("memtui.stores.engram.rebuild", "alone_with"),
        lazy_function("memtui.stores.engram.connection", "copy_database"),
    ),
    upkeep=lazy_function("memtui.stores.engram.records", "upkeep_rules"),
    transfer=TransferSupport(
        identity="sync_id", convert=lazy_function("memtui.stores.engram.importing", "convert")
    ),
    document=ExchangeDocument(
        description="the JSON of `engram export`: one store, no embeddings or former versions",
        name="an Engram export",
        member="observations",
        export=lazy_function("memtui.stores.engram.export_document", "export_memories"),
        read=lazy_function("memtui.stores.engram.import_document", "read"),
        plan_import=lazy_function("memtui.stores.engram.import_document", "plan_import"),
    ),
)
