"""Hooks of a save: the recorder of its writes, and the failpoints of tests.

The recorder is told of each write, so that a crash can be recovered from. A failpoint is a named
point where a test can kill the process or make a call fail: `MEMTUI_FAULT=exchange:2` kills the
process with SIGKILL when it passes the point `exchange` for the second time. Without it, and
without a hook, a point costs one comparison.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Protocol


class WriteRecorder(Protocol):
    """Called before and after each file is written; `memtui.journal.Recording` is one."""

    @property
    def state(self) -> Path:
        """memtui's own folder, which holds locks and backups."""
        ...

    @property
    def agent(self) -> str:
        """The agent that made the change, or that proposed what a person accepted; "" if none did.
        Untrusted text."""
        ...

    def intend(self, path: str, pre: str, post: str) -> None:
        """The file is about to be written.

        Called several times for one path when another program wrote in between, and when an
        earlier file is rolled back because a later one failed.

        Args:
            path: the file, with every link resolved.
            pre: SHA-256 of its bytes before, "" where there is no file.
            post: the same after the write.
        """
        ...

    def done(self, path: str) -> None:
        """The file was written."""
        ...

    def failed(self, path: str) -> None:
        """Nothing intended since the last `done` is in the file."""
        ...

    def note_time(self, path: str, digest: str, time: int) -> None:
        """The file has this modification time (nanoseconds) and the content of this digest; it is
        recorded with the next `intend` or `done`."""
        ...

    def noted_time(self, path: str, digest: str) -> int | None:
        """The time that the file had with this content before or after this change, so that undo
        and redo restore it too; None where the content is new."""
        ...


class NullRecorder:
    """A recorder that records nothing: for tests, and for changes that need no undo."""

    agent = ""

    def __init__(self, state: Path) -> None:
        self.state = state

    def intend(self, path: str, pre: str, post: str) -> None:
        """Record nothing."""

    def done(self, path: str) -> None:
        """Record nothing."""

    def failed(self, path: str) -> None:
        """Record nothing."""

    def note_time(self, path: str, digest: str, time: int) -> None:
        """Record nothing."""

    def noted_time(self, path: str, digest: str) -> int | None:  # noqa: ARG002
        """Nothing is recorded."""
        return None


# ---- failpoints ----------------------------------------------------------------------------------


VARIABLE = "MEMTUI_FAULT"

FAILPOINTS = (
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
    "restore",
)
"""In the order of a save that changes a file; `owner` and `xattrs` only where there are such,
`restore` when it fails behind the exchange."""

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
