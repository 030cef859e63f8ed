"""Simple Memory: facts, episodes and schema items as three JSON arrays in three files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memtui.stores.format import Candidate, Detection, Format, Product

FACTS_FILE, EPISODES_FILE, SCHEMA_FILE = FILES = ("facts.json", "episodes.json", "schema.json")
MIN_FILES = 2
"""Files that identify a store: one alone, such as `schema.json`, has too common a name."""


@Detection
def detect(path: Path) -> Iterator[Candidate]:
    """The folder that holds the files, when this is it, or one of its files."""
    try:
        folder = path.parent if path.name in FILES and os.path.isfile(path) else path
        present = [name for name in FILES if os.path.isfile(folder / name)]
    except ValueError:
        return
    missing = ""
    if len(present) < MIN_FILES:
        missing = " or ".join(name for name in FILES if name not in present)
    elif others := [name for name in present if not _is_array(folder / name)]:
        missing = f"a list in {others[0]}"
    if present:
        yield Candidate(folder, ", ".join(present), missing)


def _is_array(path: Path) -> bool:
    """Whether the file begins as a JSON array; an empty or unreadable one counts as one."""
    try:
        with open(path, "rb") as file:
            head = file.read(4_096).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError:
        return True
    return not head or head.startswith(b"[")


FORMAT = Format(
    name="simple-memory",
    title="Simple Memory: facts, episodes and schema (acta.so white paper)",
    product=Product("Simple Memory", "SM", 5),
    places=(),
    detect=detect,
    nearby=(".", "simple-memory"),
)
