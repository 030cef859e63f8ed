"""A letter in the search line, as the library answers it, of several versions in one run.

    python -m tests.bench.keystroke [COUNT] [NAME=CHECKOUT ...]

Without checkouts this one is measured. Each version opens the same invented agent-memory store in a
process of its own and is asked what 40 people type, letter by letter, the versions in turn for each
person. A time is the CPU time of the asking thread for parsing the line, `Library.find` and the
first 50 hits, in milliseconds, the best of four passes; what a version keeps from one letter to the
next counts, as it does for a person. *Told* is that and what the screen says of the rows: the hint
(and what filters hide) and how many memories have each value.
Texts are read and dates are looked for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import memtui.query
from memtui.library import Library
from tests.bench import corpus

PASSES = 4
EVERY = 4
"""So manieth person is asked."""
FILTERS = "type:decision,bugfix since:1y "


def serve(root: Path, cache: Path) -> None:
    """Answer on standard output how long each of the lines on standard input took."""
    parse = getattr(memtui.query, "parse_query", None) or memtui.query.parse  # type: ignore[attr-defined]
    answers, sys.stdout = sys.stdout, sys.stderr
    library = Library.open([root], cache=cache)
    library.load()
    library.index()
    library.now = lambda: corpus.NOW
    print("ready", file=answers, flush=True)
    for given in sys.stdin:
        lines = [filters + line for filters in ("", FILTERS) for line in json.loads(given)]
        best = np.full((2, len(lines)), np.inf)
        for _ in range(PASSES):
            for at, line in enumerate(lines):
                start = time.thread_time()
                found = library.find(parse(line, corpus.NOW, typing=True))
                found.slots[:50]
                rows = time.thread_time() - start
                _ = found.hint, len(found.facets.type), len(found.facets.entity)
                times = np.array((rows, time.thread_time() - start)) * 1000
                best[:, at] = np.minimum(best[:, at], times)
        print(json.dumps(best.ravel().tolist()), file=answers, flush=True)
    library.close()


def typed(count: int) -> list[list[str]]:
    """The lines of each person."""
    people: list[list[str]] = []
    from memtui.search.documents import to_document  # version 0.1 lacks it

    for line in corpus.keystrokes([to_document(m) for m in corpus.memories(count)]):
        if people and line.startswith(people[-1][-1].strip()):
            people[-1].append(line)
        else:
            people.append([line[:1], line])
    return people[::EVERY]


def run(count: int, versions: Sequence[tuple[str, str]]) -> None:
    people = typed(count)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "store"
        corpus.write_agent_memory(root, count)
        asked: dict[str, subprocess.Popen[str]] = {}
        for label, checkout in versions:
            arguments = ["--serve", str(root), str(Path(name) / label)]
            command = [sys.executable, str(Path(__file__).absolute()), *arguments]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            path = {**os.environ, "PYTHONPATH": checkout}
            asked[label] = subprocess.Popen(command, text=True, cwd=checkout, env=path, **pipes)  # type: ignore[call-overload]
            _answer(asked[label])
        times: dict[str, list[NDArray[np.float64]]] = {label: [] for label in asked}
        for lines in people:
            for label, process in asked.items():
                assert process.stdin is not None
                print(json.dumps(lines), file=process.stdin, flush=True)
                times[label].append(np.reshape(json.loads(_answer(process)), (2, -1)))
        for process in asked.values():
            process.communicate()
    typed_lines = [line for lines in people for line in lines * 2]
    kinds = np.array([0 if len(line) == 1 else len(line.split()) for line in typed_lines])
    is_filtered = np.array([flag for lines in people for flag in (False, True) for _ in lines])
    print(f"{count:,} memories, {len(kinds)} letters, load {os.getloadavg()[0]:.1f}; ms of CPU")
    print(f"{'':30}{'p50':>8}{'p95':>8}{'mean':>8}   means of one letter, 1, 2, 3 words")
    for number, job in enumerate(("", " with filters", " told", " with filters told")):
        chosen = is_filtered == number % 2
        for label, found in times.items():
            of_job = np.concatenate(found, axis=1)[number // 2][chosen]
            p50, p95 = np.percentile(of_job, (50, 95))
            each = [of_job[kinds[chosen] == kind] for kind in range(4)]
            print(
                f"{label + job:30}{p50:8.2f}{p95:8.2f}{of_job.mean():8.2f}   "
                + " ".join(f"{part.mean():.2f}" for part in each if len(part))
            )


def _answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    if not (line := process.stdout.readline()):
        raise RuntimeError("the measured program ended early")
    return line


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    count = int(sys.argv[1].replace(",", "")) if sys.argv[1:] else 33_000
    versions = [(name, path) for name, _, path in (each.partition("=") for each in sys.argv[2:])]
    run(count, versions or [("memtui", str(Path(__file__).absolute().parents[2]))])


if __name__ == "__main__":
    main()
