"""The processes that searching and indexing have started, so that none outlives the program."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator

_running: set[subprocess.Popen[bytes]] = set()


@contextlib.contextmanager
def noted(child: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Note that the child runs, until the block ends."""
    _running.add(child)
    try:
        yield child
    finally:
        _running.discard(child)


def kill_all() -> None:
    """Kill those that run: the program ends without waiting for the threads that use them."""
    for child in tuple(_running):
        child.kill()
