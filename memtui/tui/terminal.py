"""The terminal: its Textual driver, running other programs on it, suspending, the clipboard.

The driver ends the app on SIGTERM and SIGHUP as `quit` does, so that the terminal is restored and
drafts are kept. Writing to a terminal that was closed must not block.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import select
import selectors
import shutil
import signal
import subprocess
import sys
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

# The driver's reader of keys has no public name.
from textual._xterm_parser import XTermParser
from textual.constants import ESCAPE_DELAY as TEXTUAL_ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver

from memtui import text
from memtui.errors import SaveError
from memtui.model import Place
from memtui.paths import served_mode
from memtui.tui import first_frame
from memtui.tui.app_base import AppBase
from memtui.tui.first_frame import TakenTerminal

ENDING = (signal.SIGTERM, signal.SIGHUP)
INTERRUPTS = (signal.SIGINT, signal.SIGQUIT)
READ_SIZE = 4096
LONGEST_WAIT = 0.5
"""Seconds between two checks of the thread that reads keys whether the app has ended."""
ESCAPE_DELAY = TEXTUAL_ESCAPE_DELAY + 0.01
"""Seconds after which an escape that nothing has followed is the key."""
CHECK_INTERVAL = 1.0
"""Seconds between two checks that the terminal still exists, for when SIGHUP is ignored."""


PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"


class PasteFilter:
    """Holds back what a terminal pastes until it is whole, and removes its escape characters.

    Textual would take what follows one of them for keys, and a paste would run commands.
    """

    def __init__(self) -> None:
        self._last = ""
        self._held: list[str] | None = None

    def feed(self, sign: str) -> str:
        """The signs to read after this one came: usually itself."""
        self._last = (self._last + sign)[-len(PASTE_BEGINS) :]
        if self._held is None:
            if self._last == PASTE_BEGINS:
                self._held = []
            return sign
        self._held.append(sign)
        if self._last != PASTE_ENDS:
            return ""
        pasted, self._held = "".join(self._held[: -len(PASTE_ENDS)]), None
        return pasted.replace("\x1b", "") + PASTE_ENDS


class TerminalDriver(LinuxDriver):
    """Textual's Unix driver that also handles a closed terminal and termination signals."""

    _app: AppBase

    def __init__(self, app: AppBase, **options: Any) -> None:
        super().__init__(app, **options)
        # Textual draws on standard error, which may be a file: `memtui 2>log`. That the standard
        # output is a terminal was asked before the screen was started.
        self._file: Any = _OutputFile(sys.__stdout__ or self._file)
        self._loop = asyncio.get_running_loop()
        self._is_watched = False
        self._taken: TakenTerminal | None = app.launch.terminal
        """The terminal is in the state that `first_frame` has left it in."""
        self._is_reading = False
        """The terminal is the app's: modes are set and a thread reads keys."""
        self._wake = os.pipe()
        os.set_blocking(self._wake[0], False)
        """What is written into it ends the thread that reads keys."""

    def start_application_mode(self) -> None:
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
                self._loop.add_signal_handler(number, self._app.end_by, number)
        if not self._is_watched:
            self._is_watched = True
            self._check_hangup()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._taken is not None:
            self.attrs_before = self._taken.attributes
        self._taken = None

    def stop_application_mode(self) -> None:
        super().stop_application_mode()
        self._is_reading = False

    def _sigcont_application(self, *_: object) -> None:
        """Take the terminal again, soon: this may interrupt anything.

        The kernel sends SIGCONT also to a program that was not stopped, when its terminal is
        closed, and `kill -STOP` stops one that has not given its terminal back. Textual would then
        start a second thread that reads keys, and take its own modes for those to restore.
        """
        self._loop.call_soon_threadsafe(self._continue)

    def _continue(self) -> None:
        # Textual has no public word for "take the terminal when continued".
        if not self._auto_restart or self._app.is_ending:
            return
        if self._is_reading:
            self.suspend_application_mode()
            self._must_signal_resume = True
        if self._must_signal_resume:
            self.resume_application_mode()

    def write(self, data: str) -> None:
        if self._taken is not None and data == first_frame.ENTER:
            return  # to enter the alternate screen again would clear it in some terminals
        # Nothing is written where the terminal was closed before the app took it.
        with contextlib.suppress(AssertionError):
            super().write(data)

    def run_input_thread(self) -> None:
        """Read keys until the app ends.

        As Textual's, which wakes ten times a second to see whether an escape sequence goes on or
        the app ends, and so needs a fifth of a second to end; and which fails, and with it the
        program, at bytes that are not UTF-8, at the code of a key that is no character, and at the
        mouse of a terminal that is no pixels large.
        """
        self._is_reading = True
        parser, pastes = XTermParser(), PasteFilter()
        decode = getincrementaldecoder("utf-8")("replace").decode
        wait, is_ending = LONGEST_WAIT, False
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(self._wake[0], selectors.EVENT_READ)
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake[0], READ_SIZE)  # was meant for the thread before
            # The event too: a signal may start this thread while the one before is ended.
            while not (is_ending or self.exit_event.is_set()):
                ready = selector.select(wait)
                wait = ESCAPE_DELAY if ready else LONGEST_WAIT
                for key, _ in ready:
                    if key.fd == self._wake[0]:
                        is_ending = True
                    elif not (typed := os.read(key.fd, READ_SIZE)):
                        return  # the terminal was closed: it would be ready to read for ever
                    signs = "" if is_ending else decode(typed)
                    for sign in chain.from_iterable(map(pastes.feed, signs)):
                        try:
                            found = list(parser.feed(sign))
                        except (ValueError, ArithmeticError):
                            parser, found = XTermParser(), []
                        for event in found:
                            self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)

    def disable_input(self) -> None:
        if self._is_reading:
            os.write(self._wake[1], b"x")
        super().disable_input()

    def _check_hangup(self) -> None:
        poll = select.poll()
        poll.register(self.fileno, 0)
        if poll.poll(0):  # with no event requested, poll reports only hang-ups and errors
            self._app.end_by(signal.SIGHUP)
        else:
            self._loop.call_later(CHECK_INTERVAL, self._check_hangup)


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


