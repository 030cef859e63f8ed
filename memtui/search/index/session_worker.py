"""Index the sessions of one program in a child process, which yields to the screen.

    python -m memtui.search.index.session_worker CACHE PROGRAM [FILE...]

Of files that are named only these are looked at. What is little, such as a new message, is done
without yielding, since a person waits for it. The settings say which projects are left out, and the
state which sessions. It prints the lines of a worker (see `memtui.child_processes`).
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from memtui.child_processes import run_worker, serve, yield_processor
from memtui.errors import SaveError
from memtui.progress import IsCancelled, Report, never, silent

WORKER = "memtui.search.index.session_worker"
LONGEST_WAIT = 30.0
"""Seconds to wait for another process that indexes the same sessions."""


def index_sessions(
    cache: Path,
    program: str,
    report: Report = silent,
    cancelled: IsCancelled = never,
    *,
    only: Collection[str] = (),
) -> dict[str, Any]:
    """Run the worker to its end; returns `files`, `messages` and `unreadable`.

    `only`: the files that changed; empty: look at all. Raises WorkerError, Cancelled.
    """
    return run_worker(WORKER, (str(cache), program, *only), report, cancelled)


def work(arguments: Sequence[str], report: Report) -> dict[str, Any]:
    """Index as the command line says. Where another process indexes, wait a while for what it
    finds, and only then for nothing. Raises SaveError."""
    from memtui.files.reading import error_text
    from memtui.search.index.session_index import SessionIndex
    from memtui.sessions.programs import chosen_sessions

    cache, program, *files = arguments
    only = frozenset(files) or None
    found = chosen_sessions([program], only)
    locked = [error.where for error in found.unreadable]
    index = SessionIndex(Path(cache), program)
    end = monotonic() + LONGEST_WAIT
    try:
        while True:
            done = index.update(
                found.sessions, report, unreadable=locked, only=only, before_long=yield_processor
            )
            if done is not None or monotonic() > end:
                break
            sleep(0.1)
    except OSError as error:
        what = f"the index of sessions is not up to date: {error_text(error)}"
        raise SaveError(what, where=cache) from error
    if done is None:
        return {"files": 0, "messages": 0, "unreadable": []}
    unreadable = [*map(str, found.unreadable), *done.unreadable]
    return {"files": done.files, "messages": done.messages, "unreadable": unreadable}


if __name__ == "__main__":
    sys.exit(serve(lambda report: work(sys.argv[1:], report), yields=False))
