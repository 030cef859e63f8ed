"""How memtui feels at the keys, beside other programs in the same minute.

    python -m tests.bench.start [--sizes 1000,33000,100000] [--runs 3] [--peer NAME=COMMAND ...]

For each size a store is invented, then memtui is started cold (no cache) and warm, driven in a
pseudo-terminal of 120x40, and a table of medians is printed: seconds to the first paint and to all
rows, milliseconds a key, bytes a key, MiB. A bare Textual app is always measured too, because
machines differ and the budgets are ratios to it. `--peer 'fzf=fzf --multi'` measures another
program on a file of the same texts, whose path is put at the end of its command.
"""

from __future__ import annotations

import argparse
import compileall
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from memtui import __file__ as memtui_package
from memtui.library import Library
from tests.bench import corpus
from tests.bench.probe import Reaction, Terminal

BARE = (
    "from textual.app import App\n"
    "from textual.widgets import Static\n"
    "class Bare(App):\n"
    "    BINDINGS = [('q', 'quit', 'Quit')]\n"
    "    def compose(self):\n"
    "        yield Static('READY')\n"
    "Bare().run()\n"
)
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""As installed: the bytecode of memtui is there, as that of Textual is."""
TYPED = "session timeout ret"
"""Typed letter by letter into the search line."""


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of the values does not exceed (nearest rank)."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


@contextmanager
def running(command: Sequence[str], **environment: str) -> Iterator[Terminal]:
    """A program that is ended however the measuring goes."""
    terminal = Terminal(command, **{**COMPILED, **environment})
    try:
        yield terminal
    finally:
        terminal.end()


def say(name: str, *cells: str) -> None:
    print(f"{name:<34}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


def shown(reactions: Sequence[Reaction], pick: Callable[[Reaction], float]) -> str:
    values = [pick(reaction) for reaction in reactions]
    return f"{median(values):.1f} / {percentile(values, 0.95):.1f}"


def bare(runs: int) -> float:
    """Median seconds to the first paint of an app that shows one word."""
    times = []
    for _ in range(runs):
        with running([sys.executable, "-c", BARE]) as app:
            times.append(app.wait_for("READY"))
            app.leave("q")
    return median(times)


def count_of(store: Path) -> int:
    """All memories of a store, its notes included."""
    library = Library.open([store])
    library.load()
    return library.snapshot.count


def memtui(store: Path, home: Path, first_paint: float, runs: int) -> None:
    """All figures of memtui on one store."""
    places = {f"MEMTUI_{name}": str(home / name.lower()) for name in ("CONFIG", "STATE", "CACHE")}
    command = [sys.executable, "-m", "memtui", str(store)]
    count = count_of(store)
    total = f"of {count:,}", f"of {count}"
    with running(command, **places) as app:
        paint = app.wait_for("Memories")
        rows = app.wait_for(*total)
        say("cold: first paint, all rows (s)", f"{paint:.2f}", f"{rows:.2f}")
        indexed = wait_for_index(app, home)
        say("cold: search by index after (s)", f"{indexed:.1f}")
        app.leave("q")
    paints, all_rows, checked, leaves = [], [], [], []
    for _ in range(runs):
        with running(command, **places) as app:
            paints.append(app.wait_for("Memories"))
            all_rows.append(app.wait_for(*total))
            checked.append(app.wait_until_gone("checking"))
            time.sleep(0.5)
            leaves.append(app.leave("q"))
    say(
        "warm: first paint (s, x bare)",
        f"{median(paints):.2f}",
        f"{median(paints) / first_paint:.2f}",
    )
    say(
        "warm: all rows (s, x bare)",
        f"{median(all_rows):.2f}",
        f"{median(all_rows) / first_paint:.2f}",
    )
    say(
        "warm: rows checked (s, x bare)",
        f"{median(checked):.2f}",
        f"{median(checked) / first_paint:.2f}",
    )
    say("leaving (s)", f"{median(leaves):.2f}")
    with running(command, **places) as app:
        app.wait_for(*total)
        time.sleep(1.5)
        keys(app)
        typing(app)
        change(app, store)
        say("peak memory (MiB)", f"{app.memory():.0f}")
        app.press("escape")
        app.leave("q")


def wait_for_index(app: Terminal, home: Path) -> float:
    """Seconds from the start until the index lies in the cache."""
    while not list(home.glob("cache/stores/*/*/index.json")):
        app.press("down")
        if time.perf_counter() - app.started > 300:
            raise TimeoutError("no index was made")
    return time.perf_counter() - app.started


def keys(app: Terminal) -> None:
    app.press("g")
    for name, pressed in (
        ("move", ["down"] * 20 + ["up"] * 20),
        ("move to the edge", ["down"] * 30),
        ("move, scrolling", ["down"] * 30),
        ("page", ["pgdn"] * 20),
        ("end", ["G"]),
    ):
        reactions = [app.press(key) for key in pressed]
        say(
            f"{name}: last byte (ms p50/p95), KB",
            shown(reactions, lambda r: r.last),
            f"{median([r.size for r in reactions]) / 1000:.1f}",
        )


def typing(app: Terminal) -> None:
    app.press("/")
    reactions = [app.press(letter) for letter in TYPED]
    say("letter: echo (ms p50/p95)", shown(reactions, lambda r: r.first))
    say("letter: results (ms p50/p95)", shown(reactions, lambda r: r.last))
    app.press("enter")


def change(app: Terminal, store: Path) -> None:
    """One file written by another program until its text is on the screen."""
    app.press("escape")
    app.press("escape")
    corpus_file = store / "memory" / "entities" / "zz-new" / "items.json"
    corpus_file.parent.mkdir(parents=True)
    record = (
        '[{"id": "99999999-0000-4000-8000-000000000000", "content": "KINGFISHER seen",'
        ' "createdAt": "2099-01-01T00:00:00Z", "status": "active", "supersedes": null}]\n'
    )
    app.press("g")
    begun = time.perf_counter()
    corpus_file.write_text(record, encoding="utf-8")
    while "KINGFISHER" not in app.text():
        app.press("g")  # the list keeps its place: what is new stands above it
    say("changed file: visible after (s)", f"{time.perf_counter() - begun:.2f}")
    corpus_file.unlink()


def peer(name: str, command: Sequence[str], runs: int) -> None:
    """First output and keys of another program; it is ended, not left."""
    paints, reactions = [], []
    for _ in range(runs):
        with running(command) as app:
            try:
                paints.append(app.wait_for("the", "of", "and"))
            except TimeoutError:
                say(f"{name}: showed no line of the file")
                return
            time.sleep(1.0)
            reactions += [app.press(letter) for letter in TYPED[:7]]
    say(f"{name}: first lines (s)", f"{median(paints):.2f}")
    say(f"{name}: letter settled (ms p50/p95)", shown(reactions, lambda r: r.last))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="1000,33000,100000")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    options = parser.parse_args()
    compileall.compile_dir(Path(memtui_package).parent, quiet=2)
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    for count in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            corpus.write_agent_memory(home / "memory", count)
            print(f"\n{count:,} memories")
            first_paint = bare(options.runs)
            say("bare Textual app: first paint (s)", f"{first_paint:.2f}")
            memtui(home / "memory", home, first_paint, options.runs)
            texts = home / "texts.txt"
            lines = (memory.content.replace("\n", " ") for memory in corpus.memories(count))
            texts.write_text("\n".join(lines), encoding="utf-8")
            for item in options.peer:
                name, _, command = item.partition("=")
                peer(name, ["sh", "-c", f"{command} {texts}"], options.runs)


if __name__ == "__main__":
    main()
