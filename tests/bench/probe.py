"""A program in a pseudo-terminal, timed from outside: what a person at the keys would feel.

Output is stamped while it is read and only fed to the terminal emulator in pauses, so that the
emulator's slowness is not measured.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyte

QUIET = 0.12
"""Seconds without output after which the screen has settled."""
PATIENCE = 90.0
KEYS = {
    "enter": "\r",
    "escape": "\x1b[27u",  # a bare one with a key in the same read is alt and that key
    "down": "\x1b[B",
    "up": "\x1b[A",
    "pgdn": "\x1b[6~",
    "home": "\x1b[H",
    "end": "\x1b[F",
}


@dataclass(frozen=True, slots=True)
class Reaction:
    """What one key did to the screen; milliseconds from the key on."""

    first: float
    """To the first byte."""
    last: float
    """To the last byte before the screen was quiet."""
    size: int
    """Bytes written."""


def _resize(descriptor: int, columns: int, rows: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Terminal:
    """A running program and its screen."""

    def __init__(
        self, command: Sequence[str], *, size: tuple[int, int] = (120, 40), **environment: str
    ) -> None:
        columns, rows = size
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.started = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if not self.pid:
            _resize(0, columns, rows)
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", **environment)
            os.execvp(command[0], list(command))

    def _read(self, wait: float) -> bytes:
        ready, _, _ = select.select([self._fd], [], [], max(0.0, wait))
        if not ready:
            return b""
        try:
            return os.read(self._fd, 1 << 16)
        except OSError:  # the program ended
            return b""

    def _settle(self, since: float, quiet: float = QUIET) -> Reaction:
        """Read until the screen is quiet."""
        chunks: list[bytes] = []
        first = last = since
        while True:
            data = self._read(quiet)
            if not data:
                break
            last = time.perf_counter()
            first = first if chunks else last
            chunks.append(data)
        self._feed(b"".join(chunks))
        return Reaction((first - since) * 1e3, (last - since) * 1e3, sum(map(len, chunks)))

    def _feed(self, data: bytes) -> None:
        with contextlib.suppress(Exception):  # pyte does not know every sequence
            self._stream.feed(data)

    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    def wait_for(self, *texts: str) -> float:
        """Seconds from the start of the program until one of the texts stands on the screen."""
        end = time.perf_counter() + PATIENCE
        while time.perf_counter() < end:
            data = self._read(0.02)
            now = time.perf_counter()
            if data:
                self._feed(data)
                if any(text in self.text() for text in texts):
                    return now - self.started
        raise TimeoutError(f"{texts} did not come; the screen:\n{self.text()}")

    def wait_until_gone(self, text: str) -> float:
        """Seconds from the start of the program until the text stands on the screen no more."""
        end = time.perf_counter() + PATIENCE
        while text in self.text():
            if time.perf_counter() > end:
                raise TimeoutError(f"{text} did not go; the screen:\n{self.text()}")
            self._feed(self._read(0.02))
        return time.perf_counter() - self.started

    def press(self, key: str) -> Reaction:
        """Send one key (or text) and wait until the screen is quiet."""
        since = time.perf_counter()
        os.write(self._fd, KEYS.get(key, key).encode())
        return self._settle(since)

    def press_for(self, key: str, *texts: str) -> float:
        """Send one key; milliseconds until all of the texts stand on the screen.

        What comes is stamped as it comes, and looked at once the screen is quiet.
        """
        since = time.perf_counter()
        os.write(self._fd, KEYS.get(key, key).encode())
        while time.perf_counter() - since < PATIENCE:
            chunks: list[tuple[float, bytes]] = []
            while data := self._read(QUIET):
                chunks.append((time.perf_counter(), data))
            for stamp, data in chunks:
                self._feed(data)
                if all(text in self.text() for text in texts):
                    for _, rest in chunks[chunks.index((stamp, data)) + 1 :]:
                        self._feed(rest)
                    return (stamp - since) * 1e3
        raise TimeoutError(f"{texts} did not come; the screen:\n{self.text()}")

    def memory(self) -> float:
        """Peak MiB of the program itself."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def leave(self, key: str) -> float:
        """Send the key that ends the program; seconds until it has ended."""
        since = time.perf_counter()
        os.write(self._fd, KEYS.get(key, key).encode())
        while time.perf_counter() - since < PATIENCE:
            self._read(0.01)
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                os.close(self._fd)
                return time.perf_counter() - since
        self.end()
        raise TimeoutError("it does not end")

    def end(self) -> None:
        """End the program that was started here, whatever it is doing."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        with contextlib.suppress(OSError):
            os.close(self._fd)
