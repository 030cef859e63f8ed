"""Textual's driver of a Unix terminal, which also ends well when it is told to or left alone.

SIGTERM and SIGHUP end the app as `quit` does, so that the terminal is given back and what was
written is kept. A terminal that was closed takes nothing more: writing to it must not block.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
from typing import TYPE_CHECKING, Any, TextIO

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from memtui.tui.app_interface import AppInterface

ENDING = (signal.SIGTERM, signal.SIGHUP)
LOOK = 1.0
"""Seconds between two looks at whether the terminal is still there; for who ignores SIGHUP."""


class TerminalDriver(LinuxDriver):
    """Reads and writes the terminal that memtui was started on."""

    _app: AppInterface

    def __init__(self, app: AppInterface, **options: Any) -> None:
        super().__init__(app, **options)
        self._file: Any = _Lossy(self._file)
        self._is_watched = False

    def start_application_mode(self) -> None:
        loop = asyncio.get_running_loop()
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
                loop.add_signal_handler(number, self._app.end_by, number)
        if not self._is_watched:
            self._is_watched = True
            self._look(loop)
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        poll = select.poll()
        poll.register(self.fileno, 0)
        if poll.poll(0):  # only a hang-up or an error is told without having been asked for
            self._app.end_by(signal.SIGHUP)
        else:
            loop.call_later(LOOK, self._look, loop)


class _Lossy:
    """The terminal as a file; once it is gone, what is written goes nowhere."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, words: str) -> None:
        try:
            self._file.write(words)
        except OSError:
            self._lose()

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError:
            self._lose()

    def _lose(self) -> None:
        # What is still buffered would fail once more when Python ends, with exit code 120.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)

    def fileno(self) -> int:
        return self._file.fileno()
