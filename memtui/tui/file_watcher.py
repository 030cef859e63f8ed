"""Watches folders for changes, as a hint to refresh early; the periodic re-scan finds the rest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

SETTLE_MS = 100
"""Changes this close together are told once."""
WAKE_MS = 500
"""How often the thread looks whether it should end."""


class FileWatcher:
    """Calls `touched` with the files' paths, from a daemon thread, which never keeps the program
    from ending."""

    def __init__(self, roots: Sequence[Path], touched: Callable[[frozenset[str]], None]) -> None:
        self._folders = sorted({root if root.is_dir() else root.parent for root in roots})
        self._touched = touched
        self._ended = threading.Event()
        self.is_watching = True
        """False once the system reports no changes."""
        threading.Thread(target=self._watch, name="watch", daemon=True).start()

    def end(self) -> None:
        self._ended.set()

    def _watch(self) -> None:
        from watchfiles import watch

        try:
            for changes in watch(
                *self._folders,
                step=SETTLE_MS,
                stop_event=self._ended,
                rust_timeout=WAKE_MS,
                yield_on_timeout=False,
                raise_interrupt=False,
            ):
                self._touched(frozenset(path for _, path in changes))
        except (OSError, RuntimeError):
            self.is_watching = False
            return  # no inotify, too many watches, a folder gone: the re-scan sees it anyway
