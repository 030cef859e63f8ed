"""Does a person find a memory that they know to be there? `python -m tests.bench.known_item`.

The queries, each with the memories that answer it, stand in `data/known_items.tsv`, in classes.
They ask the five sample stores, opened together, through `Library.find`, as `memtui search` does.
Of each class every second query is for tuning; the other half is reported. MRR: 1 / the rank of the
first memory that answers, 0 if it is not among the first 100, averaged. `data/questions.tsv` has
more natural questions, in the same two halves.

    --misses      also list the queries whose answer is not first, of the tuning half
    --variants    also show what other settings would give
    --vectors     with `pip install ".[semantic]"`: also with the static vectors
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from memtui.config import Embedding
from memtui.library import Library
from memtui.query import parse_query
from memtui.search import ranking
from tests.samples import SAMPLES

FILE = Path(__file__).with_name("data") / "known_items.tsv"
QUESTIONS = FILE.with_name("questions.tsv")
STORES = ("agent-memory", "ambient", "engram", "simple-memory", "workspace")
NOW = datetime(2026, 11, 20, 20, tzinfo=UTC)
"""The evening of the last day of the sample stores."""
DEPTH = 100
"""Ranks that count."""


class KnownItem(NamedTuple):
    """One query and the memories that answer it."""

    kind: str
    """The class of the query."""
    text: str
    refs: frozenset[str]


def read_items(file: Path = FILE) -> list[KnownItem]:
    """Read the list of queries."""
    lines = file.read_text(encoding="utf-8").splitlines()
    columns = (line.split("\t") for line in lines if line and not line.startswith("# "))
    return [KnownItem(kind, text, frozenset(refs.split())) for kind, text, refs in columns]


def split_items(items: Sequence[KnownItem]) -> tuple[list[KnownItem], list[KnownItem]]:
    """Every second query of each class for tuning, the others to report."""
    halves: tuple[list[KnownItem], list[KnownItem]] = ([], [])
    seen: dict[str, int] = {}
    for item in items:
        at = seen[item.kind] = seen.get(item.kind, -1) + 1
        halves[at % 2].append(item)
    return halves


@contextmanager
def open_samples(*, vectors: bool = False) -> Iterator[Library]:
    """A copy of the sample stores, open together and indexed."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "samples"
        shutil.copytree(SAMPLES, copy)
        library = Library.open(
            [copy / store for store in STORES],
            cache=Path(name) / "cache",
            now=lambda: NOW,
            embedding=Embedding(kind="static" if vectors else "off"),
        )
        library.load()
        library.index()
        if vectors:
            library.save_index()
            library.embed()
        yield library
        library.close()


def rank_of(library: Library, item: KnownItem) -> int:
    """The rank of the first memory that answers, from 1; 0 if it is not among the first."""
    found = library.find(parse_query(item.text, NOW))
    for rank, slot in enumerate(found.slots[:DEPTH], 1):
        if found.rows[slot].ref in item.refs:
            return rank
    return 0


def mean_reciprocal(ranks: Sequence[int]) -> float:
    """MRR; 0 stands for not found."""
    return sum(1 / rank for rank in ranks if rank) / len(ranks) if ranks else 0.0


def measure(library: Library, items: Sequence[KnownItem]) -> dict[str, list[int]]:
    """Class -> ranks, and `all`."""
    ranks: dict[str, list[int]] = {}
    for item in items:
        rank = rank_of(library, item)
        ranks.setdefault(item.kind, []).append(rank)
        ranks.setdefault("all", []).append(rank)
    ranks["all"] = ranks.pop("all", [])
    return ranks


@contextmanager
def setting(module: object, name: str, value: object) -> Iterator[None]:
    """Another value for an attribute, and the former one afterwards."""
    former = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, former)


PARTS = ("session", "window", "neighbours", "subject", "date", "time_words", "asks")
"""The weights of what stands around a memory."""
NO_CONTEXT: Mapping[str, float] = dict.fromkeys(PARTS, 0.0)
VARIANTS: tuple[tuple[str, Mapping[str, float]], ...] = (
    ("nothing of the context", NO_CONTEXT),
    *((f"without {name.replace('_', ' ')}", {name: 0.0}) for name in PARTS),
    ("session .25", {"session": 0.25}),
    ("session 1", {"session": 1.0}),
    ("window .25", {"window": 0.25}),
    ("window 1", {"window": 1.0}),
    ("recency 0", {"recency": 0.0}),
    ("importance 0", {"importance_high": 0.0, "importance_low": 0.0}),
    ("salience 0", {"salience": 0.0}),
)


def print_table(library: Library, halves: Sequence[Sequence[KnownItem]]) -> None:
    """Print MRR per class for both halves."""
    print(f"  {'':22}{'tuning: n':>10}{'MRR':>7}{'reported: n':>13}{'MRR':>7}")
    first, second = (measure(library, half) for half in halves)
    for kind, ranks in first.items():
        other = second.get(kind, [])
        print(
            f"  {kind:22}{len(ranks):10}{mean_reciprocal(ranks):7.3f}"
            f"{len(other):13}{mean_reciprocal(other):7.3f}"
        )


def print_variants(library: Library, halves: Sequence[Sequence[KnownItem]]) -> None:
    """Print the MRR of all queries for other settings."""

    def line(name: str) -> None:
        values = [mean_reciprocal(measure(library, half)["all"]) for half in halves]
        print(f"  {name:40}" + "  ".join(f"{value:.3f}" for value in values), flush=True)

    print("\n  variants: MRR of the tuning half, of the reported half")
    line("as it is")
    for name, changed in VARIANTS:
        with setting(library, "weights", replace(ranking.DEFAULTS, **changed)):
            line(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("misses", "variants", "vectors"):
        parser.add_argument(f"--{name}", action="store_true")
    wanted = parser.parse_args()
    items = read_items()
    tuning, reported = split_items(items)
    with open_samples() as library:
        size = library.snapshot.count
        print(f"{size} memories in {len(library.stores)} stores, {len(items)} queries, text only")
        print_table(library, (tuning, reported))
        print("\n  more questions")
        questions = split_items(read_items(QUESTIONS))
        print_table(library, questions)
        if wanted.misses:
            print("\n  not first, of the tuning halves")
            for item in (*tuning, *questions[0]):
                if (rank := rank_of(library, item)) != 1:
                    print(f"  {rank or '-':>4}  {item.kind}: {item.text}")
        if wanted.variants:
            print_variants(library, (tuning, reported))
    if wanted.vectors:
        with open_samples(vectors=True) as library:
            if not library.can_embed:
                print('\n  no vectors: pip install ".[semantic]"')
                return
            print("\n  with static vectors")
            print_table(library, (tuning, reported))


if __name__ == "__main__":
    main()
