"""Ranking quality on LoCoMo: `python -m tests.bench.locomo locomo10.json`.

Text only; with `pip install memtui[semantic]` also vectors only and both fusions, each weight with
and without neighbours.

The file is public (snap-research/locomo) but not ours to ship: its licence is CC BY-NC. Every turn
of all ten conversations is a memory in one pool; every question with evidence is asked as it
stands. Recall is the share of evidence turns among the first 1, 5, 10, averaged over questions, MRR
that of the first of them. conv-26 and conv-30 are for tuning; the table reports the other eight.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from memtui.model import Memory
from memtui.query import parse_query
from memtui.search import columns, fusion, matching, postings, ranking
from memtui.search.documents import to_document
from tests.bench import hybrid
from tests.bench.corpus import NOW
from tests.bench.known_item import VARIANTS, setting

TUNING = ("conv-26", "conv-30")
_SESSION = re.compile(r"session_(\d+)$")


@dataclass(frozen=True, slots=True)
class Question:
    sample: str
    text: str
    evidence: frozenset[int]
    """Slots of the turns that answer it."""
    category: int = 0
    """1 several turns, 2 time, 3 open, 4 one turn, 5 not to be answered."""


def turns(samples: Sequence[dict[str, Any]]) -> Iterator[Memory]:
    """Every turn as an event of its session, in order."""
    for sample in samples:
        conversation = sample["conversation"]
        for name in sorted(
            (key for key in conversation if _SESSION.match(key)),
            key=lambda key: int(key.split("_")[1]),
        ):
            for turn in conversation[name]:
                caption = turn.get("blip_caption")
                image = f" [image: {caption}]" if caption else ""
                native = f"{sample['sample_id']}/{turn['dia_id']}"
                yield Memory(
                    ref=f"locomo:{native}",
                    id=native,
                    store="locomo",
                    kind="event",
                    content=f"{turn['speaker']}: {turn['text']}{image}",
                    entity=f"{sample['sample_id']}/{name}",
                )


def questions(samples: Sequence[dict[str, Any]], slots: dict[str, int]) -> Iterator[Question]:
    for sample in samples:
        for asked in sample["qa"]:
            named = re.findall(r"D\d+:\d+", " ".join(asked.get("evidence") or ()))
            held = (slots.get(f"{sample['sample_id']}/{name}") for name in named)
            evidence = frozenset(slot for slot in held if slot is not None)
            if evidence:
                category = int(asked.get("category") or 0)
                yield Question(sample["sample_id"], asked["question"], evidence, category)


def measure(
    memories: Sequence[Memory],
    asked: Sequence[Question],
    weights: ranking.Weights,
    way: hybrid.Way = hybrid.TEXT,
) -> list[float]:
    """Recall@1, @5, @10 and MRR."""
    table = columns.build(memories)
    held = tuple(to_document(memory) for memory in memories)
    segment = postings.build(held)
    meant = None if way is hybrid.TEXT else hybrid.meant(held)
    rows = []
    for question in asked:
        plain = re.sub(r'["~*?:-]', " ", question.text)
        found = matching.match_terms([segment], len(memories), parse_query(plain, NOW).terms)
        found = hybrid.fused(found, way, meant and meant.cosines(question.text))
        order = hybrid.ordered(found, table, NOW, weights)
        hits = [at for at, slot in enumerate(order) if slot in question.evidence]
        recalls = [sum(at < k for at in hits) / len(question.evidence) for k in (1, 5, 10)]
        rows.append([*recalls, 1 / (hits[0] + 1) if hits else 0.0])
    means: list[float] = np.mean(rows, axis=0).tolist()
    return means


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("python -m tests.bench.locomo PATH-OF-locomo10.json")
    samples = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    memories = list(turns(samples))
    asked = list(questions(samples, {memory.id: slot for slot, memory in enumerate(memories)}))
    tuning = [question for question in asked if question.sample in TUNING]
    reported = [question for question in asked if question.sample not in TUNING]
    print(f"{len(memories)} turns; {len(tuning)} questions to tune on, {len(reported)} reported")
    print(f"{'':34}{'tuning: @1    @5    @10   MRR':32}reported: @1  @5    @10   MRR")

    def line(
        name: str,
        weights: ranking.Weights = ranking.DEFAULTS,
        way: hybrid.Way = hybrid.TEXT,
        category: int | None = None,
    ) -> None:
        cells = []
        for part in (tuning, reported):
            meant = [one for one in part if category in (None, one.category)]
            measured = measure(memories, meant, weights, way) if meant else ()
            cells.append("  ".join(f"{value:.3f}" for value in measured) or f"{'-':26}")
        print(f"  {name:36}" + "        ".join(cells))

    line("as it is")
    for category in sorted({question.category for question in asked}):
        line(f"  category {category}", category=category)
    for value in (0.0, 0.1, 0.2, 0.5):
        line(f"neighbours {value}", replace(ranking.DEFAULTS, neighbours=value))
    for name, module, attribute, other in VARIANTS:
        with setting(module, attribute, other):
            line(name)
    if hybrid.model() is None:
        print("  no vectors: pip install memtui[semantic]")
        return
    for way in hybrid.WAYS:
        line(way.name, way=way)
        if way is not hybrid.VECTORS:
            line("  without neighbours", replace(ranking.DEFAULTS, neighbours=0.0), way)
    for name, attribute, other in hybrid.VARIANTS:
        with setting(fusion, attribute, other):
            line(name, way=hybrid.CHOSEN)


if __name__ == "__main__":
    main()
