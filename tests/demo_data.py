"""The sample data as `memtui demo` opens it, for tests of what the documents say about it."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from memtui.cli.store_commands import date_files
from memtui.library import Library
from memtui.paths import bundled_folder
from memtui.stores import registry

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
"""What the documents call today."""


def copy_samples(place: Path) -> list[Path]:
    """Copy the sample data to a folder that does not exist yet; return the stores in it."""
    shutil.copytree(bundled_folder("sample-data"), place)
    roots = [root for _, root in registry.detect_within(place)]
    date_files([str(root) for root in roots])
    return roots


def open_demo(place: Path) -> Library:
    """Open a copy of the sample data with an index."""
    library = Library.open(copy_samples(place), cache=None, now=lambda: NOW)
    library.load()
    library.index()
    return library
