"""How often Codex used what it learned from each thread, as it counts that itself.

Codex ends an answer with the rollouts that it used, and adds one for each in the table
`stage1_outputs` of `memories_1.sqlite`: it is what it keeps memories by. (Source: openai/codex,
codex-rs/state/src/runtime/memories.rs, `record_stage1_output_usage`; openai/codex#24591.)
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from memtui.errors import StoreError
from memtui.stores.scanning import LastRead
from memtui.stores.sqlite.connection import read_or_raise

DATABASE = "memories_1.sqlite"
_QUERY = "SELECT thread_id, usage_count, last_usage FROM stage1_outputs WHERE usage_count > 0"


class Usage(NamedTuple):
    """The uses of a thread."""

    times: int
    last: str
    """ISO 8601; "": not known."""

    @property
    def extra(self) -> dict[str, int | str]:
        """As `Memory.extra` has it."""
        return {"usage_count": self.times} | ({"last_usage": self.last} if self.last else {})


class UsageReader:
    """Reads the counts of one home folder again when its database changed."""

    def __init__(self, home: Path) -> None:
        self._places = [home / DATABASE, home / "sqlite" / DATABASE]  # the latter in its app
        self._last: LastRead[Mapping[str, Usage]] = LastRead()

    def current(self) -> Mapping[str, Usage]:
        """The uses by the id of the thread; {} where Codex keeps none. Never raises."""
        logs = [place.with_name(f"{DATABASE}-wal") for place in self._places]
        return self._last.get([*self._places, *logs], self._read)

    def _read(self) -> Mapping[str, Usage]:
        found: dict[str, Usage] = {}
        for place in self._places:
            if place.is_file():
                try:
                    found |= read_or_raise(place, _usages)
                except StoreError:  # locked, damaged, or of a form without counts
                    continue
        return found


def _usages(connection: sqlite3.Connection) -> dict[str, Usage]:
    rows = connection.execute(_QUERY)
    return {
        thread: Usage(count, _iso(last))
        for thread, count, last in rows
        if isinstance(thread, str) and isinstance(count, int)
    }


def _iso(seconds: object) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat() if isinstance(seconds, int) else ""
    except (ValueError, OverflowError, OSError):
        return ""
