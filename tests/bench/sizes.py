"""T19: sizes that nobody plans for. Each opens, is moved through and searched, in a real terminal.

    python -m tests.bench.sizes [--records 100000] [--only NAME ...]

For each kind of size a store is invented and memtui is started on it twice, without and with its
cache, in a pseudo-terminal of 120x40. The table says seconds to the first screen with a memory on
it, milliseconds from a key to the first byte of the answer, the longest time in which the screen
could not have answered (by a heartbeat on its own loop, over the whole run), and peak memory.
The budgets stand beside; what is over them is marked with `!`. A store of a hundred memories comes
first: what it takes is the machine's, at its present load.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import corpus
from tests.bench.start import percentile, running

RECORDS = 100_000
WHOLE = 1_000_000
FILES = 20_000
FIRST_SCREEN = 1.0
"""Seconds, at 100,000 records."""
KEY = 100.0
"""Milliseconds from a key to the screen, for 95 of 100 keys."""
FREEZE = 200.0
"""Milliseconds without a beat."""
MEMORY = 1_536.0
"""MiB, at a million records."""
TYPED = "session timeout"
WALK = ("down",) * 20 + ("pgdn",) * 10 + ("G", "g", "3") + ("pgdn",) * 5 + ("G", "g", "z", "z", "2")
HEAD = ("", "cold", "warm", "key p95", "freeze", "peak")


@dataclass(frozen=True, slots=True)
class Run:
    """One start of memtui, driven and left."""

    first_screen: float
    keys: Sequence[float]
    freeze: float
    memory: float


def fact(number: int, content: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"{number:08d}-0000-4000-8000-000000000000",
        "content": content,
        "createdAt": "2026-11-20T09:00:00Z",
        "entityType": "decision",
        "status": "active",
        "supersedes": None,
        **more,
    }


def beside(huge: dict[str, Any]) -> Callable[[Path], None]:
    """A store of this memory and a hundred usual ones."""

    def write(root: Path) -> None:
        facts = [huge, *(fact(n, f"a usual neighbour {n}") for n in range(2, 102))]
        write_entity(root, "alice", json.dumps(facts))

    return write


def write_entity(root: Path, name: str, items: str) -> None:
    folder = root / "entities" / name
    folder.mkdir(parents=True)
    (folder / "items.json").write_text(items, encoding="utf-8")


def records(count: int) -> Callable[[Path], None]:
    return lambda root: corpus.write_facts(root, corpus.contents(count), each=1000)


def many_files(root: Path) -> None:
    for number, content in enumerate(corpus.contents(FILES)):
        write_entity(root, f"e{number}", json.dumps([fact(number, content)]))


def too_deep(root: Path) -> None:
    beside(fact(1, "flat"))(root)
    write_entity(root, "deep", '[{"id": "1", "content": ' + "[" * 5000 + "]" * 5000 + "}]")


def cases(count: int) -> Mapping[str, Callable[[Path], None]]:
    return {
        "a hundred usual memories": beside(fact(1, "usual")),
        f"{count:,} records": records(count),
        "a line of 50 MB": beside(fact(1, "gull " * 10_000_000)),
        "10,000 keys": beside(fact(1, "keys", **{f"key {n}": n for n in range(10_000)})),
        f"{FILES:,} files": many_files,
        "5,000 floors deep": too_deep,
        "a word of 1,000,000 letters": beside(fact(1, "x" * 1_000_000)),
    }


def drive(store: Path, home: Path, *, keys: bool) -> Run:
    """Start memtui, wait for a memory on the screen and for the index; press keys; leave."""
    beats = home / "beats"
    beats.write_text("")
    places = {f"MEMTUI_{name}": str(home / name.lower()) for name in ("CONFIG", "STATE", "CACHE")}
    command = [sys.executable, "-m", "tests.bench.heartbeat", str(beats), str(store)]
    with running(command, **places) as app:
        first_screen = app.wait_for(" 1 of ")
        end = time.perf_counter() + 300
        while not list(home.glob("cache/stores/*/*/index.json")):
            app.press("down")
            if time.perf_counter() > end:
                raise TimeoutError("no index was made")
        app.press("g")
        pressed = [app.press(key).first for key in WALK] if keys else []
        if keys:
            app.press("/")
            pressed += [app.press(letter).first for letter in TYPED]
            app.press("escape")
            app.press("escape")
        memory = app.memory()
        app.leave("q")
    gaps = [float(line) for line in beats.read_text().split()]
    return Run(first_screen, pressed, max(gaps, default=0.0), memory)


def judged(value: float, budget: float, form: str) -> str:
    return f"{value:{form}}{'!' if value > budget else ' '}"


def row(name: str, cold: Run, warm: Run) -> str:
    cells = (
        judged(cold.first_screen, FIRST_SCREEN, ".2f"),
        judged(warm.first_screen, FIRST_SCREEN, ".2f"),
        judged(percentile(warm.keys, 0.95), KEY, ".0f"),
        judged(max(cold.freeze, warm.freeze), FREEZE, ".0f"),
        judged(max(cold.memory, warm.memory), MEMORY, ".0f"),
    )
    return f"{name:<30}" + "".join(f"{cell:>11}" for cell in cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--records", type=int, default=RECORDS, help=f"e.g. {WHOLE}")
    parser.add_argument("--only", nargs="*", default=[], help="part of the name of a case")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    print(f"{HEAD[0]:<30}" + "".join(f"{cell:>10} " for cell in HEAD[1:]))
    print(f"{'budget':<30}" + f"{FIRST_SCREEN:>9.1f}s {FIRST_SCREEN:>9.1f}s {KEY:>8.0f}ms", end="")
    print(f" {FREEZE:>8.0f}ms {MEMORY:>7.0f}MiB", flush=True)
    for name, write in cases(options.records).items():
        if options.only and not any(part in name for part in options.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            write(home / "memory")
            try:
                cold = drive(home / "memory", home, keys=False)
                warm = drive(home / "memory", home, keys=True)
                print(row(name, cold, warm), flush=True)
            except TimeoutError as error:
                print(f"{name:<30} {str(error).splitlines()[0]}", flush=True)


if __name__ == "__main__":
    main()
