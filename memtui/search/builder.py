"""Build the index of one store in a child process, so that the screen stays responsive.

Each function starts `memtui.search.index_worker`, passes on the progress that it reports and waits.
A child that dies, hangs or is cancelled is killed. Arrays and index become valid only by a file
that is renamed last, so an unfinished one is never used.
"""

from __future__ import annotations

import logging
from pathlib import Path

from memtui.child_processes import run_worker
from memtui.errors import WorkerError
from memtui.progress import Cancelled, IsCancelled, Report, never, silent

log = logging.getLogger(__name__)

WORKER = "memtui.search.index_worker"


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
    """Bring the Whoosh index up to date with the generation. Returns as `build_arrays`."""
    return _run(generation, "whoosh", report, cancelled)


def build_vectors(
    generation: Path, report: Report = silent, cancelled: IsCancelled = never
) -> bool:
    """Embed what has no vector yet with the static model. Returns as `build_arrays`."""
    return _run(generation, "vectors", report, cancelled)


def _run(generation: Path, what: str, report: Report, cancelled: IsCancelled) -> bool:
    try:
        run_worker(WORKER, (what, str(generation)), report, cancelled)
    except Cancelled:
        log.info("indexing of %s cancelled", generation.parent)
    except WorkerError as error:
        log.warning("indexing of %s failed: %s", generation.parent, error)
    else:
        return True
    return False
