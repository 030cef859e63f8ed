"""Recency: how much of its weight a memory keeps with age, 1 for today, towards 0.

Two forms are in use. agent-memory halves every 30 days, `exp(-ln 2 / H x days)`, and counts whole
days (retrieve-memory.sh, `recency_score`; its README's table says 0.871 for a week, the script and
the formula give 0.851). Simple Memory divides by e every tau days, `exp(-age / tau)`, and leaves
tau open.
"""

from __future__ import annotations

import math
from datetime import datetime

import numpy as np

from memtui.search.array_types import Doubles

HALF_LIFE_DAYS = 30.0
"""RECENCY_HALF_LIFE_DAYS of agent-memory."""
TAU_DAYS = 30.0
"""Simple Memory's tau, which the white paper leaves open; as the other's half-life."""
DAY_SECONDS = 86_400.0


def halved(days: float, half_life: float = HALF_LIFE_DAYS) -> float:
    """The share of its weight that a memory keeps after `days`, with a `half_life` in days."""
    return math.exp(-math.log(2) / half_life * max(0.0, days))


def whole_days(when: datetime, now: datetime) -> int:
    """Return the whole days from `when` until `now`; 0 if `when` is later."""
    return max(0, int((now - when).total_seconds() // DAY_SECONDS))


def days_since(when: Doubles, now: datetime) -> Doubles:
    """Return the days from `when` (seconds since 1970) until `now`, at least 0; nan stays."""
    days: Doubles = np.maximum(0.0, now.timestamp() - when) / DAY_SECONDS
    return days


def divided_by_e(days: Doubles, tau: float = TAU_DAYS) -> Doubles:
    """The share left after `days` by Simple Memory's formula with the constant `tau`; 0 for nan."""
    return np.nan_to_num(np.exp(-days / tau))
