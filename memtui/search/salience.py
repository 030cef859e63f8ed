"""Salience: a score for the worth of a memory, from its type, revisions and use.

    salience = (type weight + revisions + 0.1 x accesses) x decay ^ days since the last access

as proposed for Engram (issue #168, Capability 2): each access adds 0.1, each day takes a share,
decisions and architecture start higher, what is maintained counts for more, and everything starts
at 1.0. The decay, the type weights and the form of the revision signal are left open there: the
decay halves in 30 days as in agent-memory, the revisions saturate as in Engram v3's ranking
(n / (n + 4)). Never accessed: the days since the last change. Salience ranks; it never removes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

import numpy as np

from memtui.search.array_types import Doubles, Ints
from memtui.search.recency import HALF_LIFE_DAYS, TAU_DAYS, days_since

BASE = 1.0
"""Of a type without a weight of its own: "everything starts at 1.0" (proposal for Engram)."""


@dataclass(frozen=True)
class ScoreConstants:
    """Constants of salience and priority; `[context.constants]` of config.toml can set each."""

    access_boost: float = 0.1
    """Salience: what an access adds (proposal for Engram)."""
    salience_half_life_days: float = HALF_LIFE_DAYS
    """Salience: days in which it halves; the proposal leaves it open, agent-memory has 30."""
    revision_boost: float = 0.2
    """Salience: the most that revisions add; memtui's own."""
    revisions_for_half: float = 4
    """Salience: revisions that add half of it, n / (n + 4) (Engram v3's ranking)."""
    tau_days: float = TAU_DAYS
    """Priority: its recency is exp(-days / tau); Simple Memory leaves it open."""
    priority_recency: float = 0.5
    """Priority: weight of the recency (Simple Memory, RIF)."""
    priority_importance: float = 0.3
    """Priority: weight of the importance (the same)."""
    priority_frequency: float = 0.2
    """Priority: weight of the frequency (the same)."""
    salience_types: Mapping[str, float] = field(
        default_factory=lambda: {"architecture": 1.5, "decision": 1.5, "policy": 1.5}
    )
    """Salience: what a type starts with, the others with 1; `[context.salience_types]`. That
    decisions and architecture start higher is the proposal's, 1.5 is what Ambient multiplies high
    importance by."""


DEFAULTS = ScoreConstants()
NUMBERS = tuple(one.name for one in fields(ScoreConstants) if one.name != "salience_types")
_LEAST_DAYS = 1 / 1440
"""A minute: with a half-life of 0 all would be worth nothing."""


def read_constants(values: Mapping[str, Any], types: Mapping[str, float]) -> ScoreConstants:
    """Return the default constants with those of the settings in their place.

    Args:
        values: Name -> number; unknown names are left out.
        types: Type -> what it starts with; those that are not named keep theirs.
    """
    known = {name: float(values[name]) for name in NUMBERS if name in values}
    for name in ("salience_half_life_days", "tau_days", "revisions_for_half"):
        if name in known:
            known[name] = max(known[name], _LEAST_DAYS)
    weights = {name.casefold(): float(weight) for name, weight in types.items()}
    return replace(DEFAULTS, salience_types={**DEFAULTS.salience_types, **weights}, **known)


def base_salience(
    types: Sequence[str], codes: Ints, revisions: Doubles, constants: ScoreConstants = DEFAULTS
) -> Doubles:
    """The salience of each memory by type and revisions; accesses and decay come on top.

    Args:
        types: All types.
        codes: The number of each memory's type in `types`.
        revisions: How often each was revised, see `count_revisions`.
        constants: Type weights, and what revisions add.
    """
    weights = constants.salience_types
    start = np.array([weights.get(name.casefold(), BASE) for name in types], np.float64)
    share = revisions / (revisions + constants.revisions_for_half)
    found: Doubles = start[codes] + constants.revision_boost * share
    return found


def decayed_salience(
    base: Doubles,
    accesses: Doubles,
    last: Doubles,
    now: datetime,
    constants: ScoreConstants = DEFAULTS,
) -> Doubles:
    """The salience now.

    Args:
        base: See `base_salience`.
        accesses: How often each was accessed.
        last: Seconds since 1970 of the last access, else change; nan counts as just now.
        now: The time.
        constants: What an access adds, and the half-life.
    """
    days = np.nan_to_num(days_since(last, now))
    decay = np.exp2(-days / constants.salience_half_life_days)
    found: Doubles = (base + constants.access_boost * accesses) * decay
    return found


def describe_range(values: Sequence[float] | Doubles) -> dict[str, float]:
    """Return `min`, `median`, `p90` and `max`, to three digits; empty for no values."""
    if not len(values):
        return {}
    found = np.quantile(np.asarray(values), (0.0, 0.5, 0.9, 1.0)).round(3).tolist()
    return dict(zip(("min", "median", "p90", "max"), found, strict=True))
