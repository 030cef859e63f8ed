"""What turns text into vectors, whoever does it: one protocol, and the choice between them.

static    the weights that the package wordllama ships (`pip install memtui[semantic]`)
ollama    an Ollama server            )  only where config.toml names it; nothing is sent
openai    an OpenAI-compatible server )  anywhere otherwise
off       no vectors
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memtui.progress import IsCancelled, never
from memtui.search.documents import IndexedDocument

Floats = NDArray[np.float32]
PieceCounts = NDArray[np.int32]


MAX_TEXT_CHARS = 4_000
"""Characters of a memory that are embedded: some 700 words, more than most models read."""


class Embedder(Protocol):
    """Makes vectors of length 1, so that their product is the cosine."""

    name: str
    """Tells models apart: vectors of different ones cannot be compared."""
    remote: bool
    """Texts go to a server and answers take their time."""

    def counts(self, texts: Iterable[str]) -> PieceCounts | None:
        """What must be known of all texts before one is embedded; None where nothing must."""

    def embed(
        self, texts: Sequence[str], counts: PieceCounts | None, cancelled: IsCancelled = never
    ) -> Floats:
        """One row for each text; zeros for a text without words. Raises EmbeddingError, OSError,
        Cancelled.
        """


def embedded_text(document: IndexedDocument) -> str:
    """What is embedded of a memory."""
    parts = (document.title, document.content[:MAX_TEXT_CHARS], " ".join(document.tags))
    return "\n".join(part for part in parts if part)[:MAX_TEXT_CHARS]


def replace_surrogates(text: str) -> str:
    """The text without half characters, which no tokenizer and no server takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def normalize_rows(rows: NDArray[Any]) -> Floats:
    """The rows at length 1; rows of zeros, and rows that are not numbers, become zeros."""
    rows = np.nan_to_num(np.asarray(rows, np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))
