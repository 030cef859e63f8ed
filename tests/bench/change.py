"""What one changed file costs until it is seen: `python -m tests.bench.change [N ...]`.

    33,000 and 100,000 memories unless told, in an agent-memory home of some thousand folders

CPU time of the thread that does it, in milliseconds, the median of ten changes. *Seen* is what
stands between the file and the screen: reading the file that the system names, rows, columns and
arrays, and the search that is on the screen. *After* follows when the list shows it already.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from memtui.library import Library
from memtui.query import parse_query
from tests.bench import corpus

CHANGES = 10
WORD = parse_query("memory ag", corpus.NOW, typing=True)
ALL = parse_query("status:all", corpus.NOW)
Answer = TypeVar("Answer")


class Parts:
    """Milliseconds by name, one for each change."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}

    def timed(self, name: str, act: Callable[[], Answer]) -> Answer:
        start = time.thread_time()
        try:
            return act()
        finally:
            self.times.setdefault(name, []).append((time.thread_time() - start) * 1000)

    def time_within(self, name: str, owner: Any, method: str) -> None:
        """From now on, time this method of this object as a part of what calls it."""
        original = getattr(owner, method)

        def act(*arguments: object, **options: object) -> object:
            return self.timed(name, lambda: original(*arguments, **options))

        setattr(owner, method, act)


def _append(file: Path, number: int) -> None:
    facts = json.loads(file.read_text(encoding="utf-8"))
    facts.append({**facts[-1], "id": f"{number:08x}-1111-4000-8000-000000000000"})
    file.write_text(json.dumps(facts, indent=2), encoding="utf-8")


def run(count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "store"
        corpus.write_agent_memory(root, count)
        files = sorted((root / "memory" / "entities").glob("*/items.json"))
        with contextlib.closing(Library.open([root], cache=Path(name) / "cache")) as library:
            library.load()
            library.index()
            library.save_index()
            print(f"\n{library.snapshot.count:,} memories in {len(files):,} folders; ms of CPU")
            _measure(library, files)


def _measure(library: Library, files: list[Path]) -> None:
    parts = Parts()
    parts.time_within("1a  reading, rows, columns", library._holdings, "_read")
    parts.time_within("1b  arrays", library._index, "extend_to")
    before = library.snapshot
    for number in range(CHANGES):
        file = files[number * 7 % len(files)]
        _append(file, number)
        assert parts.timed(
            "1 seen: a glance at the file", partial(library.refresh_files, [str(file)])
        )
        now = library.snapshot
        parts.timed("2 seen: what came and went", partial(library.turnover, before, now))
        before = now
        found = parts.timed("3 seen: a word is asked again", partial(library.find, WORD))
        whole = parts.timed("4 or: the list of all", partial(library.find, ALL))
        parts.timed("5 after: statistics of all", partial(library.statistics, whole, counted=False))
        parts.timed("6 after: timeline of all", partial(library.timeline, whole))
        parts.timed("7 after: the look at all files", library.refresh)
        library.statistics(found, counted=False)
        _append(file, CHANGES + number)
        assert parts.timed("8 without the glance: seen by a look at all", library.refresh)
    for name in sorted(parts.times):
        print(f"  {name:46}{median(parts.times[name]):8.1f}")


def main() -> None:
    for count in [int(text.replace(",", "")) for text in sys.argv[1:]] or [33_000, 100_000]:
        run(count)


if __name__ == "__main__":
    main()
