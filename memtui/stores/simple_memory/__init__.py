"""Simple Memory: facts, episodes and schema items as three JSON arrays."""

from __future__ import annotations

from pathlib import Path

from memtui.stores.format import Format, TransferSupport
from memtui.stores.format_setup import lazy_function

FILES = ("facts.json", "episodes.json", "schema.json")

_detect = lazy_function("memtui.stores.simple_memory.store", "detect")


def detect(path: Path) -> Path | None:
    """The folder that holds the files, when this is it, or one of its files."""
    folder = path.parent if path.name in FILES else path
    try:
        likely = any((folder / name).is_file() for name in FILES)
    except (OSError, ValueError):
        return None
    found: Path | None = _detect(path) if likely else None
    return found


FORMAT = Format(
    name="simple-memory",
    title="Simple Memory: facts, episodes and schema (acta.so white paper)",
    places=(),
    detect=detect,
    open=lazy_function("memtui.stores.simple_memory.store", "SimpleMemoryStore"),
    nearby=(".", "simple-memory"),
    transfer=TransferSupport(
        convert=lazy_function("memtui.stores.simple_memory.importing", "convert"),
    ),
)
