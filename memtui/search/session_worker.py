"""Index the sessions of one program in a child process, which yields to the screen.

    python -m memtui.search.session_worker CACHE PROGRAM

The settings say which projects are left out, and the state which sessions. It prints the lines of
a worker (see `memtui.child_processes`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memtui.child_processes import run_worker, serve
from memtui.progress import IsCancelled, Report, never, silent

WORKER = "memtui.search.session_worker"


def index_sessions(
    cache: Path,
    program: str,
    report: Report = silent,
    cancelled: IsCancelled = never,
) -> dict[str, Any]:
    """Run the worker to its end; returns `files`, `messages` and `unreadable`. Raises WorkerError,
    Cancelled."""
    return run_worker(WORKER, (str(cache), program), report, cancelled)


def _work(arguments: Sequence[str], report: Report) -> dict[str, Any]:
    from memtui.search.session_index import SessionIndex
    from memtui.sessions.chosen import chosen_sessions

    cache, program = arguments
    found = chosen_sessions([program])
    locked = [error.where for error in found.unreadable]
    done = SessionIndex(Path(cache), program).update(found.sessions, report, unreadable=locked)
    if done is None:
        return {"files": 0, "messages": 0, "unreadable": []}
    unreadable = [*map(str, found.unreadable), *done.unreadable]
    return {"files": done.files, "messages": done.messages, "unreadable": unreadable}


if __name__ == "__main__":
    sys.exit(serve(lambda report: _work(sys.argv[1:], report)))
