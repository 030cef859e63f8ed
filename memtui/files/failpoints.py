"""Named points in a save where a test can kill the process or make a call fail.

`MEMTUI_FAULT=exchange:2` kills the process with SIGKILL when it passes the point `exchange` for
the second time. Without it, and without a hook, a point costs one comparison.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

VARIABLE = "MEMTUI_FAULT"

POINTS = (
    "begin",
    "lock",
    "intent",
    "temp",
    "write",
    "owner",
    "mode",
    "xattrs",
    "fsync",
    "check",
    "exchange",
    "look",
    "folder",
    "keep",
    "done",
)
"""In the order of a save that changes a file; `owner` and `xattrs` only where there are such."""

Hook = Callable[[str], None]
_hook: Hook | None = None


def failpoint(point: str) -> None:
    """Mark that a save is about to do what the point is named after."""
    if _hook is not None:
        _hook(point)


def install(hook: Hook | None) -> None:
    """Call the hook at every point; what it raises is raised there. None removes it."""
    global _hook
    _hook = hook


def kill_at(specification: str) -> Hook:
    """Return a hook that kills this process at `name:count`: a point, and which pass of it."""
    name, _, count = specification.partition(":")
    left = int(count or 1)

    def hook(point: str) -> None:
        nonlocal left
        if point == name:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook


if VARIABLE in os.environ:
    install(kill_at(os.environ[VARIABLE]))
