"""The screen on these stores, or a summary of them where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path


def has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def show(named: Sequence[str]) -> int:
    """Show the stores that these paths or labels name; none = those opened by default.

    Returns the exit code. Raises StoreError.
    """
    from memtui.cli.stores import library_of, refuse_missing

    refuse_missing(named)
    if not has_terminal():
        from memtui.cli.queries import summary

        summary(named)
        return 0
    from memtui.tui import start

    return start(lambda: library_of(named), roots=[Path(name).absolute() for name in named])
