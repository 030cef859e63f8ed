"""What the screen loads before its first paint, and what `start` leaves behind."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "numpy",
    "whoosh",
    "humanize",
    "watchfiles",
    "sqlite3",
    "yaml",
    "memtui.library",
    "memtui.stores.base",
    "memtui.insight.activity",
    "memtui.tui.dialogs.dialog",
)
"""Each takes a good part of the time to the first paint; they are loaded when first used."""


@pytest.mark.slow
def test_nothing_heavy_is_loaded_before_the_first_paint() -> None:
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, memtui.tui.app\n"
            f"print(','.join(name for name in {HEAVY!r} if name in sys.modules))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == ""
