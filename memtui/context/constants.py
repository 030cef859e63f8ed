"""The constants of all recipes, in one place; `[context.constants]` of config.toml can set each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from memtui.search import salience
from memtui.search.salience import DEFAULTS as SCORE_DEFAULTS
from memtui.search.salience import NUMBERS, ScoreConstants


@dataclass(frozen=True, slots=True)
class RecipeConstants:
    """Each with its source; `memtui's own` where no document says one."""

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
    """Of salience and priority, which the orders of lists and `stats` use too."""

    def __getitem__(self, name: str) -> int:
        """A count by name."""
        return int(getattr(self, name))


DEFAULTS = RecipeConstants()
_OWN = tuple(field.name for field in fields(RecipeConstants) if field.name != "scores")
NAMES = (*_OWN, *NUMBERS)
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
