"""Add the cosines of embeddings to the scores of a text search.

    score + weight x best text x cosine

Memories that only the vectors find are added, at most `MAX_ADDED`, none below `MIN_COSINE_SHARE` of
the best and none below a floor, so that a query that nothing answers finds nothing; they never rank
above a memory with all the words. A query of `~words` alone is ranked by cosine alone. Known items
have MRR .526 with the sum and .484 with text alone (`tests.bench.known_item`, weight 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from memtui.query import Term, TermKind
from memtui.search import analysis
from memtui.search.array_types import Floats, Longs, Mask
from memtui.search.index.segments import Segment
from memtui.search.matching import Match
from memtui.search.nearest_memories import find_nearest

MAX_ADDED = 100
"""Memories that vectors may add, the best."""
MIN_COSINE_SHARE = 0.35
"""Share of the best cosine that a memory must reach to be added; .5 loses .02 of hits at 10."""

STATIC_FLOOR = 0.32
"""Cosine of the static model below which a memory without the words is not near. Of 20 questions
about other things (lasagne, mortgages, dinosaurs) 19 have nothing in the sample data at or above
it; of 66 known items of the tuning half 54 reach it."""


def is_meaning(term: Term) -> bool:
    """Whether the term is searched by meaning only."""
    return term.kind is TermKind.MEANING and not term.negated


def text_to_embed(terms: Sequence[Term], segments: Sequence[Segment] = ()) -> str:
    """The text of a query to embed: its `~meaning` terms, else all terms that are looked for.

    Args:
        terms: The terms of the query; excluded ones and patterns are left out, and so is a word
            that is still being typed and is none yet.
        segments: Whose words are known.
    """
    if meant := [term.text for term in terms if is_meaning(term)]:
        return " ".join(meant)
    kinds = (TermKind.WORD, TermKind.PHRASE, TermKind.PREFIX)
    return " ".join(
        term.text
        for term in terms
        if not term.negated
        and term.kind in kinds
        and (term.kind is not TermKind.PREFIX or _is_indexed(term.text, segments))
    )


def _is_indexed(typed: str, segments: Sequence[Segment]) -> bool:
    """Whether the last word of what is typed is a word of one of the segments."""
    words = analysis.list_words(typed)
    return bool(words) and any(segment.terms.find(words[-1]) is not None for segment in segments)


def is_meaning_only(terms: Sequence[Term]) -> bool:
    """Whether all terms that are looked for are searched by meaning."""
    positive = [term for term in terms if not term.negated]
    return bool(positive) and all(map(is_meaning, positive))


def fuse_scores(
    match: Match, cosines: Floats, allowed: Mask, weight: float, floor: float = 0.0
) -> Match:
    """Return a match with the cosines of the vectors added to its scores.

    Args:
        match: The matches by text.
        allowed: The slots that may be added.
        weight: The share of the cosines.
        floor: The cosine from which a slot may be added.
    """
    if weight <= 0 or not len(cosines):
        return match
    match = match.with_slots(_nearest(cosines, allowed, floor))
    best = float(match.text.max(initial=0.0)) or 1.0
    meaning = np.float32(weight * best) * np.maximum(cosines.take(match.slots), 0)
    return replace(match, meaning=meaning.astype(np.float32))


def _nearest(cosines: Floats, allowed: Mask, floor: float) -> Longs:
    near = find_nearest(cosines, allowed, MAX_ADDED)
    best = float(cosines[near[0]]) if len(near) else 0.0
    return near[cosines[near] >= max(floor, MIN_COSINE_SHARE * best)]


def match_by_meaning(cosines: Floats, allowed: Mask, floor: float = 0.0) -> Match:
    """Return the slots nearest to a query by cosine alone, as a match without text scores.

    Args:
        allowed: The slots that may be found.
        floor: The cosine from which a slot is found.
    """
    near = _nearest(cosines, allowed, floor)
    best = float(np.max(cosines, initial=0.0, where=allowed))
    return Match(
        len(allowed),
        near,
        text=np.zeros(len(near), np.float32),
        all_words=np.zeros(len(near), np.bool_),
        meaning=cosines.take(near).astype(np.float32),
        too_far=None if len(near) else best,
    )
