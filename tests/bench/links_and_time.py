"""Links, as-of and timelines of a large library.

    python -m tests.bench.links_and_time [--records 100000]

Invents memories in one store, a tenth of them superseded, each with a link, and measures: building
the link index and updating it after one change, following links through 10,000 of them, going to
another time, and counting a timeline again. Milliseconds; the budgets stand beside.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memtui.changes import Act, Change
from memtui.insight import timeline as timelines
from memtui.insight.links import LinkIndex, Node, NodeKind
from memtui.insight.traversal import Direction, traverse
from memtui.library import Library, time_views
from memtui.library.past_library import library_at
from memtui.model import Link, Memory
from memtui.query import Query

RECORDS = 100_000
EACH = 1_000
"""Facts in an entity."""
START = datetime(2025, 1, 1, tzinfo=UTC)


def write_store(root: Path, count: int) -> None:
    """Facts with an edge each; every tenth replaces the one before it."""
    for first in range(0, count, EACH):
        facts: list[dict[str, Any]] = []
        for number in range(first, min(first + EACH, count)):
            time_ = START + timedelta(minutes=number * 5)
            replaces = number % 10 == 9
            facts.append(
                {
                    "id": f"{number:08d}-0000-4000-8000-000000000000",
                    "content": f"memory {number} of the harbour and its {number % 977} boats",
                    "createdAt": time_.strftime("%Y-%m-%dT%H:%M:%SZ"),
                    "entityType": "decision",
                    "status": "active",
                    "supersedes": facts[-1]["id"] if replaces else None,
                    "edge": {
                        "subject": f"e{first // EACH}",
                        "predicate": "relates_to",
                        "object": f"e{number * 7 % (count // EACH)}",
                    },
                }
            )
            if replaces:
                facts[-2]["status"] = "historical"
        folder = root / "entities" / f"e{first // EACH}"
        folder.mkdir(parents=True)
        (folder / "items.json").write_text(json.dumps(facts))


def timed(call: Callable[[], object], repeat: int = 1) -> tuple[float, float]:
    """Milliseconds of the slowest of some calls: wall time, and processor time of this thread."""
    worst = (0.0, 0.0)
    for _ in range(repeat):
        begun, spent = time.perf_counter(), time.thread_time()
        call()
        took = (time.perf_counter() - begun) * 1000, (time.thread_time() - spent) * 1000
        worst = max(worst[0], took[0]), max(worst[1], took[1])
    return worst


def row(name: str, took: tuple[float, float], budget: float | None = None) -> None:
    """Print a row; `!` where the wall time is above the budget."""
    wall, processor = took
    over = "!" if budget is not None and wall > budget else " "
    beside = f"{budget:>10,.0f}" if budget is not None else ""
    print(f"{name:<58}{wall:>10,.1f}{over}{processor:>10,.1f}{beside}", flush=True)


def traversal_row(links: int = 10_000) -> None:
    """Follow random links among half as many memories, all of them."""
    dice = random.Random(3)
    rows = []
    for number in range(links // 2):
        targets = (Link("to", str(dice.randrange(links // 2))) for _ in range(2))
        rows.append(Memory(f"a:{number}", str(number), "a", "fact", links=tuple(targets)))
    start = Node(NodeKind.MEMORY, "a:0")

    def walk(direction: Direction) -> None:
        traverse(index, start, depth=10_000, direction=direction)

    for direction in Direction:
        index = LinkIndex({memory.ref: slot for slot, memory in enumerate(rows)}, rows)
        name = f"traverse {links:,} links, {direction}"
        first = timed(lambda d=direction: walk(d))  # type: ignore[misc]
        row(f"{name}, after a change", first, 50)
        row(name, timed(lambda d=direction: walk(d), 5), 50)  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS)
    count = parser.parse_args().records
    print(f"{'':<58}{'wall ms':>10} {'cpu ms':>10}{'budget':>10}")
    traversal_row()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_store(place / "m", count)
        for name in ("cold", "warm"):
            library = Library.open([place / "m"], cache=place / "c", state=place / "s")
            library.load()
            library.save_index()
            row(f"index of {count:,} links built, {name} cache", timed(library.links.build))
        memory = library.snapshot.rows[5]
        change = Change(Act.EDIT, memory.store, memory.ref, {"content": "another text"})
        library.apply(library.plan([change]))
        row("index updated after one file changed", timed(library.links.build))
        row("links of one memory", timed(lambda: library.lineage(memory, backlinks=True), 20), 5)
        present = library
        first = timed(lambda: library_at(present, START + timedelta(days=30)).find(Query()))
        row("as of, first, with its list", first, 300)
        later = iter(range(40, 300, 20))
        toggle = timed(
            lambda: library_at(present, START + timedelta(days=next(later))).find(Query()), 8
        )
        row("as of another time, with its list", toggle, 300)
        found = library.find(Query())
        row("timeline", timed(lambda: library.timeline(found, "week"), 5), 100)
        row(
            "all that the timeline is drawn from",
            timed(lambda: time_views.read_times(found), 5),
            100,
        )
        days = time_views.read_times(found).days
        row("another unit, at a key", timed(lambda: timelines.build(days, 0, "day"), 5), 100)


if __name__ == "__main__":
    main()
