"""Engram's own export as memories; into an Engram database it goes by Engram's own keys."""

from __future__ import annotations

from typing import Any

from memtui.bundle.unpacking import Incoming
from memtui.model import Memory
from memtui.stores.engram import FORMAT
from memtui.stores.engram.intake import read_export
from memtui.stores.engram.rows import Home, observation, prompt, session, text


def incoming(document: str) -> Incoming:
    """The store that an export holds. Raises BundleError."""
    rows = read_export(document)
    home = Home(FORMAT.name, "")
    memories: list[Memory] = []
    memories += [observation(home, _numbered(row, at), (), ()) for at, row in _of(rows, "obs")]
    memories += [prompt(home, _numbered(row, at)) for at, row in _of(rows, "prompts")]
    memories += [session(home, row) for row in rows["sessions"] if text(row.get("summary"))]
    return Incoming(FORMAT.name, FORMAT.name, memories, document=document)


def _of(rows: dict[str, list[dict[str, Any]]], name: str) -> list[tuple[int, dict[str, Any]]]:
    return list(enumerate(rows["observations" if name == "obs" else name], 1))


def _numbered(row: dict[str, Any], number: int) -> dict[str, Any]:
    return row if "id" in row else {**row, "id": number}
