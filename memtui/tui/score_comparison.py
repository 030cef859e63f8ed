"""Two neighbouring hits part by part: why the first is here, and why above the second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TELLS = 0.0005
"""Less than this is shown as nothing: values have three places."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One hit as it stands in the list."""

    headline: str
    place: int
    """From 1."""
    parts: Mapping[str, float]
    """They add up to the score."""

    @property
    def score(self) -> float:
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Weighed:
    """One part of the score in both hits."""

    name: str
    value: float
    other: float

    @property
    def difference(self) -> float:
        return self.value - self.other


def weigh(hit: Hit, after: Hit | None) -> list[Weighed]:
    """Every part that either has, in the order of the score."""
    theirs: Mapping[str, float] = after.parts if after is not None else {}
    return [
        Weighed(name, hit.parts.get(name, 0.0), theirs.get(name, 0.0))
        for name in _in_order(tuple(hit.parts), tuple(theirs))
    ]


def _in_order(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The names of both, each list in its own order as far as the first allows."""
    names = list(one)
    for at, name in enumerate(other):
        if name not in names:
            before = [names.index(known) for known in other[:at] if known in names]
            names.insert(max(before, default=-1) + 1, name)
    return names


def verdict(hit: Hit, after: Hit | None) -> str:
    """Why the hit stands above the next, in one sentence."""
    if after is None:
        return "It is the last hit."
    ahead = hit.score - after.score
    if ahead < TELLS:
        return "Both count the same; the newer stands first."
    weighed = sorted(weigh(hit, after), key=lambda part: -abs(part.difference))
    for_it = [part.name for part in weighed if part.difference >= TELLS]
    against = [part.name for part in weighed if part.difference <= -TELLS]
    words = f"Above the next by {ahead:.3f}, for {_listed(for_it[:2])}"
    return f"{words}, in spite of {_listed(against[:2])}." if against else f"{words}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names) or "many small things"


def scale(weighed: Sequence[Weighed]) -> float:
    """What a whole bar stands for; never 0."""
    return max((abs(v) for part in weighed for v in (part.value, part.other)), default=0.0) or 1.0
