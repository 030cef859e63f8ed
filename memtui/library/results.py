"""Results of `Library.find` and `Library.similar`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from memtui.library.snapshot import Rows
from memtui.query import Query
from memtui.search.aggregates import Facets
from memtui.search.columns import Columns, build
from memtui.search.finder import RankedHits

How = Literal["all", "index", "scan"]
"""`all`: there was no text to look for; `scan`: the index is not ready, what is loaded was read."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a query found, in display order."""

    query: Query
    slots: Sequence[int]
    """In `rows`."""
    total: int
    scores: Sequence[float] | None
    """One per slot where the order is by relevance."""
    facets: Facets
    how: How
    words: tuple[str, ...] = ()
    """To highlight."""
    hint: str = ""
    """What the person should know: bad syntax, another spelling, the filter that hides matches."""
    revision: int = 0
    """The snapshot that the slots belong to."""
    behind: RankedHits | None = field(default=None, compare=False, repr=False)
    """What was matched, to say why each is there without looking again."""
    rows: Rows = field(default_factory=Rows, compare=False, repr=False)
    """The snapshot's: later ones may have given the slots to others."""
    columns: Columns = field(default_factory=lambda: build(()), compare=False, repr=False)
    """Of these rows."""


@dataclass(frozen=True, slots=True)
class Similar:
    """Memories that are like another one, the most alike first."""

    slots: Sequence[int]
    scores: Sequence[float]
    """0..1: the cosine, or the share of the other's telling words."""
    how: Literal["vectors", "words"]
    words: tuple[str, ...] = ()
    """The words that were compared, the rarest first; empty with vectors."""
    rows: Rows = field(default_factory=Rows, compare=False, repr=False)
    """What the slots belong to."""
