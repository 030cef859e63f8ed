"""What a person need not read: the log file, and the trace of a fault of memtui itself."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

from memtui import paths as places
from memtui.text import mask_urls, one_line

LARGEST = 1 << 20
"""Bytes of the log before it is begun anew; one former log is kept."""


class _OneLine(logging.Formatter):
    """Text from a store cannot forge a line of the log or move a terminal that shows it."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(one_line(mask_urls(line)) for line in super().format(record).split("\n"))


def log_file() -> Path:
    return places.state_folder() / "memtui.log"


def start_log() -> None:
    """Send warnings to the log file, which is made with the first of them."""
    root = logging.getLogger("memtui")
    if any(isinstance(handler, _PrivateFile) for handler in root.handlers):
        return
    handler = _PrivateFile(
        log_file(), maxBytes=LARGEST, backupCount=1, delay=True, encoding="utf-8"
    )
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    root.propagate = False


class _PrivateFile(RotatingFileHandler):
    """Made 0600 in a 0700 folder; where that fails, the log is done without."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            places.private_folder(Path(self.baseFilename).parent)
            Path(self.baseFilename).touch(mode=0o600)
        except OSError:
            return
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """A log that cannot be written must not print over the screen."""


def report_fault(error: BaseException) -> str:
    """Write the trace to the log and give the line for the person."""
    start_log()
    logging.getLogger("memtui").error("fault", exc_info=error)
    return f"memtui met a fault of its own ({type(error).__name__}); the trace is in {log_file()}"
