"""Find memories by words that are near in meaning to the words of a query.

For each whole word of the query the nearest words of the index by static vectors are looked for
too. They add a small part to the score, `meaning`, and make no memory one with all words.

On LoCoMo (reported eight conversations) recall@10 is .805 and MRR .600 with it, .799 and .593 with
the cosine of whole texts added, .799 and .597 by text alone; the three numbers below were chosen on
the two tuning conversations (.828; .810; .818).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from memtui.search import analysis, hits
from memtui.search.array_types import Floats, Ints
from memtui.search.embedding import Embedder
from memtui.search.hits import Match, ScoredTerm, Substitution
from memtui.search.matching import K1
from memtui.search.postings import Segment

MAX_NEAR = 16
"""Words looked for with one of the query."""
MIN_COSINE = 0.35
WEIGHT = 0.3
"""Of a near word, times its cosine; a word of the query has 1."""
MIN_CHARS = 3
MAX_ADDED = 100
MAX_INSTEAD = 10
"""Memories with near words alone that are added, the best; the second where no memory has a word of
the query: a handful may be what was meant, a hundred are not."""


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
            worth = found.weights * np.float32(WEIGHT * cosine * rarity)
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
        for at in np.argsort(-cosines)[: 2 * MAX_NEAR].tolist():
            number = int(known.numbers[at])
            is_other = analysis.stem(known.segment.terms[number]) != stem
            if cosines[at] >= MIN_COSINE and is_other and len(found) < MAX_NEAR:
                found.append((number, float(cosines[at])))
        known.near[word] = found
    return known.near[word]
