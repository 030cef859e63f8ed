"""`memtui [PATH...]` and `memtui demo`: start the screen, or print a summary without a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from memtui.cli.opening import library_of


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _show(named: Sequence[str]) -> None:
    if not _has_terminal():
        from memtui.cli.reading import summary

        summary(named)
        return
    from memtui.tui import start

    start(library_of(named))


@click.command("open")
@click.argument("paths", nargs=-1)
def open_(paths: Sequence[str] = ()) -> None:
    """Open the screen on these stores."""
    _show(paths)


@click.command("demo")
def demo() -> None:
    """Open a throw-away copy of the sample data: try anything, nothing of yours is touched."""
    from memtui import paths as places

    with tempfile.TemporaryDirectory(prefix="memtui-demo-") as folder:
        here = Path(folder)
        copy = here / "sample-data"
        shutil.copytree(places.shipped("sample-data"), copy)
        os.environ[places.CACHE_VARIABLE] = str(here / "cache")
        os.environ[places.STATE_VARIABLE] = str(here / "state")
        from memtui.stores import registry

        _show([str(path) for path in sorted(copy.iterdir()) if registry.detect(path)])
