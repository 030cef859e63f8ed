"""How fast search is: `python -m tests.bench.speed [N ...]` (1,000, 33,000 and 100,000 memories).

A keystroke is what the screen asks for a letter: match, filter, rank, the best in order, count
what each filter would leave.
"""

from __future__ import annotations

import gc
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from memtui.query import parse_query
from memtui.search import columns as columns_module
from memtui.search import postings
from memtui.search.documents import IndexedDocument, to_document
from memtui.search.query_terms import QueryTerm, analyze_terms
from memtui.search.segment_files import load_segment, save_segment
from memtui.search.whoosh_index import WhooshIndex
from tests.bench import corpus
from tests.unit.search.finding_for_tests import find_in, match

BEST = 50
"""What a screen shows."""
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def timed(act: Callable[[], object]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1000


def keystroke(
    segments: Sequence[postings.Segment], columns: columns_module.Columns, line: str, filters: str
) -> int:
    """Ask as the screen does; returns how many were found."""
    query = parse_query(f"{filters} {line}".strip(), NOW, typing=True)
    hits = find_in(query, columns, segments, NOW)
    hits.slots[:BEST]
    return len(hits.slots)


def percentiles(values: Sequence[float]) -> str:
    p50, p95 = np.percentile(values, (50, 95))
    return f"{p50:7.2f} {p95:7.2f} {max(values):7.2f}"


def whoosh(folder: Path, documents: Sequence[IndexedDocument]) -> None:
    """The index on disk: build, open, ask, change one memory."""
    with WhooshIndex(folder) as index:
        build = timed(partial(index.update, documents))
        size = sum(file.stat().st_size for file in index.folder.iterdir()) / 1e6
        print(f"  whoosh build     {build:8.0f} ms   {size:.1f} MB on disk")
        opened = timed(lambda: index.search(looked_up("zzz")))
        print(f"  whoosh open      {opened:8.0f} ms   import and sums of all files included")
        for kind, line in (
            ("phrase", '"{0} {1}"'),
            ("fuzzy", "{0}~"),
            ("wildcard", "{0:.3}*e?"),
        ):
            times = []
            for number in range(40):
                words = documents[number * 31 % len(documents)].content.split()
                at = number % (len(words) - 3)
                term = looked_up(line.format(*words[at : at + 3]).lower())
                times.append(timed(partial(index.search, term)))
            print(f"    {kind:14} {percentiles(times)}")
        changed = replace(documents[0], content=documents[1].content)
        print(
            f"  whoosh update    {timed(lambda: index.update([changed, *documents[1:]])):8.0f} ms"
        )


def looked_up(line: str) -> QueryTerm:
    terms = analyze_terms(parse_query(line, NOW).terms)
    return (*terms.optional, *terms.required)[0]


def run(count: int) -> None:
    memories = list(corpus.memories(count))
    documents = [to_document(memory) for memory in memories]
    columns = columns_module.build(memories)
    del memories
    gc.collect()
    made: list[postings.Segment] = []
    print(f"\n{count:,} memories")
    print(f"  build            {timed(lambda: made.append(postings.build(documents))):8.0f} ms")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"  save             {timed(lambda: save_segment(made[0], folder)):8.0f} ms")
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        loaded: list[postings.Segment] = []
        load = timed(lambda: loaded.extend(filter(None, [load_segment(folder)])))
        segment = loaded[0]
        print(f"  load             {load:8.0f} ms   {size:.1f} MB on disk")
        print(f"  words            {len(segment.terms):8,}      postings {len(segment.ids):,}")
        lines = corpus.keystrokes(documents)
        print("  keystroke, ms        p50     p95     max")
        for label, filters in (("alone", ""), ("with filters", "type:decision,bugfix since:1y")):
            times = []
            for line in lines:
                act = partial(keystroke, [segment], columns, line, filters)
                times.append(min(timed(act) for _ in range(2)))
            print(f"    {label:14} {percentiles(times)}   {len(lines)} keystrokes")
        for kind, line in (
            ("phrase", '"{0} {1}"'),
            ("fuzzy", "{0}~"),
            ("wildcard", "{0:.3}*e?"),
            ("question", "what did we say about {0} and {1} of {2}"),
        ):
            times = []
            for number in range(30):
                text = documents[number * 31 % count].content.lower().split()
                query = parse_query(line.format(*text[3:6], "x", "y", "z"), NOW)
                times.append(timed(partial(match, [segment], count, query.terms)))
            print(f"    {kind:14} {percentiles(times)}")
        whoosh(folder, documents)
        update = timed(lambda: postings.build(documents[:1], count))
        both = [segment, postings.build(documents[:1], count)]
        wider = columns_module.concat([columns, columns_module.build([next(corpus.memories(1))])])
        after = timed(lambda: keystroke(both, wider, "memory ag", ""))
        print(f"  one changed      {update:8.2f} ms   first keystroke after {after:.2f} ms")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak memory      {peak:8.0f} MB, documents and generator included")


def main() -> None:
    for count in [int(text.replace(",", "")) for text in sys.argv[1:]] or [1_000, 33_000, 100_000]:
        run(count)


if __name__ == "__main__":
    main()
