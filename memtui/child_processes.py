"""Run slow work in child processes, so that the screen stays responsive.

A worker is a module of memtui that prints JSON lines: `{"what": "indexing", "done": 1024, "total":
33000}` while it works, at the end `{"what": "done", ...}` or `{"what": "failed", "why": "..."}`.
One that dies, hangs or is cancelled is killed, and none outlives the program.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import memtui
from memtui.errors import MemtuiError, WorkerError
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent

SILENCE_LIMIT = 120.0
"""Seconds without a line of output after which a worker is considered hung."""
ENDING_LIMIT = 5.0
"""Seconds that a worker has to end once it has closed its output."""
NICENESS = 10
"""nice(2) value of workers, so that the screen and the agents get the processor first."""
_POLL_SECONDS = 0.2
"""Between two checks of `cancelled`."""
_REPORT_EVERY = 0.5
"""Seconds between two lines of progress."""

_running: set[subprocess.Popen[bytes]] = set()


@contextlib.contextmanager
def noted(child: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Yield the child, which `kill_all` kills if it is called before the block ends."""
    _running.add(child)
    try:
        yield child
    finally:
        _running.discard(child)


def kill_all() -> None:
    """Kill all workers: the program ends without waiting for the threads that use them."""
    for child in tuple(_running):
        child.kill()


# In the program


def run_worker(
    module: str,
    arguments: Sequence[str] = (),
    report: Report = silent,
    cancelled: IsCancelled = never,
    *,
    stdin_text: str = "",
) -> dict[str, Any]:
    """Run the worker `module`, which calls `serve`, to its end; returns its last line.

    `cancelled` is asked five times a second; once it is true, the worker is killed. `stdin_text` is
    less than a pipe holds, 64 KiB. Raises Cancelled; WorkerError if it could not be started,
    failed, died or hung.
    """
    # -P: a module in the current folder, which may be a stranger's, is never imported.
    command = [sys.executable, "-P", "-m", module, *arguments]
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            start_new_session=True,
        )
    except OSError as error:
        raise WorkerError("the process cannot be started", where=module) from error
    try:
        with noted(child):
            assert child.stdin is not None
            with contextlib.suppress(OSError), child.stdin as stdin:  # it may have died already
                stdin.write(stdin_text.encode("ascii"))
            return _follow(child, module, report, cancelled)
    except (ValueError, KeyError, TypeError) as error:
        raise WorkerError("the process printed something unexpected", where=module) from error
    finally:
        child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()


def start_detached(arguments: Sequence[str]) -> None:
    """Start memtui with these arguments, without input or output; nobody waits for its end."""
    command = [sys.executable, "-P", "-m", "memtui", *arguments]
    nothing = subprocess.DEVNULL
    with contextlib.suppress(OSError):
        subprocess.Popen(
            command,
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            env=_environment(),
            start_new_session=True,
        )


def _environment() -> dict[str, str]:
    """The environment in which a child imports this memtui."""
    home = str(Path(memtui.__file__).parents[1])
    path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}


def _follow(
    child: subprocess.Popen[bytes], module: str, report: Report, cancelled: IsCancelled
) -> dict[str, Any]:
    """Pass on what the child reports, until its last line. Raises Cancelled or WorkerError."""
    for line in _lines(child, module, cancelled):
        message: dict[str, Any] = json.loads(line)
        if message["what"] == "done":
            return message
        if message["what"] == "failed":
            raise WorkerError(str(message["why"]), where=module)
        report(Progress(message["what"], int(message["done"]), int(message["total"])))
    raise WorkerError(f"the process ended early, status {_status(child)}", where=module)


def _status(child: subprocess.Popen[bytes]) -> int:
    """The exit status of a child that has closed its output; one that does not end is killed."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return child.wait(ENDING_LIMIT)
    child.kill()
    return child.wait()


def _lines(
    child: subprocess.Popen[bytes], module: str, cancelled: IsCancelled
) -> Iterator[bytearray]:
    """The output of the child, line by line. Raises Cancelled or WorkerError."""
    assert child.stdout is not None
    descriptor = child.stdout.fileno()
    heard = time.monotonic()
    pending = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if cancelled():
                raise Cancelled
            if not selector.select(_POLL_SECONDS):
                if time.monotonic() - heard > SILENCE_LIMIT:
                    raise WorkerError("the process hung and was killed", where=module)
                continue
            piece = os.read(descriptor, 1 << 16)
            if not piece:
                return
            heard = time.monotonic()
            pending += piece
            if b"\n" in piece:
                *lines, pending = pending.split(b"\n")
                yield from lines


# In the worker


def serve(work: Callable[[Report], dict[str, Any]], *, yields: bool = True) -> int:
    """Do the work of a worker and print its lines; returns the exit status.

    `work` returns what the last line holds. Unless it `yields`, it calls `yield_processor` itself
    where it takes long.
    """
    if yields:
        yield_processor()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)  # it ends soon, and what it makes has no cycles
    reported = 0.0

    def report(progress: Progress) -> None:
        nonlocal reported
        is_last = progress.done == progress.total
        if not is_last and time.monotonic() - reported < _REPORT_EVERY:
            return
        reported = time.monotonic()
        _say({"what": progress.what, "done": progress.done, "total": progress.total})

    try:
        _say({**work(report), "what": "done"})
    except Exception as error:  # the program says so and goes on without
        why = str(error) if isinstance(error, MemtuiError) else repr(error)
        _say({"what": "failed", "why": why})
        return 1
    return 0


def yield_processor() -> None:
    """Let other processes go first, also those of other sessions: Linux counts the niceness of a
    session of its own only within it, unless the session itself has one (sched(7), autogroups).
    That of a shell by which a worker was started by hand stays as it is."""
    os.nice(NICENESS)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(NICENESS), encoding="ascii")


def _say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)
