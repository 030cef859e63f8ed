"""Text and vectors side by side, for the benchmarks of quality.

Needs `pip install ".[semantic]"`; without it the benchmarks measure text only and say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from memtui.config import Embedding
from memtui.search import analysis, embedding, matching, ranking, vectors
from memtui.search.array_types import Floats
from memtui.search.documents import IndexedDocument
from memtui.search.embedding import Embedder


class Way(NamedTuple):
    """One way to order what was found."""

    name: str
    how: str
    """`text`, `vectors` or `sum`."""
    weight: float = 0.0


TEXT = Way("text only", "text")
VECTORS = Way("vectors only", "vectors")
WEIGHTS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5)
WAYS = (
    TEXT,
    VECTORS,
    *(Way(f"sum, weight {weight}", "sum", weight) for weight in WEIGHTS),
)
CHOSEN = Way("as chosen", "sum", ranking.DEFAULTS.meaning)
TEXT_VARIANTS: list[tuple[str, object, str, object]] = [
    ("question words kept", analysis, "QUESTION_WORDS", frozenset()),
    ("no stemming", analysis, "stem", lru_cache(maxsize=None)(lambda word: word)),
    ("other forms count in full", matching, "OTHER_FORM_WEIGHT", 1.0),
    ("other forms count half", matching, "OTHER_FORM_WEIGHT", 0.5),
    ("K1 0.6", matching, "K1", 0.6),
    ("K1 2.0", matching, "K1", 2.0),
]
"""What else could have been chosen for the text."""


@lru_cache(maxsize=1)
def model() -> Embedder | None:
    """The static model, where it is installed."""
    return vectors.choose_embedder(Embedding())


class Meant:
    """The vectors of one pool, and of what is asked of it."""

    def __init__(self, documents: Sequence[IndexedDocument], embedder: Embedder) -> None:
        texts = [embedding.embedded_text(document) for document in documents]
        self._embedder = embedder
        self._counts = embedder.counts(texts)
        self._rows = embedder.embed(texts, self._counts)

    def cosines(self, text: str) -> Floats:
        return np.asarray(self._rows @ self._embedder.embed([text], self._counts)[0])


@lru_cache(maxsize=8)
def meant(documents: tuple[IndexedDocument, ...]) -> Meant | None:
    """The vectors of these documents; None without the model."""
    embedder = model()
    return None if embedder is None else Meant(documents, embedder)


class Near:
    """Stands for the vectors of a library."""

    floor = 0.0

    def __init__(self, cosines: Floats) -> None:
        self._cosines = cosines

    def cosines(self, *_: object) -> Floats:
        return self._cosines
