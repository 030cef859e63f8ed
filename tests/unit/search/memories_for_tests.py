"""Memories with little in them, for tests of search."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memtui.model import Memory

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def memory(number: int, content: str, **fields: object) -> Memory:
    """A fact of the store `s`, a hundred days old."""
    values: dict[str, object] = {
        "ref": f"s:{number}",
        "id": str(number),
        "store": "s",
        "kind": "fact",
        "content": content,
        "created": NOW - timedelta(days=100),
    }
    return Memory(**{**values, **fields})  # type: ignore[arg-type]
