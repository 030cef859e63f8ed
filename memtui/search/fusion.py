"""Combine the text score with embeddings into one order.

What the vectors add is one more part of the score, shown by `--explain`. Three methods, measured by
`tests.bench.locomo` and `tests.bench.known_item`:

    sum     text + weight x best text x cosine         keeps the text scores as they are
    rank    1/(k + rank by text) + weight/(k + rank by cosine)      reciprocal rank fusion
    words   no cosines of texts: the words of the index that are near to those of the query

`sum` is the default: known items have MRR .526 with it, .458 with `rank`, .484 with text alone
(weight 1). Values by rank differ so little that other parts, recency above all, outweigh them;
without other parts the two methods are equal (.539 and .538).

Memories that only the vectors find are added, at most `MAX_ADDED`, none below `MIN_COSINE_SHARE` of
the best and none below a floor, so that a query that nothing answers finds nothing; they never rank
above a memory with all the words. A query of `~words` alone is ranked by cosine alone.

With `words`, on LoCoMo (reported eight conversations), recall@10 is .805 and MRR .600; .799 and
.593 with the cosine of whole texts added, .799 and .597 by text alone. `MAX_NEAR_WORDS`,
`MIN_COSINE` and `NEAR_WORD_WEIGHT` were chosen on the two tuning conversations (.828; .810; .818).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memtui.dataclass import dataclass, field, replace
from memtui.query import Term, TermKind
from memtui.search import analysis, hits
from memtui.search.array_types import Floats, Ints, Mask
from memtui.search.embedding import Embedder
from memtui.search.hits import Match, ScoredTerm, Substitution
from memtui.search.matching import K1
from memtui.search.nearest_memories import find_nearest
from memtui.search.postings import Segment

SUM, RANK, WORDS = "sum", "rank", "words"
RANK_CONSTANT = 60
"""k of reciprocal rank fusion, as in Cormack et al. 2009."""
MAX_ADDED = 100
"""Memories that vectors or near words may add, the best, and ranks that count."""
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
    return bool(words) and any(segment.find_word(words[-1]) is not None for segment in segments)


def is_meaning_only(terms: Sequence[Term]) -> bool:
    """Whether all terms that are looked for are searched by meaning."""
    positive = [term for term in terms if not term.negated]
    return bool(positive) and all(map(is_meaning, positive))


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
        method: `SUM` or `RANK`.
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


MAX_NEAR_WORDS = 16
"""Words looked for with one of the query."""
MIN_COSINE = 0.35
NEAR_WORD_WEIGHT = 0.3
"""Of a near word, times its cosine; a word of the query has 1."""
MIN_CHARS = 3
MAX_INSTEAD = 10
"""Memories that near words may add where no memory has a word of the query: a handful may be what
was meant, a hundred are not."""


@dataclass(frozen=True)
class WordVectors:
    """The vectors of the words of one segment, and the near words that were looked up."""

    segment: Segment
    numbers: Ints
    """The numbers of the words that say something."""
    vectors: Floats
    near: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    """Word -> numbers and cosines of the words near to it."""


def embed_words(segment: Segment, embedder: Embedder) -> WordVectors:
    """Return the vectors of the words of a `segment`, made by `embedder` at 20,000 a second.

    Raises OSError, ValueError.
    """
    numbers = [at for at, word in enumerate(segment.terms) if _says_something(word)]
    vectors = embedder.embed([segment.terms[at] for at in numbers], None)
    return WordVectors(segment, np.array(numbers, np.int32), vectors)


def _says_something(word: str) -> bool:
    plain = len(word) >= MIN_CHARS and word.isascii() and word.isalpha()
    return plain and word not in analysis.QUESTION_WORDS


def add_near_words(
    match: Match, known: Sequence[WordVectors], embedder: Embedder, weight: float = 1.0
) -> Match:
    """Return the match with the scores of words near to those of the query.

    Memories that only hold such words are added.

    Args:
        match: The matches by text.
        known: The vectors of the words of every segment.
        embedder: Embeds a word of the query.
        weight: A factor for all of it.
    """
    total = sum(term.highest for term in match.terms)
    words = [term for term in match.terms if _says_something(term.word)]
    if not words or weight <= 0:
        return match
    scores = np.zeros(match.size, np.float32)
    for term in words:
        scores += _score_near(term, match.size, known, embedder)
    scores *= np.float32(weight / total)
    if match.is_plain:  # else a phrase or an excluded word may keep a memory out
        limit = MAX_ADDED if len(match.slots) else MAX_INSTEAD
        alone = np.where(match.found, 0, scores)
        best = np.argsort(-alone, kind="stable")[:limit]
        match = match.with_slots(best[alone.take(best) > 0])
    if unknown := [term for term in words if not len(term.hits.slots)]:
        match = _name_near_words(match, unknown, known, embedder)
    return match.changed(meaning=scores.take(match.slots))


def _name_near_words(
    match: Match, terms: Sequence[ScoredTerm], known: Sequence[WordVectors], embedder: Embedder
) -> Match:
    """Say which words were looked for in place of those that no memory has."""
    named: list[Substitution] = []
    for term in terms:
        near: dict[str, float] = {}
        for vectors in known:
            for number, cosine in _find_near(term.word, vectors, embedder):
                near[vectors.segment.terms[number]] = cosine
        if near:
            words = sorted(near, key=lambda word: -near[word])
            some = tuple(words[: hits.MAX_SUBSTITUTES_NAMED])
            named.append(Substitution(term.word, some, len(words)))
    typed = {one.typed for one in named}
    missing = tuple(word for word in match.missing if word.casefold() not in typed)
    marked = (word for one in named for word in one.words)
    return match.changed(
        missing=missing,
        substituted=(*match.substituted, *named),
        words=tuple(dict.fromkeys((*match.words, *marked))),
    )


def _score_near(
    term: ScoredTerm, size: int, known: Sequence[WordVectors], embedder: Embedder
) -> Floats:
    """BM25 of the best near word in each slot that does not have the word itself."""
    scores = np.zeros(size, np.float32)
    for vectors in known:
        for number, cosine in _find_near(term.word, vectors, embedder):
            found = hits.read_terms(vectors.segment, [number])
            count = len(found.slots)
            rarity = math.log1p((size - count + 0.5) / (count + 0.5)) * (K1 + 1)
            worth = found.weights * np.float32(NEAR_WORD_WEIGHT * cosine * rarity)
            worth /= found.weights + np.float32(K1)
            scores[found.slots] = np.maximum(scores.take(found.slots), worth)
    scores[term.hits.slots] = 0
    return scores


def _find_near(word: str, known: WordVectors, embedder: Embedder) -> list[tuple[int, float]]:
    if word not in known.near:
        vector = embedder.embed([word], None)[0]
        cosines = np.einsum("ij,j->i", known.vectors, vector)
        stem = analysis.stem(word)
        found: list[tuple[int, float]] = []
        for at in np.argsort(-cosines)[: 2 * MAX_NEAR_WORDS].tolist():
            number = int(known.numbers[at])
            is_other = analysis.stem(known.segment.terms[number]) != stem
            if cosines[at] >= MIN_COSINE and is_other and len(found) < MAX_NEAR_WORDS:
                found.append((number, float(cosines[at])))
        known.near[word] = found
    return known.near[word]
