"""What a save tells as it goes, so that a crash in between can be judged afterwards."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Protocol


class WriteRecorder(Protocol):
    """Told before and after each file is written."""

    @property
    def state(self) -> Path:
        """memtui's own folder, where locks and copies of replaced files lie."""
        ...

    def accepts_owner(self, path: Path) -> bool:
        """Whether the person has agreed that this file of another owner becomes their own."""
        ...

    def intend(self, path: str, pre: str, post: str) -> None:
        """`pre` and `post` are the SHA-256 of the file's bytes ('' = no file).

        May come several times for one path: when another program wrote in between, and when an
        earlier file is taken back because a later one failed.
        """
        ...

    def done(self, path: str) -> None: ...

    def failed(self, path: str) -> None:
        """Nothing of what was intended since the last `done` is in the file."""
        ...


class NullRecorder:
    """A recorder that keeps nothing: for tests, and for changes that need no undo."""

    def __init__(self, state: Path, owned: Collection[Path] = ()) -> None:
        self.state = state
        self._owned = owned

    def accepts_owner(self, path: Path) -> bool:
        return path in self._owned

    def intend(self, path: str, pre: str, post: str) -> None:
        """Nothing is kept."""

    def done(self, path: str) -> None:
        """Nothing is kept."""

    def failed(self, path: str) -> None:
        """Nothing is kept."""
