"""Match a regular expression against texts in a child process, which is killed at a time limit.

Python's `re` may take exponential time for a pattern such as `(a+)+$`, holds the interpreter lock
meanwhile and cannot be interrupted. A child process keeps the screen free and can be killed. The
package `regex` has a time limit too, but its matching holds the lock as well, and it would be one
more compiled dependency.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

from memtui.progress import Cancelled, IsCancelled, never

TIME_LIMIT = 2.0
"""Seconds for all texts of a query."""
_LOOK = 0.02
"""Seconds between two checks of `cancelled`."""
_CHILD = """
import json, re, sys, warnings
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
    """Find the texts with a match, ignoring case; `^` and `$` match at lines.

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
    with child:
        try:
            output = _wait(child, data, cancelled, time.monotonic() + time_limit)
        finally:
            child.kill()
    lines = output.decode("ascii", "replace").split("\n")[:-1]
    complete = bool(lines) and lines[-1] == "end"
    return RegexHits(tuple(int(line) for line in lines if line.isdecimal()), complete)


def _wait(
    child: subprocess.Popen[bytes], data: bytes, cancelled: IsCancelled, deadline: float
) -> bytes:
    """What the child printed until it ended or the deadline. Raises Cancelled."""
    given: bytes | None = data
    while True:
        try:
            return child.communicate(given, timeout=_LOOK)[0]
        except subprocess.TimeoutExpired:
            given = None  # it goes on with what it was given first
            if cancelled():
                raise Cancelled from None
            if time.monotonic() > deadline:
                child.kill()
                return child.communicate()[0]
