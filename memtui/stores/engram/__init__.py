"""Engram's SQLite database: observations, prompts and sessions; July 2026 and v3 schemas."""

from __future__ import annotations

import os
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
    file = path / DATABASE if os.path.isdir(path) else path
    is_named = file.name == DATABASE
    if not os.path.isfile(file) or not (is_named or file.suffix.lower() in SUFFIXES):
        return
    from memtui.stores.engram.store import is_engram

    root, name = (file.parent, DATABASE) if is_named else (file, "a database")
    if is_engram(file):
        yield Candidate(root, f"{name} with Engram's tables")
    else:
        yield Candidate(root, name, "Engram's tables")


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
