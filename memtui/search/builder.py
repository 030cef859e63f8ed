"""The index of one store, made in a process of its own, so that the screen never feels it.

    python -m memtui.search.builder arrays GENERATION    writes the arrays into it
    python -m memtui.search.builder whoosh GENERATION    updates the Whoosh index beside it
    python -m memtui.search.builder vectors GENERATION   embeds what has no vector yet

reads the rows of one catalog generation (see `memtui.search.catalog`) and prints JSON lines,
`{"what": "indexing", "done": 1024, "total": 33000}`, at the end `{"what": "done", ...}`.

`build` and `build_whoosh` start it, pass on what it says and wait. A child that dies, hangs or is
called off is ended; nothing half-made is ever in force, since arrays and index become valid only by
a file that is renamed last.
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

log = logging.getLogger(__name__)

PATIENCE = 120.0
"""Seconds without a line after which a child is taken to hang."""
NICENESS = 10
_LOOK = 0.05
"""Seconds between two looks at `cancelled`."""
_SMALL_SHARE = 0.2
"""With more than this share changed, a new Whoosh index is made instead of a further segment."""


def build(generation: Path, report: Report = silent, cancelled: IsCancelled = never) -> bool:
    """Have the arrays of this generation made and wait for them; True when they are there.

    `report` gets how many rows are done.
    """
    return _run(generation, "arrays", report, cancelled)


def build_whoosh(generation: Path, report: Report = silent, cancelled: IsCancelled = never) -> bool:
    """Have the Whoosh index brought up to date with this generation; True when it is."""
    return _run(generation, "whoosh", report, cancelled)


def build_vectors(
    generation: Path, report: Report = silent, cancelled: IsCancelled = never
) -> bool:
    """Have the static model embed what has no vector yet; True when nothing is missing."""
    return _run(generation, "vectors", report, cancelled)


def _run(generation: Path, what: str, report: Report, cancelled: IsCancelled) -> bool:
    # -P: a module in the current folder, which may be a stranger's, is never imported.
    command = [sys.executable, "-P", "-m", "memtui.search.builder", what, str(generation)]
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
        log.warning("no process to index with: %s", error)
        return False
    try:
        for line in _lines(child, cancelled):
            told = json.loads(line)
            if told["what"] == "done":
                return True
            if told["what"] == "failed":
                log.warning("indexing of %s failed: %s", generation.parent, told["why"])
                return False
            report(Progress(told["what"], int(told["done"]), int(told["total"])))
        log.warning("indexing of %s ended early, status %s", generation.parent, child.poll())
    except TimeoutError:
        log.warning("indexing of %s hung and was ended", generation.parent)
    except Cancelled:
        log.info("indexing of %s called off", generation.parent)
    except (ValueError, KeyError, TypeError) as error:
        log.warning("indexing of %s said something odd: %r", generation.parent, error)
    finally:
        child.kill()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()
    return False


def _lines(child: subprocess.Popen[bytes], cancelled: IsCancelled) -> Iterator[bytes]:
    """What the child says, line by line. Raises TimeoutError or Cancelled."""
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
            if not selector.select(_LOOK):
                if time.monotonic() - heard > PATIENCE:
                    raise TimeoutError
                continue
            piece = os.read(descriptor, 65536)
            if not piece:
                return
            heard = time.monotonic()
            *lines, pending = (pending + piece).split(b"\n")
            yield from lines


# In the child


def _say(what: str, done: int = 0, total: int = 0) -> None:
    print(json.dumps({"what": what, "done": done, "total": total}), flush=True)


def make_arrays(generation: Path, report: Report = silent) -> None:
    """Write the arrays of this generation into it. Raises almost anything."""
    from memtui.search import catalog, documents, postings

    rows = catalog.load_generation(generation).rows
    total = len(rows)

    def read() -> Iterator[documents.IndexedDocument]:
        for at in range(total):
            if at % 1024 == 0:
                report(Progress("indexing", at, total))
            yield documents.from_record(json.loads(rows.raw(at)))

    postings.save(postings.build(read()), generation, generation.name)


def make_whoosh(generation: Path, report: Report = silent) -> None:
    """Bring the Whoosh index beside this generation up to date. Raises almost anything."""
    from memtui.search import catalog, documents, postings
    from memtui.search.whoosh_index import WhooshIndex

    rows = catalog.load_generation(generation).rows
    held = {
        document.ref: document
        for document in (documents.from_record(json.loads(rows.raw(at))) for at in range(len(rows)))
    }
    with WhooshIndex(generation.parent) as index:
        known = index.sums()
        if known is not None:
            changed = [
                document
                for ref, document in held.items()
                if known.get(ref) != documents.summed(document)
            ]
            gone = [ref for ref in known if ref not in held]
            if len(changed) + len(gone) <= _SMALL_SHARE * len(held) and index.update(
                changed, gone, report
            ):
                return
        segment = postings.load(generation, generation.name)
        same_rows = segment is not None and segment.count == len(held)
        index.build(list(held.values()), report, segment=segment if same_rows else None)


def make_vectors(generation: Path, report: Report = silent) -> None:
    """Embed what has no vector yet with the static model. Raises almost anything."""
    from memtui.config import Embedding
    from memtui.search import embedding, vector_building

    embedder = embedding.choose(Embedding())
    if embedder is not None:
        vector_building.vectorize(generation, embedder, report)


def main(arguments: list[str]) -> int:
    """Do the work that the parent asked for."""
    what, folder = arguments
    os.nice(NICENESS)
    make = {"arrays": make_arrays, "whoosh": make_whoosh, "vectors": make_vectors}[what]
    try:
        make(Path(folder), lambda progress: _say(progress.what, progress.done, progress.total))
    except Exception as error:  # the parent logs it and goes on without
        print(json.dumps({"what": "failed", "why": repr(error)}), flush=True)
        return 1
    _say("done")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
