"""memtui's keystroke beside tantivy, SQLite FTS5, plain Whoosh and ripgrep, on one corpus.

    python -m tests.bench.peers [N ...]        33,000 and 100,000 unless told; needs tantivy

Every engine gets the same documents and the same keystrokes (words typed letter by letter, the
last one a beginning), one after the other for each, so that the load of the machine is the same for
all. Times of keystrokes are CPU time of the calling thread, the better of two, in milliseconds;
build, open and update are wall time, and a busy machine shows there. *Memory* is what a fresh
process grows by when it opens the index and answers every tenth keystroke, mapped files included;
SQLite reads through the system's cache instead, which is not counted. *Found* is how many memories
the median keystroke finds. What is asked: see `tests.bench.engines`. ripgrep and plain Whoosh are
asked a sample, for they are slow.
"""

from __future__ import annotations

import multiprocessing
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from memtui.search import columns as columns_module
from memtui.search.documents import to_document
from tests.bench import corpus
from tests.bench.engine_sqlite import PREFIXES, Fts5
from tests.bench.engine_tantivy import Tantivy
from tests.bench.engines import (
    FILTERS,
    Engine,
    Memtui,
    MemtuiScreen,
    PlainWhoosh,
    Ripgrep,
    Screen,
)
from tests.bench.speed import timed


def engines(folder: Path, count: int, columns: columns_module.Columns) -> list[Engine]:
    """All of them, by job."""
    found: list[Engine] = [
        Memtui(folder),
        Tantivy(folder),
        Fts5(folder, PREFIXES),
        Fts5(folder),
        PlainWhoosh(folder),
    ]
    if Ripgrep.installed():
        found.append(Ripgrep(folder, count))
    for filters in ("", FILTERS):
        screen = Screen(columns, filters)
        found += [
            MemtuiScreen(folder, screen),
            Tantivy(folder, screen),
            Fts5(folder, PREFIXES, screen),
        ]
        screen = replace(screen, any_word=True)
        found += [Tantivy(folder, screen), Fts5(folder, PREFIXES, screen)]
    return found


def _clock(engine: Engine) -> Callable[[], float]:
    return time.perf_counter if isinstance(engine, Ripgrep) else time.thread_time


def _asked(engine: Engine, line: str) -> tuple[float, int]:
    """Milliseconds, the better of two, and the answer."""
    clock = _clock(engine)
    times = []
    for _ in range(2):
        start = clock()
        found = engine.ask(line)
        times.append((clock() - start) * 1000)
    return min(times), found


def _resident() -> float:
    """MB of this process."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _grown(packed: bytes, lines: Sequence[str]) -> float:
    """In a fresh process: how much it grows by this engine and these questions."""
    before = _resident()
    engine: Engine = pickle.loads(packed)
    engine.open()
    for line in lines:
        engine.ask(line)
    return _resident() - before


def _memory(engine: Engine, lines: Sequence[str]) -> float:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(_resident)
        return pool.apply(_grown, (pickle.dumps(engine), lines[:: max(10, engine.every)]))


def run(count: int) -> None:
    memories = list(corpus.memories(count))
    documents = [to_document(memory) for memory in memories]
    columns = columns_module.build(memories)
    del memories
    lines = corpus.keystrokes(documents)
    with tempfile.TemporaryDirectory() as name:
        asked = engines(Path(name), count, columns)
        builds = {each.name: timed(lambda each=each: each.build(documents)) for each in asked}  # type: ignore[misc]
        grown = {each.name: _memory(each, lines) for each in asked}
        opens = {each.name: timed(each.open) for each in asked}
        answers: dict[str, list[tuple[float, int]]] = {each.name: [] for each in asked}
        for number, line in enumerate(lines):
            for each in asked:
                if number % each.every == 0:
                    answers[each.name].append(_asked(each, line))
        print(f"\n{count:,} memories, {len(lines)} keystrokes; ms, MB")
        print(
            f"{'':48}{'build':>8}{'open':>7}{'p50':>8}{'p95':>9}{'max':>9}{'update':>8}"
            f"{'memory':>8}{'found':>7}"
        )
        for each in asked:
            times = [took for took, _ in answers[each.name]]
            p50, p95 = np.percentile(times, (50, 95))
            update = timed(lambda each=each: each.change(documents[0]))  # type: ignore[misc]
            found = f"{np.median([found for _, found in answers[each.name]]):,.0f}"
            print(
                f"{each.name:48}{builds[each.name]:8.0f}{opens[each.name]:7.1f}{p50:8.2f}"
                f"{p95:9.2f}{max(times):9.1f}{update:8.1f}{grown[each.name]:8.0f}"
                f"{found if 'screen' in each.name else '':>7}",
                flush=True,
            )


def main() -> None:
    for count in [int(text.replace(",", "")) for text in sys.argv[1:]] or [33_000, 100_000]:
        run(count)


if __name__ == "__main__":
    main()
