"""A program in a pseudo-terminal of its own, driven by asyncio."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence

READ_SIZE = 65_536
LARGEST = 1_000
"""Columns and rows at most."""
ENDS_WITHIN = 5.0
"""Seconds in which a program that was hung up has kept what it keeps."""
RETRY = 0.01
"""Seconds until input is written again that the terminal had no room for."""
READS_WITHIN = 5.0
"""Seconds in which a program reads some of its input; for one that is stopped it is dropped."""


class Terminal:
    """One running program."""

    def __init__(self, handle: int, process: asyncio.subprocess.Process) -> None:
        self._handle = handle
        self._process = process
        self._room = asyncio.Event()

    @classmethod
    async def start(
        cls, command: Sequence[str], environ: Mapping[str, str], columns: int, rows: int
    ) -> Terminal:
        """Start a program without a shell. It leads a session: no signal of its keys leaves it."""
        handle, line = pty.openpty()
        try:
            _set_size(handle, columns, rows)
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=line,
                stdout=line,
                stderr=line,
                env=dict(environ),
                preexec_fn=lambda: os.login_tty(0),
            )
        except BaseException:
            os.close(handle)
            raise
        finally:
            os.close(line)
        os.set_blocking(handle, False)
        return cls(handle, process)

    async def read(self) -> bytes:
        """What the program writes next; empty once it has ended."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                return os.read(self._handle, READ_SIZE)
            except BlockingIOError:
                pass
            except OSError:  # Linux tells the end of the other side so
                return b""
            self._room.clear()
            loop.add_reader(self._handle, self._room.set)
            try:
                await self._room.wait()
            finally:
                loop.remove_reader(self._handle)

    async def write(self, data: bytes) -> None:
        """Type this."""
        end = time.monotonic() + READS_WITHIN
        while data and time.monotonic() < end:
            try:
                data = data[os.write(self._handle, data) :]
                end = time.monotonic() + READS_WITHIN
            except BlockingIOError:
                await asyncio.sleep(RETRY)
            except OSError:
                return

    def resize(self, columns: int, rows: int) -> None:
        """Make the terminal another size; the program is told."""
        _set_size(self._handle, columns, rows)

    async def end(self) -> None:
        """Hang up, and wait until the program has kept what it keeps."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGHUP)
            drain = asyncio.create_task(self._drain())
            try:
                await asyncio.wait_for(self._process.wait(), ENDS_WITHIN)
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
            drain.cancel()
            await asyncio.wait([drain])
        os.close(self._handle)

    async def _drain(self) -> None:
        while await self.read():
            pass


def _set_size(handle: int, columns: int, rows: int) -> None:
    size = (max(1, min(each, LARGEST)) for each in (rows, columns))
    fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
