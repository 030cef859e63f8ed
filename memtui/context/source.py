"""What recipes read from: the searches of a library, as a protocol, and how a task becomes one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from memtui import query as queries
from memtui.context.constants import DEFAULTS, RecipeConstants
from memtui.model import Memory
from memtui.query import Query, Sort, Term, TermKind
from memtui.search import analysis
from memtui.search.array_types import Mask
from memtui.search.columns import Columns
from memtui.search.finder import RankedHits
from memtui.stores.base import Store

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
    def hits(self) -> RankedHits | None: ...
    def mask_with_parts(self, parts: Sequence[str]) -> Mask:
        """For each slot whether a word of the memory may contain one of these folded parts."""
        ...

    def ref_of(self, slot: int) -> str:
        """The ref of a memory, without reading the rest of it."""
        ...


class PackSource(Protocol):
    """What a library offers to a recipe; `memtui.library.Library` has it."""

    @property
    def stores(self) -> Sequence[Store]: ...

    def find(self, query: Query) -> Found:
        """Run a query on the loaded memories."""
        ...

    def get(self, ref: str) -> Memory:
        """Return the memory with this ref. Raises RefError."""
        ...

    def resolve(self, text: str) -> Memory:
        """Return the memory with this ref, id or beginning of an id. Raises RefError."""
        ...

    def memories(self, store: str) -> Iterable[Memory]:
        """Return all memories of the store with this label."""
        ...


@dataclass(frozen=True)
class Task:
    """What a recipe is asked for."""

    text: str
    source: PackSource
    now: datetime
    constants: RecipeConstants = DEFAULTS
    types: tuple[str, ...] = ()
    """Types that the recipe `typed` prefers."""
    only: Query = NO_FILTERS
    """Filters that every memory must pass, such as its type or store."""
    limit: int | None = None
    """Most entries of the recipe's main section; None: the recipe's own limit."""
    page_in: frozenset[str] = frozenset()
    """Ids or refs of memories whose whole text is given."""

    def count(self, name: str) -> int:
        """The limit that was asked for, else the recipe's constant of this name."""
        return self.constants[name] if self.limit is None else self.limit

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
        terms = tuple(Term(word, TermKind.WORD) for word in task_words(text))
        return self.source.find(replace(query, terms=terms, sort=sort, as_written=as_written))


def task_words(text: str) -> tuple[str, ...]:
    """The words of a task that are searched for: each once, function words only if alone."""
    words = list(dict.fromkeys(analysis.find_chunks(text)))
    telling = [word for word in words if word.casefold() not in analysis.QUESTION_WORDS]
    return tuple((telling or words)[:MAX_TASK_WORDS])
