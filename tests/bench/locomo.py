"""Ranking quality on LoCoMo: `python -m tests.bench.locomo locomo10.json [--variants]`.

The file is public (github.com/snap-research/locomo, `data/locomo10.json`) but not ours to ship: its
licence is CC BY-NC. Every turn of all ten conversations is a memory in one pool, an event of its
session with the session's date; every question with evidence is asked as it was typed, through the
functions that `Library.find` calls. Recall is the share of evidence turns among the first 1, 5, 10,
averaged over questions, MRR that of the first of them. Categories: 1 several turns, 2 time, 3 open,
4 one turn; 5 are questions that have no answer in the text, counted in *all* only.

With `pip install ".[semantic]"` also with static vectors. `--variants` shows what each part of
the context is worth.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from memtui.library.finding import Searchable, find
from memtui.library.snapshot import Rows
from memtui.model import Memory
from memtui.query import parse_query
from memtui.search import columns, matching, ranking
from memtui.search.documents import to_document
from memtui.search.index import memory_index
from tests.bench import hybrid
from tests.bench.corpus import NOW
from tests.bench.known_item import NO_CONTEXT, PARTS, setting

TUNING = ("conv-26", "conv-30")
DEPTH = 200
"""Ranks that count for MRR."""
_SESSION = re.compile(r"session_(\d+)$")


class Question(Struct, frozen=True):
    sample: str
    text: str
    evidence: frozenset[int]
    """Slots of the turns that answer it."""
    category: int = 0
    """1 several turns, 2 time, 3 open, 4 one turn, 5 not to be answered."""


def _time(text: str) -> datetime | None:
    """The time of a session: `1:56 pm on 8 May, 2023`."""
    try:
        found = datetime.strptime(text.upper().replace(" ON ", " "), "%I:%M %p %d %B, %Y")
    except ValueError:
        return None
    return found.replace(tzinfo=UTC)


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
                    created=_time(conversation.get(f"{name}_date_time", "")),
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


def measure(pool: Pool, asked: Sequence[Question], way: hybrid.Way = hybrid.TEXT) -> Scores:
    """Recall@1, @5, @10 and MRR, in the groups of `GROUPS`."""
    rows: dict[str, list[list[float]]] = {name: [] for name in GROUPS}
    for question in asked:
        order = pool.ask(question.text, way)
        hits = [at for at, slot in enumerate(order) if slot in question.evidence]
        recalls = [sum(at < k for at in hits) / len(question.evidence) for k in (1, 5, 10)]
        row = [*recalls, 1 / (hits[0] + 1) if hits else 0.0]
        for name, categories in GROUPS.items():
            if question.category in categories:
                rows[name].append(row)
    return {name: np.mean(held, axis=0).tolist() for name, held in rows.items() if held}


Scores = dict[str, list[float]]
GROUPS = {
    "all": (0, 1, 2, 3, 4, 5),
    "categories 1 to 4": (1, 2, 3, 4),
    **{f"category {number}": (number,) for number in range(1, 6)},
}


class Pool:
    """All turns, indexed."""

    def __init__(self, memories: Sequence[Memory], weights: ranking.Weights) -> None:
        self._table = columns.build(memories)
        self._documents = tuple(to_document(memory) for memory in memories)
        self._segments = [memory_index.make(self._documents)]
        self.weights = weights

    def ask(self, text: str, way: hybrid.Way) -> list[int]:
        """Slots, the best first."""
        meant = None if way.how == "text" else hybrid.meant(self._documents)
        cosines = meant and meant.cosines(text)
        if way.how == "vectors" and cosines is not None:
            return np.argsort(-cosines, kind="stable")[:DEPTH].tolist()
        near: Any = None if cosines is None else hybrid.Near(cosines)
        weights = self.weights if near is None else replace(self.weights, meaning=way.weight)
        segments = tuple(self._segments)
        where = Searchable(Rows(), self._table, segments, weights=weights, semantic=near, now=NOW)
        return find(parse_query(text, NOW), where).slots[:DEPTH]


CHOSEN = f"""
  Chosen on conv-26 and conv-30 (tuning) alone: the weights of session, window, neighbours, subject,
  date, time words and question, how a date fades, how many memories are scored and may join.
  Chosen by version 0.1 on all ten conversations: no length normalisation, question words dropped,
  K1 {matching.K1}. Chosen on known items: recency, importance, status, pins, meaning.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, metavar="locomo10.json")
    parser.add_argument("--variants", action="store_true")
    wanted = parser.parse_args()
    samples = json.loads(wanted.file.read_text(encoding="utf-8"))
    memories = list(turns(samples))
    asked = list(questions(samples, {memory.id: slot for slot, memory in enumerate(memories)}))
    parts = [
        [question for question in asked if (question.sample in TUNING) is tuned]
        for tuned in (True, False)
    ]
    tuning, reported = map(len, parts)
    print(f"{len(memories)} turns; {tuning} questions to tune on, {reported} reported; as typed")
    print(CHOSEN)
    print(f"{'':30}{'tuning: @1    @5    @10   MRR':34}reported: @1  @5    @10   MRR")

    def show(
        name: str,
        groups: Sequence[str] = ("all", "categories 1 to 4"),
        way: hybrid.Way = hybrid.TEXT,
        **changed: float,
    ) -> None:
        pool = Pool(memories, replace(ranking.DEFAULTS, **changed))
        measured = [measure(pool, part, way) for part in parts]
        print(name)
        for group in groups:
            cells = [
                "  ".join(f"{value:.3f}" for value in scores.get(group, ())) or f"{'-':26}"
                for scores in measured
            ]
            print(f"  {group:28}" + "        ".join(cells), flush=True)

    show("as it is, text alone", tuple(GROUPS))
    if wanted.variants:
        show("nothing of the context", **NO_CONTEXT)
        for name in PARTS:
            show(f"without {name.replace('_', ' ')}", **{name: 0.0})
        for name, module, attribute, other in hybrid.TEXT_VARIANTS:
            with setting(module, attribute, other):
                show(name)
    if hybrid.model() is None:
        print('no vectors: pip install ".[semantic]"')
        return
    for way in hybrid.WAYS if wanted.variants else (hybrid.CHOSEN,):
        show(way.name, way=way)


if __name__ == "__main__":
    main()
