"""`memtui [PATH...]` and `memtui demo`: start the screen, or print a summary without a terminal."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from memtui.cli.starting import show


@click.command("open")
@click.argument("paths", nargs=-1)
def open_(paths: Sequence[str] = ()) -> int:
    """Open the screen on these stores."""
    return show(paths)


def _date_documents(roots: Sequence[str]) -> None:
    """Give each document the file time of its own date: copying dated them all today."""
    from memtui.library import Library

    library = Library.open([Path(root) for root in roots])
    library.load()
    for memory in library.snapshot.rows:
        if memory.kind == "document" and memory.created:
            time = memory.created.timestamp()
            os.utime(memory.origin.file, (time, time))


@click.command("demo")
def demo() -> int:
    """Open a throw-away copy of the sample data: try anything, nothing of yours is touched."""
    from memtui import paths as places

    with tempfile.TemporaryDirectory(prefix="memtui-demo-") as folder:
        here = Path(folder)
        copy = here / "sample-data"
        shutil.copytree(places.bundled_folder("sample-data"), copy)
        os.environ[places.CACHE_VARIABLE] = str(here / "cache")
        os.environ[places.STATE_VARIABLE] = str(here / "state")
        from memtui.stores import registry

        roots = [str(root) for _, root in registry.detect_within(copy)]
        _date_documents(roots)
        return show(roots)
