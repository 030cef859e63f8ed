"""The protocol of embedders, which turn text into vectors, and what all of them share.

static    the weights in the package wordllama (`pip install memtui[semantic]`)
ollama    an Ollama server            )  only if config.toml names it; text is sent
openai    an OpenAI-compatible server )  nowhere else
off       no vectors
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memtui.progress import IsCancelled, never
from memtui.search.array_types import Floats
from memtui.search.documents import IndexedDocument

PieceCounts = NDArray[np.int32]


MAX_TEXT_CHARS = 4_000
"""Characters of a memory that are embedded: 700 words, more than most models read."""


class Embedder(Protocol):
    """Turns texts into vectors of length 1, so that their dot product is the cosine."""

    name: str
    """Identifies the model: vectors of different models cannot be compared."""
    remote: bool
    """Whether texts are sent to a server."""

    def counts(self, texts: Iterable[str]) -> PieceCounts | None:
        """The statistics of all texts that `embed` needs; None if it needs none."""

    def embed(
        self, texts: Sequence[str], counts: PieceCounts | None, cancelled: IsCancelled = never
    ) -> Floats:
        """Embed texts.

        Args:
            texts: The texts.
            counts: What `counts` returned for the memories of the store.
            cancelled: Is asked before each batch.

        Returns:
            One row for each text; zeros for a text without words.

        Raises:
            EmbeddingError, OSError, Cancelled
        """


def embedded_text(document: IndexedDocument) -> str:
    """The text that is embedded of a memory: its title, content and tags."""
    parts = (document.title, document.content[:MAX_TEXT_CHARS], " ".join(document.tags))
    return "\n".join(part for part in parts if part)[:MAX_TEXT_CHARS]


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which no tokenizer and no server accepts."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def normalize_rows(rows: NDArray[Any]) -> Floats:
    """Scale rows to length 1; rows of zeros or of values that are not numbers become zeros."""
    rows = np.nan_to_num(np.asarray(rows, np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))
