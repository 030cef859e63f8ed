"""Match a regular expression against texts in a child process, which is killed at a time limit.

Python's `re` may take exponential time for a pattern such as `(a+)+$`, holds the interpreter lock
meanwhile and cannot be interrupted. A child process keeps the screen free and can be killed. The
package `regex` has a time limit too, but its matching holds the lock as well, and it would be one
more compiled dependency.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Thread
from typing import IO

from memtui import child_processes
from memtui.progress import Cancelled, IsCancelled, never

CPU_LIMIT = 2
"""Seconds of computing for all texts of a query; 33,000 short ones take a tenth of one."""
TIME_LIMIT = 10.0
"""Seconds after which the child is killed even if other programs had the processor."""
_LOOK = 0.02
"""Seconds between two checks of `cancelled`."""
_CHILD = f"""
import json, re, resource, sys, warnings
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_LIMIT}, {CPU_LIMIT}))
warnings.simplefilter("ignore")
lines = sys.stdin.buffer
search = re.compile(json.loads(lines.readline()), re.IGNORECASE | re.MULTILINE).search
for number, line in enumerate(lines):
    if search(json.loads(line)):
        print(number, flush=True)
print("end", flush=True)
"""


@dataclass(frozen=True, slots=True)
class RegexHits:
    """The texts in which a pattern was found."""

    numbers: tuple[int, ...]
    """Of the texts, ascending."""
    is_complete: bool
    """False if the time was up, or no child could be started."""


def scan(
    pattern: str,
    texts: Iterable[str],
    cancelled: IsCancelled = never,
    time_limit: float = TIME_LIMIT,
) -> RegexHits:
    """Return the texts with a match, ignoring case; `^` and `$` match at lines.

    Args:
        pattern: A valid pattern of Python's `re`.
        texts: The texts, one item each.
        cancelled: Is asked while waiting.
        time_limit: Seconds after which the child is killed.

    Raises:
        Cancelled: `cancelled` became true.
    """
    data = "".join(f"{json.dumps(text)}\n" for text in (pattern, *texts)).encode("ascii")
    command = [sys.executable, "-I", "-S", "-c", _CHILD]
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, ValueError):
        return RegexHits((), is_complete=False)
    with child, child_processes.noted(child):
        stdin, child.stdin = child.stdin, None  # or `communicate` would wait for it
        writer = Thread(target=_write, args=(stdin, data), daemon=True)
        writer.start()
        try:
            output = _wait(child, cancelled, time.monotonic() + time_limit)
        finally:
            child.kill()
            writer.join()
    lines = output.decode("ascii", "replace").split("\n")[:-1]
    complete = bool(lines) and lines[-1] == "end"
    return RegexHits(tuple(int(line) for line in lines if line.isdecimal()), complete)


def _write(stdin: IO[bytes] | None, data: bytes) -> None:
    """Give the child its texts; it may end before it has read them."""
    if stdin is not None:
        with contextlib.suppress(OSError), stdin:
            stdin.write(data)


def _wait(child: subprocess.Popen[bytes], cancelled: IsCancelled, deadline: float) -> bytes:
    """What the child printed until it ended or the deadline. Raises Cancelled."""
    while True:
        try:
            return child.communicate(timeout=_LOOK)[0]
        except subprocess.TimeoutExpired:
            if cancelled():
                raise Cancelled from None
            if time.monotonic() > deadline:
                child.kill()
                return child.communicate()[0]
