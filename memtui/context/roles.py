"""Which memories play which part in a recipe, whatever store they come from: one table.

A recipe of one program speaks of goals, episodes or blocking facts. In every other store the part
is played by the kinds and types below; `docs/context.md` shows the same table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memtui.model import Memory
from memtui.search.array_types import Longs
from memtui.search.columns import Columns
from memtui.search.pack_ranking import slots_of_types


@dataclass(frozen=True, slots=True)
class Role:
    """The kinds and types that play a part; a memory needs one of them."""

    kinds: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    """Types that do not, although their kind does."""


_GOALS = frozenset({"goal", "goals", "objective", "okr", "task"})
_POLICIES = frozenset(
    {"policy", "rule", "convention", "preference", "value", "feedback", "identity", "lesson"}
)
_PATTERNS = frozenset({"pattern", "learning", "architecture"})
_EPISODES = frozenset({"session-summary", "session_summary", "session", "daily", "journal"})
_DECISIONS = frozenset({"decision", "decisions", "architecture", "adr"})
_ERRORS = frozenset({"error-resolution", "bugfix", "bug", "incident", "blocker"})
_PROSE = frozenset({"prompt", "summary", "tacit"})

ROLES = {
    "goal": Role(types=_GOALS),
    "policy": Role(types=_POLICIES),
    "schema": Role(frozenset({"schema"}), _GOALS | _POLICIES | _PATTERNS),
    "episode": Role(frozenset({"episode"}), _EPISODES),
    "decision": Role(types=_DECISIONS),
    "error": Role(types=_ERRORS),
    "fact": Role(
        frozenset({"fact", "event", "observation", "document"}),
        without=_GOALS | _POLICIES | _EPISODES | _PROSE,
    ),
    "summary": Role(types=frozenset({"summary"})),
    "daily": Role(types=frozenset({"daily", "journal"})),
}
"""Part -> who plays it."""

BLOCKING = "blocked blocking blocker blocks waiting waits stuck depends missing failing cannot"
OUTCOMES = "result resulted outcome led caused fixed resolved worked failed regression reverted"
DECIDED = "decided decision chose chosen choice picked"
"""Words that mark a fact as blocking or as the outcome of a decision, and an episode as one in
which something was decided; in any form of them; memtui's own."""

_VALUE = re.compile(r"^(.*?\S)\s*[:=]?\s+(-?\d+(?:[.,]\d+)?)\s*([%A-Za-z/]{0,8})\s*\.?$", re.DOTALL)


def slots_of_role(name: str, columns: Columns, slots: Sequence[int] | Longs) -> Longs:
    """Those of the slots that play this part, in their order."""
    role = ROLES[name]
    return slots_of_types(columns, slots, role.kinds, role.types, role.without)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A fact that ends in a number: what is measured, and its value."""

    subject: str
    value: float
    unit: str


def read_measurement(memory: Memory) -> Measurement | None:
    """The measurement that a fact states at its end, such as `user sleep_hours 6.2`."""
    if len(memory.content) > 200:
        return None
    found = _VALUE.match(memory.content)
    if found is None:
        return None
    subject = " ".join(found[1].casefold().split())
    return Measurement(subject, float(found[2].replace(",", ".")), found[3])
