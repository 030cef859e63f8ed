"""Build the index of one store in a child process, so that the screen stays responsive.

Each function starts `memtui.search.index_worker`, passes on the progress that it reports and waits.
A child that dies, hangs or is cancelled is killed. Arrays and index become valid only by a file
that is renamed last, so an unfinished one is never used.
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import memtui
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.search import child_processes

log = logging.getLogger(__name__)

SILENCE_LIMIT = 120.0
"""Seconds without a line of output after which the child is considered hung."""
_POLL_SECONDS = 0.05
"""Between two checks of `cancelled`."""


def build_arrays(generation: Path, report: Report = silent, cancelled: IsCancelled = never) -> bool:
    """Build the arrays of one catalog generation and wait for them.

    Args:
        generation: The folder of the generation; the arrays are written into it.
        report: Is given the rows done and the rows there are.
        cancelled: Is asked twenty times a second; once it is true, the child is killed.

    Returns:
        Whether the arrays are there. A failure is logged, never raised.
    """
    return _run(generation, "arrays", report, cancelled)


def build_whoosh(generation: Path, report: Report = silent, cancelled: IsCancelled = never) -> bool:
    """Bring the Whoosh index up to date with the generation; as `build_arrays`."""
    return _run(generation, "whoosh", report, cancelled)


def build_vectors(
    generation: Path, report: Report = silent, cancelled: IsCancelled = never
) -> bool:
    """Embed what has no vector yet with the static model; as `build_arrays`."""
    return _run(generation, "vectors", report, cancelled)


def _run(generation: Path, what: str, report: Report, cancelled: IsCancelled) -> bool:
    # -P: a module in the current folder, which may be a stranger's, is never imported.
    command = [sys.executable, "-P", "-m", "memtui.search.index_worker", what, str(generation)]
    home = str(Path(memtui.__file__).parents[1])
    path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
    except OSError as error:
        log.warning("the process that builds the index cannot be started: %s", error)
        return False
    try:
        with child_processes.noted(child):
            return _follow(child, generation, report, cancelled)
    except TimeoutError:
        log.warning("indexing of %s hung and was killed", generation.parent)
    except Cancelled:
        log.info("indexing of %s cancelled", generation.parent)
    except (ValueError, KeyError, TypeError) as error:
        log.warning("indexing of %s gave unexpected output: %r", generation.parent, error)
    finally:
        child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
    return False


def _follow(
    child: subprocess.Popen[bytes], generation: Path, report: Report, cancelled: IsCancelled
) -> bool:
    """Pass on what the child reports; whether it has done its work. Raises as `_lines`."""
    for line in _lines(child, cancelled):
        message = json.loads(line)
        if message["what"] == "done":
            return True
        if message["what"] == "failed":
            log.warning("indexing of %s failed: %s", generation.parent, message["why"])
            return False
        report(Progress(message["what"], int(message["done"]), int(message["total"])))
    log.warning("indexing of %s ended early, status %s", generation.parent, child.poll())
    return False


def _lines(child: subprocess.Popen[bytes], cancelled: IsCancelled) -> Iterator[bytes]:
    """The output of the child, line by line. Raises TimeoutError or Cancelled."""
    if child.stdout is None:
        return
    descriptor = child.stdout.fileno()
    heard = time.monotonic()
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while True:
            if cancelled():
                raise Cancelled
            if not selector.select(_POLL_SECONDS):
                if time.monotonic() - heard > SILENCE_LIMIT:
                    raise TimeoutError
                continue
            piece = os.read(descriptor, 65536)
            if not piece:
                return
            heard = time.monotonic()
            *lines, pending = (pending + piece).split(b"\n")
            yield from lines
