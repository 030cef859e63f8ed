"""What the screen keeps in memory: modules, OpenSSL, what is drawn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .stage import fact, stage, write_store

HEAVY = (
    "numpy",
    "whoosh",
    "humanize",
    "watchfiles",
    "sqlite3",
    "yaml",
    "memtui.library",
    "memtui.stores.base",
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


@pytest.mark.slow
async def test_nothing_keeps_a_closed_dialog(tmp_path: Path) -> None:
    """A signal that did kept 0.4 MiB for each that had ever been open."""
    many = {"shop": [fact(n, f"Number {n}", "2026-10-01") for n in range(20)]}
    async with stage(write_store(tmp_path, many), (100, 28)) as on:
        for key in ("question_mark", "t", "f", "H"):
            await on.press(key, "escape")
        signals = (on.app.theme_changed_signal, on.app.app_resume_signal)
        closed = [node for signal in signals for node in signal._subscriptions if not node.parent]
    assert closed in ([], [on.app])
