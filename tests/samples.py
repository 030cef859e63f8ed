"""The sample stores of the tests, one of every format: `tests/data`, and copies of them."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memtui.library import Library

SAMPLES = Path(__file__).parent / "data"
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
"""What the documents call today."""


def copy_samples(place: Path) -> list[Path]:
    """Copy the sample stores to a folder that does not exist yet; return the stores in it."""
    from memtui.cli.store_commands import date_files  # most modules only need the path
    from memtui.stores import registry

    shutil.copytree(SAMPLES, place)
    roots = [root for _, root in registry.detect_within(place)]
    date_files([str(root) for root in roots])
    return roots


def open_samples(place: Path) -> Library:
    """Open a copy of the sample stores with an index."""
    from memtui.library import Library

    library = Library.open(copy_samples(place), cache=None, now=lambda: NOW)
    library.load()
    library.index()
    return library
