"""The interface to which a save reports each write, so that a crash can be recovered from."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Protocol


class WriteRecorder(Protocol):
    """Called before and after each file is written; `memtui.journal.Recording` is one."""

    @property
    def state(self) -> Path:
        """memtui's own folder, which holds locks and backups."""
        ...

    def accepts_owner(self, path: Path) -> bool:
        """Whether the person has accepted that this file of another owner becomes their own."""
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


class NullRecorder:
    """A recorder that records nothing: for tests, and for changes that need no undo."""

    def __init__(self, state: Path, accepted: Collection[Path] = ()) -> None:
        self.state = state
        self._accepted = accepted

    def accepts_owner(self, path: Path) -> bool:
        return path in self._accepted

    def intend(self, path: str, pre: str, post: str) -> None:
        """Record nothing."""

    def done(self, path: str) -> None:
        """Record nothing."""

    def failed(self, path: str) -> None:
        """Record nothing."""
