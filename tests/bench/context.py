"""Context packs: time over 33,000 memories, and LoCoMo's evidence within a budget.

    python -m tests.bench.context [COUNT]
    python -m tests.bench.context locomo10.json [EVERY]

The first prints the milliseconds of each recipe, loaded and indexed: of memories that are held, and
of a store on disk that was read from the cache. The second prints, for each recipe that takes a
text, the share of the evidence of a question that a pack of 1,000 and of 2,000 tokens holds,
averaged over the questions of the tuning part (conv-26, conv-30) and of the reported eight; each
question searches its own conversation, as an agent's memory would hold it. What a recipe chooses is
worked out once and cut to both budgets. EVERY takes every so many questions of a conversation, 1 by
default.
The file is public (snap-research/locomo) but not ours to ship.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from msgspec.structs import replace

from memtui.context import RECIPES, draft_pack
from memtui.context.recipes import SUPPORTING, Block
from memtui.library import Library
from memtui.model import Memory
from memtui.stores.base import Reading, Scan, Shard, Store
from tests.bench import corpus, locomo

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TASKS = (
    "deploy the release",
    "why does the cache index time out during review of the payment schema",
    "login",
    "Before the next release somebody has to look at the queue and the session timeout",
)
RUNS = 3
"""The first of each recipe reads what the cache has not decoded yet."""
ENOUGH = 150
"""Entries of a section: the budget alone decides; 2,000 tokens hold some 60 turns."""


@dataclass
class HeldStore(Store):
    """Memories that are held in memory."""

    held: Sequence[Memory]
    label: str = "bench"
    root: Path = Path("/nowhere")
    format: str = "bench"

    def scan(self) -> Scan:
        return Scan((Shard("all", (), "1"),))

    def read(self, shard: Shard) -> Reading:
        return Reading(tuple(self.held))


def library_of(held: Sequence[Memory], label: str = "bench") -> Library:
    library = Library([HeldStore(held, label)], now=lambda: NOW)
    library.load()
    library.index()
    return library


def measure_time(count: int) -> None:
    print(f"{count:,} memories; milliseconds, p50 and worst of {len(TASKS)} tasks, {RUNS} times")
    _print_times("in memory", library_of(list(corpus.memories(count))))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        corpus.write_agent_memory(home / "memory", count)
        for _ in range(2):  # the second is read from the cache that the first has written
            library = Library.open([home / "memory"], cache=home / "cache", now=lambda: NOW)
            library.load()
            library.index()
            library.save_index()
        _print_times("from the cache", library)


def _print_times(name: str, library: Library) -> None:
    print(f"{name}:")
    for recipe in RECIPES.values():
        times = []
        for task in TASKS * RUNS:
            text = task if recipe.takes == "task" else ""
            begun = perf_counter()
            draft_pack(recipe, text, library, NOW, types=("decision",)).pack(2000)
            times.append((perf_counter() - begun) * 1000)
        print(f"  {recipe.name:<8} {statistics.median(times):7.0f} {max(times):7.0f}")


def _raised(section: Any) -> Any:
    """The section with room for all that the budget holds, if it ranks by the text."""
    ranks_by_text = isinstance(section, Block) or section.is_main or section.limit == SUPPORTING
    return replace(section, limit=ENOUGH) if ranks_by_text else section


def measure_evidence(path: Path, every: int, budgets: Sequence[int] = (1000, 2000)) -> None:
    samples = json.loads(path.read_text(encoding="utf-8"))
    recipes = {
        name: replace(recipe, sections=tuple(map(_raised, recipe.sections)))
        for name, recipe in RECIPES.items()
        if recipe.takes == "task"
    }
    shares: dict[tuple[str, int, bool], list[float]] = {}
    asked = {True: 0, False: 0}
    for sample in samples:
        held = list(locomo.turns([sample]))
        slots = {memory.id: slot for slot, memory in enumerate(held)}
        library = library_of(held, "locomo")
        tuning = sample["sample_id"] in locomo.TUNING
        for question in list(locomo.questions([sample], slots))[::every]:
            asked[tuning] += 1
            wanted = {held[slot].ref for slot in question.evidence}
            for name, recipe in recipes.items():
                draft = draft_pack(recipe, question.text, library, NOW)
                for budget in budgets:
                    share = len(wanted.intersection(draft.fit(budget).refs)) / len(wanted)
                    shares.setdefault((name, budget, tuning), []).append(share)
    print(
        f"share of the evidence in a pack; {asked[True]} questions tuning, {asked[False]} reported"
    )
    print("recipe    " + "".join(f"{b:>8} t {b:>8} r" for b in budgets))
    for name in recipes:
        row = [statistics.fmean(shares[name, b, part]) for b in budgets for part in (True, False)]
        print(f"{name:<10}" + "".join(f"{value:>10.3f}" for value in row))


if __name__ == "__main__":
    first = sys.argv[1] if len(sys.argv) > 1 else "33000"
    if first.isdecimal():
        measure_time(int(first))
    else:
        measure_evidence(Path(first), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
