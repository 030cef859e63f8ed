"""How much a memory has been used, as 0..1, from what its store counts of it.

    a store's own `salience`, 0..1        as it stands
    else uses n                           log(1 + n) / log(1 + MOST), at most 1

The second is Simple Memory's frequency, log(1 + hits) / K, with K chosen so that `MOST` uses are 1.
A use is a saving again under the same topic and a duplicate that was not stored (engram counts both
from 1), a retrieval (`hits`, `access_count`), or an injection into the agent's context (the log
of the workspace format). A store that counts nothing has 0 for all its memories.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from memtui.model import Memory

MOST = 32
"""Uses from which more make no difference; Simple Memory leaves K open."""
_FROM_ONE = ("revision_count", "duplicate_count")
_FROM_ZERO = ("hits", "access_count", "accessCount", "injected")
_ENOUGH = 1_000_000
"""Files may hold numbers that no float can."""
_GROUP = "injections"
"""Where the workspace format keeps what its log says of a document."""


def salience(memory: Memory) -> float:
    """How much this memory has been used, 0..1."""
    own = memory.extra.get("salience")
    if isinstance(own, (int, float)) and _is_number(own):
        return float(min(1, max(0, own)))
    uses = _uses(memory.extra)
    group = memory.extra.get(_GROUP)
    if isinstance(group, Mapping):
        uses += _uses(group)
    return min(1.0, math.log1p(uses) / math.log1p(MOST))


def _uses(counted: Mapping[str, Any]) -> float:
    counts: list[float] = [
        max(0, min(counted[name], _ENOUGH) - least)
        for names, least in ((_FROM_ONE, 1), (_FROM_ZERO, 0))
        for name in names
        if _is_number(counted.get(name))
    ]
    return sum(counts)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
