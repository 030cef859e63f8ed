"""Build the index of one store in a child process, so that the screen stays responsive.

`build_index` starts this module as a process of its own, passes on its progress and waits:

    python -m memtui.search.index.index_worker index GENERATION    write the index of the generation
    python -m memtui.search.index.index_worker vectors GENERATION  embed what has no vector yet

The process reads the rows of one generation (see `memtui.search.saved_rows`) and prints the
lines of a worker (see `memtui.child_processes`). The index becomes valid only by a file that is
renamed last, so that of a child that died is never used.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memtui.errors import EmbeddingError, WorkerError
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent

if TYPE_CHECKING:
    from memtui.search.embedding import Embedder

log = logging.getLogger(__name__)

WORKER = "memtui.search.index.index_worker"
MAX_EMBEDDED_HERE = 1_000
"""Memories that are embedded without starting a process, in a third of a second."""


def build_index(
    what: Literal["index", "vectors"],
    generation: Path,
    report: Report = silent,
    cancelled: IsCancelled = never,
) -> bool:
    """Build the index or the vectors of one generation, and wait for them.

    Args:
        what: What to build.
        report: Is given the rows done and the rows there are.
        cancelled: Is asked five times a second; once it is true, the child is killed.

    Returns:
        Whether it was built. A failure is logged, never raised.
    """
    try:
        from memtui.child_processes import run_worker

        run_worker(WORKER, (what, str(generation)), report, cancelled)
    except Cancelled:
        log.info("indexing of %s cancelled", generation.parent)
    except WorkerError as error:
        log.warning("indexing of %s failed: %s", generation.parent, error)
    else:
        return True
    return False


def update_vectors(
    generation: Path, embedder: Embedder, report: Report, cancelled: IsCancelled = never
) -> tuple[int, int]:
    """Embed what has no vector yet; long local work runs in a process of its own.

    Args:
        generation: The folder of a generation.
        embedder: What makes the vectors.
        report: Is given the texts embedded and the texts to embed.

    Returns:
        How many texts were embedded, and how many different texts there are.

    Raises:
        Cancelled, EmbeddingError, OSError: The batches finished before are kept.
    """
    from memtui.search import saved_rows, vectors

    if embedder.remote or len(saved_rows.load_rows(generation)) <= MAX_EMBEDDED_HERE:
        return vectors.embed_missing(generation, embedder, report, cancelled)

    def count_vectors() -> int:
        stored = vectors.load(generation.parent, embedder.name)
        return 0 if stored is None else len(stored.keys)

    before = count_vectors()
    if not build_index("vectors", generation, report, cancelled):
        if cancelled():
            raise Cancelled
        raise EmbeddingError("not all vectors could be made", do="memtui.log says why")
    now = count_vectors()
    return max(0, now - before), now


def make_index(generation: Path, report: Report) -> None:
    """Write the index of a generation. Raises almost anything."""
    from memtui.search import documents, saved_rows
    from memtui.search.index import memory_index

    rows = saved_rows.load_rows(generation)
    total = len(rows)

    def read() -> Iterator[documents.IndexedDocument]:
        for at in range(total):
            if at % 1024 == 0:
                report(Progress("indexing", at, total))
            yield documents.to_document(rows[at])

    memory_index.save(read(), generation)


def make_vectors(generation: Path, report: Report) -> None:
    """Embed what has no vector yet with the static model. Raises almost anything."""
    from memtui.config import Embedding
    from memtui.search import vectors

    embedder = vectors.choose_embedder(Embedding())
    if embedder is not None:
        vectors.embed_missing(generation, embedder, report)


def main(arguments: list[str]) -> int:
    """Do one job and print its progress; returns the exit status."""
    what, folder = arguments
    make = {"index": make_index, "vectors": make_vectors}[what]

    def work(report: Report) -> dict[str, Any]:
        make(Path(folder), report)
        return {}

    from memtui.child_processes import serve

    return serve(work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
