"""Run a piece of work in a process that may be killed."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

KILLED = -signal.SIGKILL


def fork(work: Callable[[], None]) -> int:
    """Start the work in a child; returns its process id."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def wait(child: int) -> int:
    """The exit status; negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def has_ended(process: int) -> bool:
    """Whether a process that somebody else started ends within a minute."""
    status = Path("/proc", str(process), "stat")
    for _ in range(1200):
        try:
            if status.read_text().rpartition(")")[2].split()[0] == "Z":
                return True  # nobody has asked how it ended
        except OSError:
            return True
        time.sleep(0.05)
    return False


def in_child(work: Callable[[], None]) -> int:
    return wait(fork(work))