def open_source(app: AppBase, place: Place) -> None:
    """Open a memory's file in the editor, at its line, and wait for it; not a database."""
    from memtui.library.broken_files import is_database

    if not Path(place.file).is_absolute() or not Path(place.file).exists():
        app.notify(f"{text.file_name(place.file)} no longer exists.", severity="warning")
    elif is_database(Path(place.file)):
        app.report_refusal(f"{text.file_name(place.file)} is a database, not a text to edit")
    else:
        run_editor(app, place.file, place.line)


def run_editor(app: AppBase, file: str, line: int | None = None) -> int | None:
    """Open a file in the editor and return its exit status; None, and a toast, if it cannot run."""
    from memtui.files.drafts import editor_command

    return _run_reported(app, "editor", lambda: editor_command(app.settings.editor, file, line))


PAGER = "less"


def page_text(app: AppBase, words: str) -> None:
    """Show a text in $PAGER, else less, and wait for it.

    It gets visible text on its standard input, since some pagers pass escape sequences on.
    """
    import shlex

    def command() -> Sequence[str]:
        return shlex.split(os.environ.get("PAGER", "")) or [PAGER]

    _run_reported(app, "pager", command, f"{text.visible(words)}\n")


def _run_reported(
    app: AppBase, name: str, command: Callable[[], Sequence[str]], input: str | None = None
) -> int | None:
    """Run a program as `run_program` does; None, and a toast that says why, if it cannot."""
    from textual.app import SuspendNotSupported

    try:
        return run_program(app, command(), input)
    except SuspendNotSupported:
        app.notify(f"This terminal cannot run the {name}.", severity="warning")
    except SaveError as error:
        app.report_error(error)
    except (OSError, ValueError) as error:
        reason = text.one_line(getattr(error, "strerror", "") or str(error))
        program = text.one_line(str(getattr(error, "filename", None) or f"the {name}"))
        is_set = bool(getattr(app.settings, name, ""))
        do = f"Change the setting {name}" if is_set else f"Set ${name.upper()}"
        app.notify(f"Cannot start {program}: {reason}. {do}.", severity="error")
    return None


