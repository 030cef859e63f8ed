"""Compare the scores of two neighbouring results part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MIN_VISIBLE = 0.0005
"""Smaller values are shown as zero: three decimal places."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result with the parts of its score."""

    headline: str
    place: int
    """Rank in the results, from 1."""
    parts: Mapping[str, float]
    """Name -> value; their sum is the score."""
    near_words: tuple[tuple[str, float], ...] = ()
    """The words that are nearest to the query in meaning, with their cosines."""

    @property
    def score(self) -> float:
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One part of the score of two results."""

    name: str
    value: float
    other: float

    @property
    def difference(self) -> float:
        return self.value - self.other


def compare_parts(hit: Hit, after: Hit | None) -> list[ScorePart]:
    """The parts of both scores, in the order of the first."""
    theirs: Mapping[str, float] = after.parts if after is not None else {}
    return [
        ScorePart(name, hit.parts.get(name, 0.0), theirs.get(name, 0.0))
        for name in _in_order(tuple(hit.parts), tuple(theirs))
    ]


def _in_order(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """Merge two lists of names; where their orders differ, the first wins."""
    names = list(one)
    for at, name in enumerate(other):
        if name not in names:
            before = [names.index(known) for known in other[:at] if known in names]
            names.insert(max(before, default=-1) + 1, name)
    return names


def explain_rank(hit: Hit, after: Hit | None) -> str:
    """One sentence on why a result ranks above the next."""
    if after is None:
        return "This is the last result."
    ahead = hit.score - after.score
    if ahead < MIN_VISIBLE:
        return "Same score as the next result; the newer one comes first."
    weighed = sorted(compare_parts(hit, after), key=lambda part: -abs(part.difference))
    for_it = [part.name for part in weighed if part.difference >= MIN_VISIBLE]
    against = [part.name for part in weighed if part.difference <= -MIN_VISIBLE]
    words = f"Ranks {ahead:.3f} above the next: more for {_listed(for_it[:2])}"
    return f"{words}, less for {_listed(against[:2])}." if against else f"{words}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names) or "several small parts"


def full_bar(weighed: Sequence[ScorePart]) -> float:
    """The value of a full bar; never 0."""
    return max((abs(v) for part in weighed for v in (part.value, part.other)), default=0.0) or 1.0
