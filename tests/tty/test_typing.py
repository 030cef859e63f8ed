"""From a letter to its results on the screen, with thousands of memories, in a real terminal."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from memtui import __file__ as package
from tests.bench import corpus
from tests.bench.probe import Terminal
from tests.long_run import count
from tests.own_folders import own_folders

pytestmark = pytest.mark.slow

MANY = count(4_400, 33_000)
EVERY = 1_100
"""One fact in so many is about the lighthouse."""
TYPED = "zqmarlin lantern"


def texts() -> list[str]:
    found = corpus.contents(MANY)
    for number in range(EVERY - 1, MANY, EVERY):
        light = "lantern" if number == MANY - 1 or number % 2 else "lamp"
        found[number] = f"Zqmarlin {light} number {number} was lit"
    return found


def expected(found: Sequence[str]) -> dict[str, set[int]]:
    """What was typed so far -> the facts with any of its words, the last one as a beginning."""
    of: defaultdict[str, set[int]] = defaultdict(set)
    first, last = TYPED.split()
    starts = [first[: n + 1] for n in range(len(first))] + [last[: n + 1] for n in range(len(last))]
    for number, text in enumerate(found):
        for word in text.lower().split():
            if word[0] in (first[0], last[0]):
                for start in starts:
                    if word.startswith(start):
                        of[start].add(number)
    typed: dict[str, set[int]] = {}
    for end in range(1, len(TYPED) + 1):
        *whole, start = TYPED[:end].split(" ")
        typed[TYPED[:end]] = of[start].union(*(of[word] for word in whole))
        if not start:
            typed[TYPED[:end]] = set().union(*(of[word] for word in whole))
    return typed


def ready(app: Terminal, home: Path) -> None:
    """Wait for all rows and for the index on disk."""
    app.wait_for(f"of {MANY:,}")
    end = time.monotonic() + 120
    while not list(home.glob("cache/stores/*/*/index.json")):
        assert time.monotonic() < end, app.text()
        app.press("down")


def test_each_letter_brings_its_results(tmp_path: Path, figures: Callable[[str], None]) -> None:
    found = texts()
    corpus.write_facts(tmp_path / "memory", found)
    counts = {typed: len(held) for typed, held in expected(found).items()}
    newest = f"number {MANY - 1} was"
    app = Terminal(
        [sys.executable, "-m", "memtui", str(tmp_path / "memory")],
        PYTHONPATH=str(Path(package).resolve().parents[1]),
        HOME=str(tmp_path),
        **own_folders(tmp_path),
    )
    times = []
    try:
        ready(app, tmp_path)
        app.press("/")
        for end in range(1, len(TYPED) + 1):
            typed = TYPED[:end]
            wanted = [f" {counts[typed]:,} of {MANY:,}", f"memtui / {typed}".rstrip()]
            # From the second letter on only the lighthouse has it, and newest comes first.
            wanted += [newest] if end > 1 else []
            times.append(app.press_for(typed[-1], *wanted))
        app.press("escape")
        app.press("escape")
        app.leave("q")
    finally:
        app.end()
    p50, p95 = np.percentile(times, (50, 95))
    figures(f"typing into {MANY:,} memories: letter to results {p50:.0f} ms p50, {p95:.0f} ms p95")