def open_folder(app: AppBase, path: Path) -> None:
    """Show a file in its folder, in the file manager; where there is none, say where it lies."""
    folder = path if path.is_dir() else path.parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    has_display = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    name = "open" if sys.platform == "darwin" else "xdg-open" if has_display else ""
    program = shutil.which(name) if name else None
    try:
        if program is not None:
            # `open` would start a folder called x.app as a program; with -R it shows where it lies.
            shown = ["-R", str(path if path.exists() else folder)]
            start_program([program, *(shown if name == "open" else [str(folder)])])
            return
    except OSError as error:
        reason = text.one_line(error.strerror or str(error))
        app.notify(f"Cannot start {name}: {reason}.", severity="error")
    app.notify(text.file_name(str(folder)), title="Its folder", timeout=10)


def start_program(arguments: Sequence[str]) -> None:
    """Start a program with a window of its own, without the terminal. Raises OSError."""
    if served_mode():
        raise PermissionError(errno.EPERM, "memtui is shown in a browser")
    subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def run_program(app: AppBase, arguments: Sequence[str], input: str | None = None) -> int:
    """Run another program on the terminal and return its exit status.

    `input` is what it reads instead of the keyboard.

    Raises:
        OSError: it cannot be started.
        SuspendNotSupported: Textual cannot leave this terminal, or it is one in a browser.
    """
    if served_mode():
        from textual.app import SuspendNotSupported

        raise SuspendNotSupported("it is shown in a browser")
    failed: OSError | None = None
    status = 0
    with _ignored_interrupts(), app.suspend():
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
    """Ignore ^C and ^\\, which reach every program on the terminal, while another one runs there.

    Not by SIG_IGN, which the other program would inherit.
    """
    before = {each: signal.signal(each, lambda *_: None) for each in INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def suspend() -> str:
    """Stop until the shell continues memtui; returns the reason if no shell could."""
    if os.getsid(os.getppid()) != os.getsid(0):
        return "No shell to suspend to."
    # To the whole process group, so that a program that started memtui (uv run) stops too.
    os.kill(0, signal.SIGTSTP)
    return ""


TOOL_SECONDS = 2.0
"""Time limit of a tool; it hands the text over and ends, or goes on in the background."""


def copy_with_tools(words: str, environ: Mapping[str, str] | None = None) -> bool:
    """Copy with the system's own tool; False if none took the text. Blocks.

    The caller has sent the text by OSC 52 too, which no terminal acknowledges.
    """
    environ = os.environ if environ is None else environ
    if served_mode():  # the clipboard is that of the browser
        return False
    tools: list[list[str]] = []
    if environ.get("WAYLAND_DISPLAY"):
        tools.append(["wl-copy"])
    if environ.get("DISPLAY"):
        tools += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    if sys.platform == "darwin":
        tools.append(["pbcopy"])
    if environ.get("WSL_DISTRO_NAME"):
        tools.append(["clip.exe"])
    for name, *arguments in tools:
        # UTF-16 with its mark is what clip.exe understands besides the code page of Windows.
        coding = "utf-16" if name == "clip.exe" else "utf-8"
        program = shutil.which(name, path=environ.get("PATH"))
        if program and _run_tool([program, *arguments], words.encode(coding, "replace")):
            return True
    return False


def _run_tool(command: list[str], input: bytes) -> bool:
    try:
        done = subprocess.run(
            command,
            input=input,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TOOL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
