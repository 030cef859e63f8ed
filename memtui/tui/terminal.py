"""The terminal: its Textual driver, running other programs on it, suspending to the shell.

The driver ends the app on SIGTERM and SIGHUP as `quit` does, so that the terminal is restored and
drafts are kept. Writing to a terminal that was closed must not block.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import selectors
import signal
import subprocess
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from textual._time import get_time
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from memtui import text
from memtui.errors import SaveError
from memtui.model import Place
from memtui.tui import first_frame

if TYPE_CHECKING:
    from memtui.tui.app_interface import AppInterface

ENDING = (signal.SIGTERM, signal.SIGHUP)
READ_SIZE = 4096
LONGEST_WAIT = 0.5
"""Seconds between two checks of the thread that reads keys whether the app has ended."""
CHECK_INTERVAL = 1.0
"""Seconds between two checks that the terminal still exists, for when SIGHUP is ignored."""


class TerminalDriver(LinuxDriver):
    """Textual's Unix driver that also handles a closed terminal and termination signals."""

    _app: AppInterface

    def __init__(self, app: AppInterface, **options: Any) -> None:
        super().__init__(app, **options)
        self._file: Any = _OutputFile(self._file)
        self._is_watched = False
        self._was_started = self._is_taken = False
        """The terminal is in the state that `first_frame` has left it in."""
        self._wake = os.pipe()
        os.set_blocking(self._wake[0], False)
        """What is written into it ends the thread that reads keys."""

    def start_application_mode(self) -> None:
        loop = asyncio.get_running_loop()
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
                loop.add_signal_handler(number, self._app.end_by, number)
        if not self._is_watched:
            self._is_watched = True
            self._check_hangup(loop)
        self._is_taken = not self._was_started and self._app.launch.attributes is not None
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._is_taken:
            self.attrs_before = self._app.launch.attributes
        self._was_started, self._is_taken = True, False

    def write(self, data: str) -> None:
        # To enter the alternate screen again would clear it in some terminals.
        if not (self._is_taken and data == first_frame.ENTER):
            super().write(data)

    def run_input_thread(self) -> None:
        """Read keys until the app ends.

        As Textual's, which wakes ten times a second to see whether an escape sequence goes on or
        the app ends, and so needs a fifth of a second to end.
        """
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")().decode
        is_ending = False
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(self._wake[0], selectors.EVENT_READ)
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake[0], READ_SIZE)  # was meant for the thread before
            # The event too: a signal may start this thread while the one before is ended.
            while not (is_ending or self.exit_event.is_set()):
                until = parser._timeout_time
                wait = LONGEST_WAIT if until is None else until - get_time()
                for key, _ in selector.select(min(LONGEST_WAIT, max(0.0, wait))):
                    if key.fd == self._wake[0]:
                        is_ending = True
                    elif data := decode(os.read(key.fd, READ_SIZE)):
                        for event in parser.feed(data):
                            self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)

    def disable_input(self) -> None:
        if self._key_thread is not None and self._key_thread.is_alive():
            os.write(self._wake[1], b"x")
        super().disable_input()

    def _check_hangup(self, loop: asyncio.AbstractEventLoop) -> None:
        poll = select.poll()
        poll.register(self.fileno, 0)
        if poll.poll(0):  # with no event requested, poll reports only hang-ups and errors
            self._app.end_by(signal.SIGHUP)
        else:
            loop.call_later(CHECK_INTERVAL, self._check_hangup, loop)


class _OutputFile:
    """The terminal as a file; once the terminal is closed, output is discarded."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, words: str) -> None:
        try:
            self._file.write(words)
        except OSError:
            self._discard_output()

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError:
            self._discard_output()

    def _discard_output(self) -> None:
        # What is still buffered would fail once more when Python ends, with exit code 120.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)

    def fileno(self) -> int:
        return self._file.fileno()


def open_source(app: AppInterface, place: Place) -> None:
    """Open a memory's file in the editor, at its line, and wait for it."""
    from textual.app import SuspendNotSupported

    from memtui.files import external_editor

    if not Path(place.file).is_absolute() or not Path(place.file).exists():
        app.notify(f"{text.file_name(place.file)} no longer exists.", severity="warning")
        return
    try:
        run_program(
            app, external_editor.editor_command(app.settings.editor, place.file, place.line)
        )
    except SuspendNotSupported:
        app.notify("This terminal cannot run an editor.", severity="warning")
    except OSError as error:
        reason = text.one_line(error.strerror or str(error))
        app.notify(f"Cannot start the editor: {reason}. Set $EDITOR.", severity="error")
    except SaveError as error:
        app.notify(str(error), severity="error")


PAGER = "less"


def page_text(app: AppInterface, words: str) -> None:
    """Show a text in $PAGER, else less, and wait for it.

    It gets visible text on its standard input, since some pagers pass escape sequences on.
    """
    import shlex

    from textual.app import SuspendNotSupported

    try:
        arguments = shlex.split(os.environ.get("PAGER", "")) or [PAGER]
        run_program(app, arguments, input=f"{text.visible(words)}\n")
    except SuspendNotSupported:
        app.notify("This terminal cannot run a pager.", severity="warning")
    except (OSError, ValueError) as error:
        reason = text.one_line(getattr(error, "strerror", "") or str(error))
        app.notify(f"Cannot start the pager: {reason}. Set $PAGER.", severity="error")


def open_folder(app: AppInterface, path: Path) -> None:
    """Show a file in its folder, in the file manager; where there is none, say where it lies."""
    import shutil
    import sys

    folder = path if path.is_dir() else path.parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    has_display = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    name = "open" if sys.platform == "darwin" else "xdg-open" if has_display else ""
    program = shutil.which(name) if name else None
    try:
        if program is not None:
            subprocess.Popen(
                [program, str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            return
    except OSError as error:
        reason = text.one_line(error.strerror or str(error))
        app.notify(f"Cannot start {name}: {reason}.", severity="error")
    app.notify(text.file_name(str(folder)), title="Its folder", timeout=10)


def run_program(app: AppInterface, arguments: Sequence[str], input: str | None = None) -> int:
    """Run another program on the terminal and return its exit status.

    `input` is what it reads instead of the keyboard.

    Raises:
        OSError: it cannot be started.
        SuspendNotSupported: Textual cannot leave this terminal.
    """
    failed: OSError | None = None
    status = 0
    with app.suspend(), _ignored_interrupts():
        # Textual takes the terminal back only if nothing is raised inside `suspend`.
        try:
            status = subprocess.run(
                arguments, check=False, input=input, encoding="utf-8"
            ).returncode
        except OSError as error:
            failed = error
    if failed is not None:
        raise failed
    return status


@contextmanager
def _ignored_interrupts() -> Iterator[None]:
    """Ignore ^C, which reaches every program on the terminal, while another one runs there."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def suspend() -> str:
    """Stop until the shell continues memtui; returns the reason if no shell could."""
    if os.getsid(os.getppid()) != os.getsid(0):
        return "No shell to suspend to."
    # To the whole process group, so that a program that started memtui (uv run) stops too.
    os.kill(0, signal.SIGTSTP)
    return ""
