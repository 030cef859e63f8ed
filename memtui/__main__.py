"""Where memtui starts: a terminal gets the screen, anything else plain text.

The version is answered before anything is imported, so that it costs no more than Python itself,
and `memtui status` before anything that opens stores.
"""

from __future__ import annotations

import gc
import io
import os
import sys

GARBAGE = (100_000, 50, 100)
"""Thresholds of the collector: to look for cycles among tens of thousands of memories each time 700
objects were made takes half of the time that reading them takes. The screen has its own."""


def main() -> int:
    """Run memtui with the process's arguments; returns the exit code."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from memtui import __version__

        print(f"memtui {__version__}")
        return 0
    gc.set_threshold(*GARBAGE)
    _prepare_output()
    if arguments[:1] == ["status"] and (code := _answer_status(arguments[1:])) is not None:
        return code
    from memtui.cli.main import run

    code = run(arguments)
    if "memtui.tui.app" in sys.modules or "sqlite3" not in sys.modules:
        from memtui.tui import leave

        leave(code)  # Python's own end takes 10 ms
    gc.freeze()  # what Python collects while it closes databases would be looked for everywhere
    return code


def _answer_status(arguments: list[str]) -> int | None:
    """The exit code of `memtui status` where it was answered from what is kept; else None."""
    from memtui.cli import status_cache

    try:
        return status_cache.answer(arguments)
    except (OSError, ValueError):
        return None


def _prepare_output() -> None:
    """Write `?` for what the locale's encoding lacks, and nowhere what is closed (`>&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = io.FileIO(os.open(os.devnull, os.O_WRONLY), "w")
            setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(nowhere), "utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(main())
