"""A pseudo-terminal with an emulator behind it, for tests that start the real program."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pyte
import pytest

from memtui import __file__ as package
from tests.own_folders import own_folders

ANSWERS = {
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[c": b"\x1b[?62;22c",
    b"\x1b[?2026$p": b"\x1b[?2026;2$y",
}
"""Questions that programs ask of a terminal, and what a plain one says."""
MODE = re.compile(rb"\x1b\[\?([\d;]+)([hl])")
MEMTUI = (sys.executable, "-m", "memtui")
KEPT = {"25", "7"}
"""Modes that are on in a terminal nobody has touched: the cursor, wrapping."""
LONGEST = 120.0
"""Seconds to wait for a text before the test fails; a busy machine needs some."""
QUIET = 0.2
"""Seconds without output after which a frame is whole; also above the wait for the rest of an
escape sequence, so that the next key is not taken for one together with Esc."""


Start = Callable[..., AbstractContextManager["Terminal"]]


class Terminal:
    """The program's screen, and its keyboard."""

    def __init__(
        self, child: int, handle: int, line: int, size: tuple[int, int], attributes: list[object]
    ) -> None:
        self._child, self._handle = child, handle
        self._line = line
        """The end of the terminal that programs have."""
        self.attributes = attributes
        """Of the terminal before the program began."""
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = bytearray()
        self.status: int | None = None

    def send(self, keys: str) -> None:
        """Press keys, as the bytes a terminal would send."""
        os.write(self._handle, keys.encode())

    def escape(self) -> None:
        """Press Escape as one unmistakable sequence, so that the next key needs no pause.

        A bare one with a key in the same read is alt and that key, and a busy machine reads late.
        """
        self.send("\x1b[27u")

    def write(self, words: str) -> None:
        """Write on the terminal as another program would that has it open.

        By a handle of its own that never blocks: while the terminal is full nobody else reads it.
        """
        rest = words.encode()
        noisy = os.open(os.ttyname(self._line), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        end = time.monotonic() + LONGEST
        try:
            while rest:
                assert time.monotonic() < end, "the terminal takes nothing more"
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(noisy, rest) :]
                self.read(0.01)
        finally:
            os.close(noisy)

    def resize(self, columns: int, rows: int) -> None:
        """Make the window another size; the program is told."""
        self.screen.resize(rows, columns)
        fcntl.ioctl(self._handle, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def text(self) -> str:
        # Not `display`, which fails at a wide sign of which one half was overwritten.
        lines = (self.screen.buffer[y] for y in range(self.screen.lines))
        cells = range(self.screen.columns)
        return "\n".join("".join(line[x].data for x in cells).rstrip() for line in lines)

    def wait_for(self, words: str) -> str:
        """Read until the words are on the screen; returns the screen."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            self.read(0.05)
            if words in self.text():
                return self.text()
        raise AssertionError(f"{words!r} did not come up:\n{self.text()}")

    def wait_until_gone(self, words: str) -> None:
        """Read until the words are no longer on the screen, and no output follows for a while.

        Words that are only moved are gone too between two reads of one frame.
        """
        end = time.monotonic() + LONGEST
        while self.read(QUIET) or words in self.text():
            assert time.monotonic() < end, f"{words!r} stays:\n{self.text()}"

    def wait_until(self, holds: Callable[[], object]) -> None:
        """Read until something holds beside the screen: of files, of other processes."""
        end = time.monotonic() + LONGEST
        while not holds():
            assert time.monotonic() < end, self.text()
            self.read(0.05)

    def wait_for_end(self) -> int:
        """Read until the program has ended; returns its exit status."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            self.read(0.05)
            child, status = os.waitpid(self._child, os.WNOHANG)
            if child:
                self.status = os.waitstatus_to_exitcode(status)
                while self.read(0.05):
                    pass
                return self.status
        raise AssertionError(f"the program did not end:\n{self.text()}")

    def modes_left_on(self) -> set[str]:
        """Terminal modes that were switched on and never off again."""
        on: set[str] = set()
        for numbers, way in MODE.findall(bytes(self.raw)):
            for number in numbers.decode().split(";"):
                (on.add if way == b"h" else on.discard)(number)
        return on - KEPT

    def read(self, wait: float) -> bool:
        """Read what the program writes within `wait` seconds; False if it writes nothing."""
        ready, _, _ = select.select([self._handle], [], [], wait)
        if not ready:
            return False
        try:
            data = os.read(self._handle, 65536)
        except OSError:
            return False
        for question, answer in ANSWERS.items():
            if question in data:
                with contextlib.suppress(OSError):
                    os.write(self._handle, answer)
        self.raw += data
        self._stream.feed(data)
        return bool(data)

    def hang_up(self) -> None:
        """Close the terminal under the program, as a window that is shut does."""
        os.close(self._line)
        os.close(self._handle)
        self._handle = self._line = os.open(os.devnull, os.O_RDWR)

    def close(self) -> None:
        if self.status is None:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._child, signal.SIGKILL)
                os.waitpid(self._child, 0)
        for handle in {self._line, self._handle}:
            os.close(handle)


@pytest.fixture(scope="session")
def memtui() -> Start:
    """Starts the program; see `start`."""
    return start


@contextmanager
def start(
    arguments: Sequence[str],
    home: Path,
    *,
    size: tuple[int, int] = (120, 35),
    environ: Mapping[str, str] | None = None,
    program: Sequence[str] = MEMTUI,
) -> Iterator[Terminal]:
    """`memtui ARGUMENTS` in a terminal of its own, with a home that nothing else uses."""
    settings = {
        **{key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ},
        "HOME": str(home),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "PYTHONUTF8": "1",
        "PYTHONPATH": str(Path(package).resolve().parents[1]),
        **own_folders(home),
        **(environ or {}),
    }
    handle, line = pty.openpty()
    columns, rows = size
    fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    attributes = termios.tcgetattr(line)
    child = os.fork()
    if child == 0:
        try:
            os.close(handle)
            os.login_tty(line)
            os.chdir(home)
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)  # a job in the background ignores them
            os.execvpe(program[0], [*program, *arguments], settings)
        finally:  # the terminal was closed before it began: this is no second pytest
            os._exit(127)
    terminal = Terminal(child, handle, line, size, attributes)
    try:
        yield terminal
    finally:
        terminal.close()
