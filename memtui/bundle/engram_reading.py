"""Engram's own export as memories; into an Engram database it goes by Engram's own keys, and into
an empty place as a new database."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from functools import partial
from typing import Any

from memtui.bundle.bundle_reader import Incoming
from memtui.errors import BundleError
from memtui.model import Memory
from memtui.stores.engram import FORMAT
from memtui.stores.engram.import_document import read_export
from memtui.stores.engram.new_database import database_lines
from memtui.stores.engram.records import DatabasePlace, Relation, observation, prompt, session, text

Row = dict[str, Any]


def incoming(document: str) -> Incoming:
    """The store that an export holds. Raises BundleError."""
    rows = read_export(document)
    home = DatabasePlace(FORMAT.name, "")
    observations = _numbered(rows["observations"])
    touching = _relations(rows["relations"], observations)
    memories: list[Memory] = []
    for row in observations:
        memories.append(observation(home, row, touching.get(text(row.get("sync_id")), ()), ()))
    memories += [prompt(home, row) for row in _numbered(rows["prompts"])]
    memories += [session(home, row) for row in rows["sessions"] if text(row.get("summary"))]
    return Incoming(
        FORMAT.name,
        FORMAT.name,
        memories,
        whole=True,
        rows=partial(_database, rows),
        document=document,
    )


def _database(rows: Mapping[str, list[Row]]) -> list[str]:
    try:
        return database_lines(rows)
    except sqlite3.Error as error:
        raise BundleError(f"its rows make no database ({error})") from error


def _numbered(rows: list[Row]) -> list[Row]:
    """Rows of early exports have no numbers."""
    return [row if "id" in row else {**row, "id": number} for number, row in enumerate(rows, 1)]


def _relations(rows: list[Row], observations: list[Row]) -> dict[str, list[Relation]]:
    """The relations by the sync_id of each of their ends."""
    by_name = {text(row.get("sync_id")): row for row in observations}
    found: dict[str, list[Relation]] = {}
    for row in rows:
        source, target = text(row.get("source_id")), text(row.get("target_id"))
        start, end = by_name.get(source, {}), by_name.get(target, {})
        relation = Relation(
            sync_id=text(row.get("sync_id")),
            source=source,
            target=target,
            source_row=start.get("id"),
            target_row=end.get("id"),
            source_alive=bool(start) and start.get("deleted_at") is None,
            relation=text(row.get("relation")),
            status=text(row.get("judgment_status")),
            columns=row,
        )
        for name in {source, target}:
            found.setdefault(name, []).append(relation)
    return found
