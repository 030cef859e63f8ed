"""From a query to what it finds: filters by columns, text by the index or by reading the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memtui.library.shelf import Shelf
from memtui.library.snapshot import Rows
from memtui.library.values import Cancelled, Found, Report
from memtui.model import Memory
from memtui.query import Query
from memtui.search import columns as columns_of
from memtui.search.columns import Columns


@dataclass(frozen=True, slots=True)
class IndexState:
    """What of the rows can be searched by index at one moment."""

    ready: bool = False


class Index:
    """The search index of all open stores, as it grows."""

    def __init__(self) -> None:
        self.state = IndexState()

    @property
    def is_ready(self) -> bool:
        return self.state.ready

    def add(self, shelf: Shelf, rows: Rows, report: Report, cancelled: Cancelled) -> None: ...

    def cover(self, rows: Rows, columns: Columns) -> None: ...


def find(
    query: Query,
    rows: Sequence[Memory],
    columns: Columns,
    index: IndexState,
    now: datetime,
    cancelled: Cancelled,
) -> Found:
    found = columns_of.mask(columns, query)
    text = None
    if query.terms:
        words = [t.text.casefold() for t in query.terms]
        text = columns.alive.copy()
        for slot in range(len(rows)):
            if text[slot]:
                m = rows[slot]
                hay = (m.title + " " + m.content).casefold()
                text[slot] = all(w in hay for w in words)
        found &= text
    slots = columns_of.order(columns, found, query.order, now)
    return Found(
        query=query,
        slots=slots.tolist(),
        total=len(slots),
        scores=None,
        facets=columns_of.facets(columns, query, text),
        how="scan" if query.terms else "all",
        words=query.words,
    )
