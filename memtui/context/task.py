"""A task as recipes see it: the searches of a library, and its words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from memtui import query as queries
from memtui.model import Memory
from memtui.query import Query, Sort, Term, TermKind
from memtui.search import analysis
from memtui.search.columns import Columns
from memtui.search.ranking import RankedHits
from memtui.stores.base import Store, StoreView

MAX_TASK_WORDS = 48
"""Different words of a task that are searched for; a longer text adds cost and no sharpness."""


NO_FILTERS = Query()


class Found(Protocol):
    """The result of a search."""

    @property
    def slots(self) -> Sequence[int]: ...
    @property
    def rows(self) -> Sequence[Memory]: ...
    @property
    def columns(self) -> Columns: ...
    @property
    def hits(self) -> RankedHits: ...
    def slots_of_refs(self, refs: Collection[str]) -> set[int]:
        """The slots of memories with one of these refs."""
        ...


class StoreNaming(Protocol):
    """The names under which stores are shown, by label."""

    def of(self, label: str) -> str: ...


class PackSource(StoreView, Protocol):
    """The part of a library that recipes use; implemented by `memtui.library.Library`."""

    @property
    def stores(self) -> Sequence[Store]: ...
    @property
    def names(self) -> StoreNaming:
        """Knows under which name each store is shown."""
        ...

    def find_loaded(self, query: Query) -> Found:
        """Run a query on the loaded memories."""
        ...

    def resolve(self, text: str) -> Memory:
        """Return the memory with this ref, id or beginning of an id. Raises RefError."""
        ...


class Task(Struct, frozen=True):
    """The request to a recipe."""

    text: str
    source: PackSource
    now: datetime
    types: tuple[str, ...] = ()
    """Types that the recipe `typed` prefers."""
    only: Query = NO_FILTERS
    """Filters that every memory must pass, such as its type or store."""
    limit: int | None = None
    """Most entries of the recipe's main section; None: the recipe's own limit."""
    page_in: frozenset[str] = frozenset()
    """Ids or refs of memories whose whole text is given."""

    def search(
        self,
        text: str = "",
        sort: Sort | None = None,
        *,
        as_written: bool = False,
        **filters: Iterable[str],
    ) -> Found:
        """Search current memories that pass the filters.

        Args:
            text: Words to look for, taken literally; empty: all memories.
            sort: The order; by default by relevance, or newest first without text.
            as_written: Do not replace words that no memory holds by similar ones.
            filters: Field -> values, as in the query language.
        """
        query = self.only
        for name, values in {"status": ("active",), **filters}.items():
            if values and not queries.filter_values(query, name):
                query = queries.with_filter_values(query, name, values)
        terms = task_query(text).terms
        asked = replace(query, terms=terms, sort=sort, as_written=as_written)
        return self.source.find_loaded(asked)


def task_query(text: str) -> Query:
    """The query for the words of a task."""
    return Query(terms=tuple(Term(word, TermKind.WORD) for word in task_words(text)))


def task_words(text: str) -> tuple[str, ...]:
    """The words of a task that are searched for: each once, function words only if alone."""
    words = list(dict.fromkeys(analysis.find_chunks(text)))
    telling = [word for word in words if word.casefold() not in analysis.QUESTION_WORDS]
    return tuple((telling or words)[:MAX_TASK_WORDS])
