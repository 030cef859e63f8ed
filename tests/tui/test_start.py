"""What the screen keeps in memory: modules, OpenSSL, what is drawn."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest
from textual.strip import Strip

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


def test_the_screen_does_without_openssl_and_what_connects_gets_it() -> None:
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys\n"
            "from memtui.tui import HASHES, import_without_openssl\n"
            "from importlib.util import find_spec\n"
            "import_without_openssl()\n"
            "import asyncio, hashlib, secrets\n"
            "loaded = {'_ssl', '_hashlib'} & sys.modules.keys()\n"
            "assert not loaded or not all(map(find_spec, HASHES)), loaded\n"
            "print(hashlib.sha256(b'text').hexdigest(), hashlib.blake2b(b'').digest_size)\n"
            "import ssl\n"
            "print(ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED)\n",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    digest = "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"
    assert told.stdout.split() == [digest, "64", "True"]


@pytest.mark.slow
async def test_what_was_drawn_is_freed_without_the_collector(tmp_path: Path) -> None:
    """Else tens of megabytes of it would wait for the collector, which holds up the keys."""
    many = {"shop": [fact(n, f"Number {n}", "2026-10-01") for n in range(200)]}
    async with stage(write_store(tmp_path, many), (100, 28)) as on:
        gc.collect()
        gc.disable()
        try:
            await on.press(*["j"] * 5, "pagedown", "G", "g", *["j"] * 5)
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            drawn = [thing for thing in gc.garbage if isinstance(thing, Strip)]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
    assert not drawn


@pytest.mark.slow
async def test_nothing_keeps_a_closed_dialog(tmp_path: Path) -> None:
    """A signal that did kept 0.4 MiB for each that had ever been open."""
    many = {"shop": [fact(n, f"Number {n}", "2026-10-01") for n in range(20)]}
    async with stage(write_store(tmp_path, many), (100, 28)) as on:
        for key in ("question_mark", "t", "comma", "H"):
            await on.press(key, "escape")
        signals = (on.app.theme_changed_signal, on.app.app_resume_signal)
        closed = [node for signal in signals for node in signal._subscriptions if not node.parent]
    assert closed in ([], [on.app])
