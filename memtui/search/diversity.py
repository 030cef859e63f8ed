"""Choose relevant memories that differ from one another: maximal marginal relevance (MMR).

Carbonell and Goldstein 1998, asked for by the proposal for Engram (issue #168, Capability 5) so
that one topic does not fill the pack. Similarity is the Jaccard share of the words of two texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memtui.search import analysis

RELEVANCE_SHARE = 0.7
"""Lambda: 1 is relevance alone, 0 is novelty alone. The proposal leaves it open."""


@dataclass(frozen=True, slots=True)
class DiverseChoice:
    """A chosen text."""

    at: int
    """Its position in what was given."""
    similarity: float
    """To the most similar text that was chosen before it, 0..1."""
    nearest: int
    """Position of that text; -1 for the first choice."""
    value: float
    """lambda x relevance - (1 - lambda) x similarity, when it was chosen."""


def text_words(text: str) -> frozenset[str]:
    """The words of a text that similarity compares: stems, without function words."""
    found = analysis.list_words(text)
    return frozenset(analysis.stem(word) for word in found if word not in analysis.QUESTION_WORDS)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of common words among all; 0 for two empty sets."""
    common = len(one & other)
    return common / (len(one) + len(other) - common) if common else 0.0


def choose_diverse(
    relevance: Sequence[float],
    words: Sequence[frozenset[str]],
    limit: int,
    share: float = RELEVANCE_SHARE,
) -> list[DiverseChoice]:
    """Choose texts one after the other, each the best by MMR.

    Args:
        relevance: Of each text.
        words: Of each text.
        limit: Most texts.
        share: Lambda.
    """
    left = list(range(len(relevance)))
    nearest = [(-1, 0.0)] * len(relevance)
    chosen: list[DiverseChoice] = []
    while left and len(chosen) < limit:
        values = {at: share * relevance[at] - (1 - share) * nearest[at][1] for at in left}
        best = max(left, key=lambda at: (values[at], -at))
        left.remove(best)
        chosen.append(DiverseChoice(best, nearest[best][1], nearest[best][0], values[best]))
        for at in left:
            similar = jaccard(words[at], words[best])
            if similar > nearest[at][1]:
                nearest[at] = (best, similar)
    return chosen
