"""Text and meaning in one order, as one more part of the score that `--explain` shows.

Two ways, both measured by `tests.bench.locomo` and `tests.bench.known_item`:

    sum     text + weight x best text x cosine         what texts score is kept
    rank    1/(k + place by text) + weight/(k + place by cosine)      reciprocal rank fusion

`sum` is the default: known items in MRR .526 against .458, text alone .484 (weight 1). Places
differ so little in value that whatever else counts, being recent above all, outweighs them; where
nothing else counts the two are alike (.539 and .538).

Memories that only the vectors know join the found ones, as many as `DEPTH` and not below
`NEAR_ENOUGH`, and never above one that holds all the words. A query of `~words` alone is answered
by the cosine alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memtui.query import Term, TermKind
from memtui.search import analysis
from memtui.search.embedding import Floats
from memtui.search.hits import Match
from memtui.search.postings import Segment
from memtui.search.vector_search import nearest

SUM, RANK = "sum", "rank"
WAYS = (SUM, RANK)
K = 60
"""Of reciprocal rank fusion, as Cormack et al. 2009 have it."""
DEPTH = 100
"""Memories that the vectors may add, and places that count."""
NEAR_ENOUGH = 0.35
"""Share of the best cosine that a memory must reach to be added; .5 costs .02 of hits at 10."""

Mask = NDArray[np.bool_]


def is_meaning(term: Term) -> bool:
    return term.kind is TermKind.MEANING and not term.negated


def asked_text(terms: Sequence[Term], known: Callable[[str], bool] | None = None) -> str:
    """What of the terms is embedded: what is asked by meaning, else all that is looked for.

    `known(word)`: whether a word that is still being typed is one already.
    """
    meant = [term.text for term in terms if is_meaning(term)]
    if meant:
        return " ".join(meant)
    words = []
    for term in terms:
        whole = term.kind in (TermKind.WORD, TermKind.PHRASE)
        typed = term.kind is TermKind.PREFIX and (known is None or known(term.text))
        if not term.negated and (whole or typed):
            words.append(term.text)
    return " ".join(words)


def is_word(segments: Sequence[Segment], typed: str) -> bool:
    """Whether what is being typed is a word of some memory already."""
    words = analysis.spine(typed)
    return bool(words) and any(segment.find(words[-1]) is not None for segment in segments)


def only_meaning(terms: Sequence[Term]) -> bool:
    """Nothing is looked for but meaning."""
    positive = [term for term in terms if not term.negated]
    return bool(positive) and all(map(is_meaning, positive))


def without_meaning(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms that are looked for as text."""
    return tuple(term for term in terms if not is_meaning(term))


def fuse(match: Match, cosines: Floats, allowed: Mask, weight: float, way: str = SUM) -> Match:
    """The match with what the vectors add; `allowed`: slots that they may add."""
    if weight <= 0 or not len(cosines):
        return match
    near = _nearest(cosines, allowed)
    match = match.including(near)
    if way == RANK:
        return _by_rank(match, near, allowed, weight)
    best = float(match.text.max(initial=0.0)) or 1.0
    meaning = np.float32(weight * best) * np.maximum(cosines.take(match.slots), 0)
    return replace(match, meaning=meaning.astype(np.float32))


def _nearest(cosines: Floats, allowed: Mask) -> NDArray[np.int64]:
    near = nearest(cosines, allowed, DEPTH)
    best = float(cosines[near[0]]) if len(near) else 0.0
    return near[cosines[near] >= NEAR_ENOUGH * best]


def _by_rank(match: Match, near: NDArray[np.int64], allowed: Mask, weight: float) -> Match:
    """Places instead of values, scaled so that the first place is worth 1."""
    at = np.flatnonzero(allowed.take(match.slots) & (match.text > 0))
    places = at[np.lexsort((match.slots.take(at), -match.text.take(at)))]
    text = np.zeros_like(match.text)
    text[places] = (K + 1) / (K + 1 + np.arange(len(places)))
    by_slot = np.zeros(match.size, np.float32)
    by_slot[near] = weight * (K + 1) / (K + 1 + np.arange(len(near)))
    return replace(match, text=text, meaning=by_slot.take(match.slots))


def meaning_alone(cosines: Floats, allowed: Mask) -> Match:
    """What is near to the query, by nearness only."""
    near = _nearest(cosines, allowed)
    return Match(
        len(allowed),
        near,
        text=np.zeros(len(near), np.float32),
        all_words=np.zeros(len(near), np.bool_),
        meaning=cosines.take(near).astype(np.float32),
    )
