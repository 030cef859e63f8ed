"""Combine the text score with the vectors' cosines into one order.

What the vectors add is one more part of the score, shown by `--explain`. Three methods, measured by
`tests.bench.locomo` and `tests.bench.known_item`:

    sum     text + weight x best text x cosine         keeps the text scores as they are
    rank    1/(k + rank by text) + weight/(k + rank by cosine)      reciprocal rank fusion
    words   no cosines of texts: words near to those of the query (`memtui.search.word_expansion`)

`sum` is the default: known items have MRR .526 with it, .458 with `rank`, .484 with text alone
(weight 1). Values by rank differ so little that other parts, recency above all, outweigh them;
without other parts the two methods are equal (.539 and .538).

Memories that only the vectors find are added, at most `MAX_ADDED`, none below `MIN_COSINE_SHARE` of
the best and none below a floor, so that a query that nothing answers finds nothing; they never rank
above a memory with all the words. A query of `~words` alone is
ranked by cosine alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memtui.query import Term, TermKind
from memtui.search import analysis
from memtui.search.array_types import Floats, Mask
from memtui.search.hits import Match
from memtui.search.postings import Segment
from memtui.search.vector_search import find_nearest

SUM, RANK, WORDS = "sum", "rank", "words"
METHODS = (SUM, RANK)
RANK_CONSTANT = 60
"""k of reciprocal rank fusion, as in Cormack et al. 2009."""
MAX_ADDED = 100
"""Memories that the vectors may add, and ranks that count."""
MIN_COSINE_SHARE = 0.35
"""Share of the best cosine that a memory must reach to be added; .5 loses .02 of hits at 10."""

STATIC_FLOOR = 0.32
"""Cosine of the static model below which a memory without the words is not near. Of 20 questions
about other things (lasagne, mortgages, dinosaurs) 19 have nothing in the sample data at or above
it; of 66 known items of the tuning half 54 reach it."""


def is_meaning(term: Term) -> bool:
    """Whether the term is searched by meaning only."""
    return term.kind is TermKind.MEANING and not term.negated


def text_to_embed(terms: Sequence[Term], known: Callable[[str], bool] | None = None) -> str:
    """The text of a query to embed: its `~meaning` terms, else all terms that are looked for.

    Args:
        terms: The terms of the query; excluded ones and patterns are left out.
        known: Whether a word that is still being typed is complete; None: it counts as complete.
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


def is_indexed_word(segments: Sequence[Segment], typed: str) -> bool:
    """Whether the last word of the text `typed` is a word of one of the `segments`."""
    words = analysis.list_words(typed)
    return bool(words) and any(segment.find_word(words[-1]) is not None for segment in segments)


def is_meaning_only(terms: Sequence[Term]) -> bool:
    """Whether all terms that are looked for are searched by meaning."""
    positive = [term for term in terms if not term.negated]
    return bool(positive) and all(map(is_meaning, positive))


def drop_meaning_terms(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms that are searched as text."""
    return tuple(term for term in terms if not is_meaning(term))


def fuse_scores(
    match: Match,
    cosines: Floats,
    allowed: Mask,
    weight: float,
    method: str = SUM,
    floor: float = 0.0,
) -> Match:
    """Return a match with the cosines of the vectors added to its scores.

    Args:
        match: The matches by text.
        cosines: The cosine of each slot to the query.
        allowed: The slots that may be added.
        weight: The share of the cosines.
        method: One of `METHODS`.
        floor: The cosine from which a slot may be added.
    """
    if weight <= 0 or not len(cosines):
        return match
    near = _nearest(cosines, allowed, floor)
    match = match.with_slots(near)
    if method == RANK:
        return _by_rank(match, near, allowed, weight)
    best = float(match.text.max(initial=0.0)) or 1.0
    meaning = np.float32(weight * best) * np.maximum(cosines.take(match.slots), 0)
    return replace(match, meaning=meaning.astype(np.float32))


def _nearest(cosines: Floats, allowed: Mask, floor: float) -> NDArray[np.int64]:
    near = find_nearest(cosines, allowed, MAX_ADDED)
    best = float(cosines[near[0]]) if len(near) else 0.0
    return near[cosines[near] >= max(floor, MIN_COSINE_SHARE * best)]


def _by_rank(match: Match, near: NDArray[np.int64], allowed: Mask, weight: float) -> Match:
    """Reciprocal ranks instead of scores, scaled so that the first rank is 1."""
    at = np.flatnonzero(allowed.take(match.slots) & (match.text > 0))
    ranked = at[np.lexsort((match.slots.take(at), -match.text.take(at)))]
    text = np.zeros_like(match.text)
    text[ranked] = (RANK_CONSTANT + 1) / (RANK_CONSTANT + 1 + np.arange(len(ranked)))
    by_slot = np.zeros(match.size, np.float32)
    by_slot[near] = weight * (RANK_CONSTANT + 1) / (RANK_CONSTANT + 1 + np.arange(len(near)))
    return replace(match, text=text, meaning=by_slot.take(match.slots))


def match_by_meaning(cosines: Floats, allowed: Mask, floor: float = 0.0) -> Match:
    """Return the slots nearest to a query by cosine alone, as a match without text scores.

    Args:
        cosines: The cosine of each slot to the query.
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
