"""Run a query over a table and segments of memories, without a library."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from memtui.library.finding import Searchable, SearchResult, find
from memtui.library.snapshot import Rows
from memtui.model import Memory
from memtui.query import Query, Term
from memtui.search.array_types import Mask
from memtui.search.columns import Columns
from memtui.search.documents import IndexedDocument
from memtui.search.index import memory_index
from memtui.search.index.segments import Segment
from memtui.search.literals import LiteralSearch
from memtui.search.matching import Match, TextIndex, match_terms
from memtui.search.query_terms import analyze_terms
from memtui.search.ranking import DEFAULTS, Weights


def find_in(
    query: Query,
    table: Columns,
    segments: Sequence[Segment],
    now: datetime,
    weights: Weights = DEFAULTS,
    memories: Sequence[Memory] = (),
) -> SearchResult:
    rows = Rows(memories)
    return find(query, Searchable(rows, table, tuple(segments), now=now, weights=weights))


def cut_segments(documents: Sequence[IndexedDocument], cut: int) -> list[Segment]:
    """The index of these memories in two segments."""
    return [
        memory_index.make(documents[:cut]),
        memory_index.make(documents[cut:], range(cut, len(documents))),
    ]


def match(
    segments: Sequence[Segment],
    size: int,
    terms: Sequence[Term],
    alive: Mask | None = None,
    literals: LiteralSearch | None = None,
    *,
    as_written: bool = False,
    **options: object,
) -> Match:
    """What the terms find in the segments."""
    index = TextIndex(segments, size, alive, literals, **options)  # type: ignore[arg-type]
    return match_terms(index, analyze_terms(terms), as_written=as_written)
