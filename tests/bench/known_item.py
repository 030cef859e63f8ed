"""Ranking quality without a download: search by what a document is called, look for its body.

    python -m tests.bench.known_item PATH...          stores; their texts never leave the machine

Titles (and descriptions, where a store has them) are taken out of the texts and asked one by one,
each among the memories of its own store; what counts is at which rank the body they belonged to
comes back. The further lines show what each setting would lose.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from memtui.library import Library
from memtui.model import Memory
from memtui.query import parse_query
from memtui.search import analysis, columns, documents, fusion, matching, postings, ranking
from memtui.search.documents import to_document
from memtui.search.hits import Match
from tests.bench import hybrid
from tests.bench.corpus import NOW


def read(paths: Sequence[Path]) -> list[Memory]:
    library = Library.open(paths, cache=None)
    library.load()
    return list(library.snapshot.rows)


def questions(memories: Sequence[Memory]) -> Iterator[tuple[int, str]]:
    """Slots and what may be asked to find them."""
    for slot, memory in enumerate(memories):
        description = memory.extra.get("description")
        for text in (memory.title, description if isinstance(description, str) else ""):
            if text and not memory.content.lstrip("# \n").startswith(text):
                yield slot, text


def bodies(memories: Sequence[Memory]) -> list[documents.IndexedDocument]:
    return [replace(to_document(memory), title="", tags=()) for memory in memories]


Pool = tuple[Sequence[Memory], Sequence[tuple[int, str]]]
"""The memories of one store, and what is asked of them."""


def measure(
    pools: Sequence[Pool],
    weights: ranking.Weights = ranking.DEFAULTS,
    way: hybrid.Way = hybrid.TEXT,
) -> list[float]:
    """MRR, hit@1, hit@5, hit@10 over all questions."""
    ranks = np.array([rank for pool in pools for rank in ranks_in(pool, weights, way)])
    reciprocal = np.where(ranks > 0, 1 / np.maximum(ranks, 1), 0)
    hits = [float(np.mean((ranks > 0) & (ranks <= k))) for k in (1, 5, 10)]
    return [float(reciprocal.mean()), *hits]


def ranks_in(pool: Pool, weights: ranking.Weights, way: hybrid.Way) -> Iterator[int]:
    """At which rank each question finds its memory; 0 = not at all."""
    memories, asked = pool
    table = columns.build(memories)
    held = bodies(memories)
    segment = postings.build(held)
    meant = None if way is hybrid.TEXT else hybrid.meant(tuple(held))
    for slot, text in asked:
        found = matching.match_terms([segment], len(memories), parse_query(f"{text} ", NOW).terms)
        found = hybrid.fused(found, way, meant and meant.cosines(text))
        order = hybrid.ordered(found, table, NOW, weights)
        yield order.index(slot) + 1 if slot in order else 0


@contextmanager
def setting(module: object, name: str, value: object) -> Iterator[None]:
    former = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, former)


VARIANTS: list[tuple[str, object, str, object]] = [
    ("question words kept", analysis, "QUESTION_WORDS", frozenset()),
    ("no stemming", analysis, "stem", lru_cache(maxsize=None)(lambda word: word)),
    ("other forms count in full", matching, "OTHER_FORM_WEIGHT", 1.0),
    ("other forms count half", matching, "OTHER_FORM_WEIGHT", 0.5),
    ("K1 0.6", matching, "K1", 0.6),
    ("K1 2.0", matching, "K1", 2.0),
]
"""What else could have been chosen."""


def main() -> None:
    stores = [read([Path(text)]) for text in sys.argv[1:]]
    pools: list[Pool] = [(memories, list(questions(memories))) for memories in stores]
    asked = sum(len(pool[1]) for pool in pools)
    print(f"{sum(map(len, stores))} memories, {asked} questions        MRR    @1     @5     @10")

    def line(name: str, measured: Sequence[float]) -> None:
        print(f"  {name:40}", "  ".join(f"{value:.3f}" for value in measured))

    def with_weights(**changed: float) -> list[float]:
        return measure(pools, replace(ranking.DEFAULTS, **changed))

    names = ("recency", "importance_high", "importance_low", "pinned", "salience", "neighbours")
    no_factors = dict.fromkeys(names, 0.0)
    line("as it is", measure(pools))
    line("text alone", with_weights(**no_factors))
    for name in ("recency", "importance_high", "salience", "neighbours"):
        for value in (0.0, 0.5, 1.0):
            line(f"{name} {value}", with_weights(**{name: value}))
    for name, module, attribute, value in VARIANTS:
        with setting(module, attribute, value):
            line(name, measure(pools))
    original: Callable[..., Match] = matching.match_terms

    def any_order(*arguments: object, **options: object) -> Match:
        found = original(*arguments, **options)
        return replace(found, all_words=np.zeros_like(found.all_words))

    with setting(matching, "match_terms", any_order):
        line("all words not first", measure(pools))
    if hybrid.model() is None:
        print("  no vectors: pip install memtui[semantic]")
        return
    for way in hybrid.WAYS:
        line(
            f"{way.name}, no factors", measure(pools, replace(ranking.DEFAULTS, **no_factors), way)
        )
    for way in hybrid.WAYS:
        line(way.name, measure(pools, way=way))
    for name, attribute, value in hybrid.VARIANTS:
        with setting(fusion, attribute, value):
            line(name, measure(pools, way=hybrid.CHOSEN))


if __name__ == "__main__":
    main()
