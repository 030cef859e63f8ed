"""One small invented store for each format: a copy of what memtui ships."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memtui import paths
from memtui.library import Library
from memtui.model import Memory
from memtui.stores.format import Format

UNKNOWN = "x_unknown"
"""A key that no format knows."""
_IN_JSON = f'"{UNKNOWN}": {{"deep": [1.50, null, "\\u00e9"],  "n": 1e2}}'
_IN_YAML = f"{UNKNOWN}:   'as it is'  # and its comment\n"
_FIRST_KEY = re.compile(r"^\{", re.MULTILINE)
_ID = re.compile(r'("id"\s*:\s*"[^"]*")')


def sample(known: Format, place: Path) -> Path:
    """A copy of the format's invented store at this place. Returns the folder."""
    try:
        shipped = paths.bundled_folder("sample-data") / known.name
    except FileNotFoundError:
        shipped = Path("sample-data") / known.name
    if not shipped.is_dir():
        pytest.fail(
            f"the format {known.name!r} is listed in memtui.stores.registry.FORMATS but has no "
            f"sample: put a small invented store into sample-data/{known.name}",
            pytrace=False,
        )
    shutil.copytree(shipped, place, ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    return place


def root_of(known: Format, place: Path) -> Path:
    """Where the store lies in its folder."""
    root = known.detect(place)
    assert root is not None, f"{known.name} does not recognise its own sample"
    return root


def open_library(place: Path, state: Path | None = None, cache: Path | None = None) -> Library:
    """All memories of the store at this place."""
    library = Library.open([place], state=state, cache=cache)
    library.load()
    return library


def memories(library: Library) -> dict[str, Memory]:
    """Every memory that is there, of any status, by ref."""
    return {m.ref: m for store in library.stores for m in library.memories(store.label)}


def plant_unknown(library: Library) -> bool:
    """Write a key that no format knows into whatever holds the memories of this library.

    Returns whether any of its files can have keys; Markdown without frontmatter cannot.
    A table may be one whose strange columns make its store read-only, and then it gets none.
    """
    found = list(memories(library).values())
    has_keys = False
    for name in sorted({memory.origin.file for memory in found}):
        path = Path(name)
        has_keys = (
            has_keys
            or path.suffix not in (".md", ".patch")
            or path.read_bytes().startswith(b"---\n")
        )
        if path.suffix == ".patch":
            continue
        if path.suffix == ".json":
            _rewrite(path, lambda text: _ID.sub(rf"\1, {_escaped(_IN_JSON)}", text))
        elif path.suffix == ".jsonl":
            _rewrite(path, lambda text: _FIRST_KEY.sub(rf"{{{_escaped(_IN_JSON)}, ", text))
        elif path.suffix == ".md":
            _rewrite(path, _in_frontmatter)
        else:
            keys = [memory.origin.key for memory in found if memory.origin.file == name]
            for table in sorted({key.partition(".")[0] for key in keys}):
                _sql(path, f"ALTER TABLE {table} ADD COLUMN {UNKNOWN} TEXT")
                if open_library(library.stores[0].root).stores[0].read_only:
                    _sql(path, f"ALTER TABLE {table} DROP COLUMN {UNKNOWN}")
                else:
                    _sql(path, f"UPDATE {table} SET {UNKNOWN} = 'as it is ' || rowid")
    return has_keys


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\")


def _in_frontmatter(text: str) -> str:
    return text.replace("---\n", f"---\n{_IN_YAML}", 1) if text.startswith("---\n") else text


def _rewrite(path: Path, change: Callable[[str], str]) -> None:
    path.write_bytes(change(path.read_bytes().decode("utf-8")).encode("utf-8"))


def _sql(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
