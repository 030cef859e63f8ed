"""Scan the stores of the screen; runs as a process of its own (see `ReviewQueue.scan_aside`).

    python -m memtui.library.review_worker < TASK

opens the same stores to read, takes their rows from the cache, scans what changed since the last
scan, keeps what it found in the cache, and prints the lines of a worker (see
`memtui.child_processes`), the last one with the proposals.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memtui.child_processes import serve
from memtui.config import ReviewSettings
from memtui.library.library import Library
from memtui.library.opening import StoreSource, reopen_stores
from memtui.library.review import ReviewQueue
from memtui.progress import Report
from memtui.upkeep.proposals import to_record


def scan(task: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Do the task, which `ReviewQueue.scan_aside` wrote. Raises MemtuiError."""
    now = datetime.fromisoformat(task["now"])
    settings = {**task["settings"], "off": tuple(task["settings"]["off"])}
    library = Library(
        reopen_stores(StoreSource(**source) for source in task["stores"]),
        cache=Path(task["cache"]),
        state=Path(task["state"]) if task["state"] is not None else None,
        now=lambda: now,
    )
    library.loaded.writes_cache = False  # the screen does
    library.load(report)
    queue = ReviewQueue(library, ReviewSettings(**settings))
    queue.scan(None, report)
    found = queue.findings
    assert found is not None
    return {
        "stamp": found.stamp,
        "proposals": [to_record(proposal) for proposal in found.proposals],
    }


if __name__ == "__main__":
    task = json.load(sys.stdin)
    sys.exit(serve(lambda report: scan(task, report)))
