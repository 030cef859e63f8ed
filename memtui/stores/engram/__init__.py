"""Engram's SQLite database: observations, prompts and sessions; July 2026 and v3 schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memtui.changes import Plan
from memtui.stores.base import Store
from memtui.stores.format import (
    Candidate,
    Detection,
    ExchangeDocument,
    ExportedDocument,
    ExportRequest,
    Format,
    IncomingStore,
    Product,
)

NAME = "engram"
DATABASE = "engram.db"
SUFFIXES = (".db", ".sqlite", ".sqlite3")
"""Files of another name that are worth a look inside."""


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder of an `engram.db`, or a database of another name that holds Engram's tables."""
    try:
        is_folder = (path / DATABASE).is_file()
    except (OSError, ValueError):
        return
    if not is_folder and path.suffix.lower() not in SUFFIXES:
        return
    from memtui.stores.engram import store

    root, name = store.detect(path), DATABASE if is_folder else "a database"
    if root is not None:
        yield Candidate(root, f"{name} with Engram's tables")
    elif is_folder or path.is_file():
        yield Candidate(path, name, "Engram's tables")


def database_file(root: Path) -> Path:
    """The database of the store at this root, which is its folder or the file itself."""
    return root / DATABASE if root.is_dir() else root


def _export(request: ExportRequest) -> ExportedDocument:
    from memtui.stores.engram.exchange import export_memories

    return export_memories(request)


def _read(document: Mapping[str, Any]) -> IncomingStore:
    from memtui.stores.engram.exchange import read

    return read(document)


def _plan_import(store: Store, text: str) -> Plan:
    from memtui.stores.engram.exchange import plan_import

    return plan_import(store, text)


FORMAT = Format(
    name=NAME,
    title="Engram: persistent memory for coding agents (SQLite)",
    product=Product("Engram", "EN", 6),
    places=("$ENGRAM_DATA_DIR", "~/.engram"),
    detect=detect,
    load=f"{__name__}.store",
    nearby=(".", ".engram"),
    is_database=True,
    document=ExchangeDocument(
        description="the JSON of `engram export`: one store, no embeddings or former versions",
        name="an Engram export",
        member="observations",
        export=_export,
        read=_read,
        plan_import=_plan_import,
    ),
)
