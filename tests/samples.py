"""The sample stores of the tests, one of every format: `tests/data`, and copies of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memtui.library import Library

SAMPLES = Path(__file__).parent / "data"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
"""What the documents call today."""


UNDATED = datetime(2026, 9, 1, tzinfo=UTC)
"""The time of files without a date in them."""


def copy_samples(place: Path) -> list[Path]:
    """Copy the sample stores to a folder that does not exist yet; return the stores in it."""
    from memtui.stores import registry  # most modules only need the path

    shutil.copytree(SAMPLES, place)
    roots = [root for _, root in registry.detect_within(place)]
    date_files(roots)
    return roots


def open_samples(place: Path) -> Library:
    """Open a copy of the sample stores with an index."""
    from memtui.library import Library

    library = Library.open(copy_samples(place), cache=None, now=lambda: NOW)
    library.load()
    library.index()
    return library


def date_files(roots: Iterable[Path]) -> None:
    """Set the time of each file to the newest date in it; the copies all have today's.

    Files whose memories have no date get one within the story of the bell towers.
    """
    from memtui.library import Library

    library = Library.open(list(roots))
    library.load()
    dates: dict[Path, set[float]] = {}
    for memory in library.snapshot.rows:
        found = dates.setdefault(Path(memory.origin.file), set())
        if memory.created is not None:
            found.add(memory.created.timestamp())
    for file, times in dates.items():
        time = max(times, default=UNDATED.timestamp())
        os.utime(file, (time, time))
