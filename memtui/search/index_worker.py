"""Build the index of one store; runs as a process of its own (see `memtui.search.builder`).

    python -m memtui.search.index_worker arrays GENERATION    write the arrays into the generation
    python -m memtui.search.index_worker whoosh GENERATION    update the Whoosh index beside it
    python -m memtui.search.index_worker vectors GENERATION   embed what has no vector yet

reads the rows of one catalog generation (see `memtui.search.catalog`) and prints the lines of a
worker (see `memtui.child_processes`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memtui.child_processes import serve
from memtui.progress import Progress, Report, silent

_SMALL_SHARE = 0.2
"""With more than this share changed, a new Whoosh index is built instead of a segment."""


def make_arrays(generation: Path, report: Report = silent) -> None:
    """Build the arrays of a generation and save them in it. Raises almost anything."""
    from memtui.search import catalog, documents, postings, segment_files

    rows = catalog.load_generation(generation).rows
    total = len(rows)

    def read() -> Iterator[documents.IndexedDocument]:
        for at in range(total):
            if at % 1024 == 0:
                report(Progress("indexing", at, total))
            yield documents.document_from_record(json.loads(rows.raw(at)))

    segment_files.save_segment(postings.build(read()), generation, generation.name)


def make_whoosh(generation: Path, report: Report = silent) -> None:
    """Update the Whoosh index beside a generation, or build it. Raises almost anything."""
    from memtui.search import catalog, documents, segment_files
    from memtui.search.whoosh_index import WhooshIndex

    rows = catalog.load_generation(generation).rows
    by_ref = {
        document.ref: document
        for document in (
            documents.document_from_record(json.loads(rows.raw(at))) for at in range(len(rows))
        )
    }
    with WhooshIndex(generation.parent) as index:
        known = index.digests()
        if known is not None:
            changed = [
                document
                for ref, document in by_ref.items()
                if known.get(ref) != documents.digest_document(document)
            ]
            removed = [ref for ref in known if ref not in by_ref]
            if len(changed) + len(removed) <= _SMALL_SHARE * len(by_ref) and index.update(
                changed, removed, report
            ):
                return
        segment = segment_files.load_segment(generation, generation.name)
        same_rows = segment is not None and segment.count == len(by_ref)
        index.build(list(by_ref.values()), report, segment=segment if same_rows else None)


def make_vectors(generation: Path, report: Report = silent) -> None:
    """Embed what has no vector yet with the static model. Raises almost anything."""
    from memtui.config import Embedding
    from memtui.search import vector_building

    embedder = vector_building.choose_embedder(Embedding())
    if embedder is not None:
        vector_building.embed_missing(generation, embedder, report)


def main(arguments: list[str]) -> int:
    """Do one job and print its progress; returns the exit status."""
    what, folder = arguments
    make = {"arrays": make_arrays, "whoosh": make_whoosh, "vectors": make_vectors}[what]

    def work(report: Report) -> dict[str, Any]:
        make(Path(folder), report)
        return {}

    return serve(work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
