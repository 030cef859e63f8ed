"""A day of an agent at work beside the open screen: `python -m tests.bench.day [CHANGES]`.

    20,000 changes unless told, in an agent-memory home of 2,000 memories

Every change rewrites one file of 20 memories: one of them says something else and, every fourth
time, the oldest makes room for a new one. The library then does what the screen has it do: it reads
that file, says what came and went, and answers the search that is on the screen. The store stays
equally large, so memory (of this process) and CPU time a change must stay flat too.
"""

from __future__ import annotations

import contextlib
import gc
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean

from memtui.library import Library
from memtui.query import parse_query
from tests.bench import corpus

CHANGES = 20_000
MEMORIES = 2_000
EACH = 20
"""Memories of a file."""
LINES = 10
"""Lines that are printed of a day."""
WORD = parse_query("memory ag", corpus.NOW, typing=True)
ALL = parse_query("status:all", corpus.NOW)


def resident() -> float:
    """MiB of this process that are in memory now."""
    gc.collect()
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def change(file: Path, number: int) -> None:
    """What the agent does to one of its files."""
    facts = json.loads(file.read_text(encoding="utf-8"))
    facts[number % len(facts)]["content"] = f"memory of step {number}: the agent went on"
    if number % 4 == 0:
        facts.append({**facts.pop(0), "id": f"{number:08x}-2222-4000-8000-000000000000"})
    file.write_text(json.dumps(facts, indent=2), encoding="utf-8")


def run(changes: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "memory"
        texts = [f"memory {number} of an agent at work" for number in range(MEMORIES)]
        corpus.write_facts(root, texts, each=EACH)
        files = sorted((root / "entities").glob("*/items.json"))
        with contextlib.closing(Library.open([root], cache=Path(name) / "cache")) as library:
            library.load()
            library.index()
            library.save_index()
            print(f"{library.snapshot.count:,} memories in {len(files):,} files")
            print(f"  after changes   MiB   ms of CPU each   slots\n  {0:13,}{resident():6.0f}")
            _work(library, files, changes)


def _work(library: Library, files: list[Path], changes: int) -> None:
    times: list[float] = []
    before = library.snapshot
    for number in range(1, changes + 1):
        file = files[number * 7 % len(files)]
        change(file, number)
        start = time.process_time()
        assert library.refresh_files([str(file)])
        now = library.snapshot
        library.diff_memories(before, now)
        library.find(WORD)
        library.find(ALL)
        times.append((time.process_time() - start) * 1000)
        before = now
        if number % max(1, changes // LINES) == 0:
            slots = len(library.snapshot.rows)
            print(f"  {number:13,}{resident():6.0f}{mean(times):17.1f}{slots:8,}", flush=True)
            times.clear()


if __name__ == "__main__":
    run(int(sys.argv[1].replace(",", "")) if len(sys.argv) > 1 else CHANGES)
