"""Scans of the review queue over a large library.

    python -m tests.bench.review [--records 33000]

Invents facts in entities of forty, every twentieth a near-duplicate of the one before, and measures
a first scan, another one, one after a changed file, and in a newly opened library what the cache
shows at once and the scan that follows, here and by a process of its own, as the screen has it.
Then near-duplicates and clusters where all memories lie in one scope. Seconds of processor time,
because other work on the machine does not count there: of this process, and of the other.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import TypeVar

from memtui.library import Library
from memtui.library.review import ReviewQueue
from memtui.model import Memory
from memtui.stores.format import UpkeepRules
from memtui.upkeep.proposal_scan import scan
from memtui.upkeep.proposals import ProposalKind, UpkeepContext

Answer = TypeVar("Answer")
EACH = 40
"""Facts in an entity."""
START = datetime(2026, 1, 1, tzinfo=UTC)


def texts(count: int) -> list[str]:
    """Sentences of words that are as unequally frequent as those of a language."""
    rng = random.Random(7)
    ends = ("ran", "lom", "tik", "ves", "nor", "pash", "del", "mup")
    parts = product("bdfgklmnprst", "aeiou", ends, ("", "a", "o", "us", "en", "ly"))
    words = ["".join(part) for part in parts]
    rng.shuffle(words)
    weights = [1 / (rank + 3) for rank in range(len(words))]
    made: list[str] = []
    for number in range(count):
        text = " ".join(rng.choices(words, weights=weights, k=rng.randint(8, 25)))
        made.append(f"{made[-1]} {rng.choice(words)}" if number % 20 == 19 else text)
    return made


def write_store(root: Path, contents: list[str]) -> Path:
    """An agent-memory store; returns the path to open."""
    for first in range(0, len(contents), EACH):
        folder = root / "memory" / "entities" / f"people-p{first}"
        folder.mkdir(parents=True)
        items = [
            {
                "id": f"{number:08d}-0000-4000-8000-000000000000",
                "content": content,
                "source": "conversation",
                "sourceRef": "session",
                "entityType": "fact",
                "createdAt": (START + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "status": "active",
                "supersedes": None,
            }
            for number, content in enumerate(contents[first : first + EACH], first)
        ]
        (folder / "items.json").write_text(json.dumps(items, indent=1), encoding="utf-8")
    return root / "memory"


def change(store: Path, entity: str) -> None:
    """Write one file as another program does."""
    items = store / "entities" / entity / "items.json"
    items.write_text(items.read_text("utf-8").replace("active", "historical", 1), "utf-8")


def timed(what: str, work: Callable[[], Answer]) -> Answer:
    """Run it and print how long the processor was busy with it."""
    own, others = time.process_time(), _of_children()
    answer = work()
    own, others = time.process_time() - own, _of_children() - others
    print(f"{what:45} {own:7.2f} s {f'{others:7.2f} s' if others else ''}", flush=True)
    return answer


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=33_000)
    contents = texts(parser.parse_args().records)
    with tempfile.TemporaryDirectory(prefix="memtui-bench-") as name:
        folder = Path(name)
        store = write_store(folder, contents)

        def opened() -> Library:
            library = Library.open([store], cache=folder / "cache", state=folder / "state")
            library.load()
            return library

        library = opened()
        queue = ReviewQueue(library)
        found = timed("scan, cold", queue.scan)
        print(f"{library.snapshot.count} memories, {len(found.proposals)} findings")
        timed("scan again", queue.scan)
        change(store, "people-p0")
        library.refresh()
        timed("scan after one change", queue.scan)
        library = opened()
        queue = ReviewQueue(library)
        timed("opened again: the queue from the cache", queue.last)
        timed("opened again: scan", queue.scan)
        change(store, "people-p40")
        timed("opened after one change: scan", ReviewQueue(opened()).scan)
        change(store, "people-p80")
        library.refresh()
        timed("scan aside after one change", queue.scan_aside)
        shutil.rmtree(folder / "cache" / "reviews")
        timed("first scan aside", ReviewQueue(library).scan_aside)
    rules = UpkeepRules(scope=lambda _: "one")
    context = UpkeepContext(START, rules_of=lambda _: rules)
    memories = [
        Memory(ref=f"s:{n}", id=str(n), store="s", kind="observation", content=text, entity="p")
        for n, text in enumerate(contents)
    ]
    for kind in (ProposalKind.DUPLICATE, ProposalKind.CLUSTER):
        timed(f"one scope: {kind}", lambda kind=kind: scan(memories, context, {}, kinds=[kind]))  # type: ignore[misc]


if __name__ == "__main__":
    main()
