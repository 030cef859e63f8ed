"""Engram's SQLite database: observations, prompts and sessions; July 2026 and v3 schemas."""

from __future__ import annotations

from pathlib import Path

from memtui.stores.base import Database, Format
from memtui.stores.later import later

DATABASE = "engram.db"
SUFFIXES = (".db", ".sqlite", ".sqlite3")
"""Files of another name that are worth a look inside."""

_detect = later("memtui.stores.engram.store", "detect")


def detect(path: Path) -> Path | None:
    """The folder of an `engram.db`, or a database of another name that holds Engram's tables."""
    try:
        likely = (path / DATABASE).is_file() or path.suffix.lower() in SUFFIXES
    except (OSError, ValueError):
        return None
    found: Path | None = _detect(path) if likely else None
    return found


FORMAT = Format(
    name="engram",
    title="Engram: persistent memory for coding agents (SQLite)",
    places=("$ENGRAM_DATA_DIR", "~/.engram"),
    detect=detect,
    open=later("memtui.stores.engram.store", "open_store"),
    nearby=(".", ".engram"),
    database=Database(
        DATABASE,
        later("memtui.stores.engram.store", "dump_store"),
        later("memtui.stores.engram.rebuild", "rebuild"),
        later("memtui.stores.engram.marks", "digest_of"),
        later("memtui.stores.engram.standing", "standing"),
        later("memtui.stores.engram.rebuild", "alone_with"),
    ),
    identity="sync_id",
    adopt=later("memtui.stores.engram.adopting", "adopt"),
)
