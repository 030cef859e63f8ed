"""A task as recipes see it: their constants, the searches of a library, and its words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from memtui import query as queries
from memtui.model import Memory
from memtui.query import Query, Sort, Term, TermKind
from memtui.search import analysis, salience
from memtui.search.columns import Columns
from memtui.search.ranking import RankedHits
from memtui.search.salience import DEFAULTS as SCORE_DEFAULTS
from memtui.search.salience import NUMBER_NAMES, ScoreConstants
from memtui.stores.base import Store, StoreView


class RecipeConstants(Struct, frozen=True):
    """The constants of all recipes; `[context.constants]` of config.toml can set each.

    Each has its source; `memtui's own` where no document says one.
    """

    half_life_days: float = 30
    """tiers: RECENCY_HALF_LIFE_DAYS (agent-memory, retrieve-memory.sh)."""
    summaries: float = 5
    """tiers: MAX_SUMMARIES (retrieve-memory.sh)."""
    summary_lines: float = 50
    """tiers: first lines of a summary (retrieve-memory.sh, stage 2)."""
    facts: float = 10
    """tiers: MAX_FACTS (retrieve-memory.sh)."""
    note_lines: float = 5
    """tiers: MAX_DAILY_SNIPPETS (retrieve-memory.sh)."""
    note_days: float = 7
    """tiers: DAILY_NOTES_LOOKBACK_DAYS (retrieve-memory.sh)."""
    enough: float = 3
    """tiers: MIN_TOTAL_RESULTS below which the next stage is asked (retrieve-memory.sh)."""
    undated_recency: float = 0.5
    """tiers: recency of a fact without a time (retrieve-memory.sh)."""
    typed_limit: float = 10
    """typed: memtui's own; the post about it injected 3."""
    type_boost: float = 1.35
    """typed: factor of a wanted type (typed workspace; gptme_rag memory_type)."""
    type_penalty: float = 0.9
    """typed: factor of another type (the same)."""
    typed_floor: float = 0.05
    """typed: least score, after weighting (gptme_rag)."""
    goals: float = 5
    """plan, decide, reflect: goals, policies and schema items; memtui's own."""
    recent_episodes: float = 3
    """plan: memtui's own."""
    best_episodes: float = 5
    """recall: "the 3-5 best-fit episodes" (Simple Memory)."""
    supporting_facts: float = 8
    """plan, recall, decide: memtui's own ("top supporting facts")."""
    metric_changes: float = 5
    """reflect: memtui's own."""
    past_decisions: float = 3
    """decide: memtui's own."""
    nudge_policies: float = 2
    """nudge: "1-2 policies" (Simple Memory)."""
    primed: float = 12
    """prime: memtui's own; the proposal for Engram leaves the limit to the agent."""
    primed_candidates: float = 60
    """prime: how many of the most relevant are looked at; memtui's own."""
    diversity: float = 0.7
    """prime: lambda of MMR, 1 is relevance alone; the proposal leaves it open."""
    project_events: float = 10
    """session: events of the project that are not low (Ambient, store.ts:207)."""
    task_events: float = 15
    """session: events of the branch (Ambient, store.ts:218)."""
    entry_characters: float = 400
    """Longest text of an entry that is not paged in; memtui's own."""

    scores: ScoreConstants = SCORE_DEFAULTS
    """Constants of salience and priority, also used by list orders and `stats`."""

    def __getitem__(self, name: str) -> int:
        """A count by name."""
        return int(getattr(self, name))


DEFAULTS = RecipeConstants()
_OWN = tuple(name for name in RecipeConstants.__struct_fields__ if name != "scores")
CONSTANT_NAMES = (*_OWN, *NUMBER_NAMES)
"""All that `[context.constants]` may set."""


def read_constants(
    values: Mapping[str, Any], types: Mapping[str, float] | None = None
) -> RecipeConstants:
    """Replace the defaults by the settings' numbers; unknown names are left out.

    Args:
        values: The table `[context.constants]`.
        types: The table `[context.salience_types]`.
    """
    scores = salience.read_constants(values, types or {})
    known = {name: values[name] for name in _OWN if name in values}
    return replace(DEFAULTS, scores=scores, **known)


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
