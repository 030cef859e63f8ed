"""The log file: warnings, and the traces of faults in memtui itself."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

from memtui import paths
from memtui.text import mask_urls, one_line

LARGEST = 1 << 20
"""Bytes at which the log is rotated; one old log is kept."""


class _OneLine(logging.Formatter):
    """Formats text from a store so that it can neither forge a line nor act on a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(one_line(mask_urls(line)) for line in super().format(record).split("\n"))


def log_file() -> Path:
    return paths.state_folder() / "memtui.log"


def start_log() -> None:
    """Send warnings to the log file, which is created with the first one."""
    root = logging.getLogger("memtui")
    if any(isinstance(handler, _PrivateFile) for handler in root.handlers):
        return
    handler = _PrivateFile(log_file())
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    root.propagate = False


class _PrivateFile(logging.Handler):
    """Appends to a file with mode 0600 in a 0700 folder; does nothing if that fails: the default
    prints a trace over the screen."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            paths.private_folder(self._path.parent)
            self._path.touch(mode=0o600)
            if self._path.stat().st_size > LARGEST:
                self._path.replace(f"{self._path}.1")
                self._path.touch(mode=0o600)
            with self._path.open("a", encoding="utf-8", errors="replace") as file:
                file.write(f"{self.format(record)}\n")


def report_fault(error: BaseException) -> str:
    """Write the trace to the log; returns one line for the person."""
    start_log()
    logging.getLogger("memtui").error("fault", exc_info=error)
    return f"internal error ({type(error).__name__}); see {log_file()}"
