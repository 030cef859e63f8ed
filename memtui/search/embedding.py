"""Embedders, which turn text into vectors: the protocol, and a server that config.toml names.

static    the weights in the package wordllama (`pip install memtui[semantic]`)
ollama    an Ollama server            )  only if config.toml names it; text is sent
openai    an OpenAI-compatible server )  nowhere else
off       no vectors

The static model is in `memtui.search.static_model`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memtui.config import Embedding
from memtui.errors import ConfigError, EmbeddingError, MemtuiError
from memtui.progress import Cancelled, IsCancelled, never
from memtui.search.array_types import Floats
from memtui.search.documents import IndexedDocument
from memtui.text import mask_urls

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
    """The text of a memory that is embedded: its title, content and tags."""
    parts = (document.title, document.content[:MAX_TEXT_CHARS], " ".join(document.tags))
    return "\n".join(part for part in parts if part)[:MAX_TEXT_CHARS]


def replace_surrogates(text: str) -> str:
    """Return the text with lone surrogates replaced, which no tokenizer and no server accepts."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def normalize_rows(rows: NDArray[Any]) -> Floats:
    """Return rows scaled to length 1; those of zeros or of no numbers become zeros."""
    rows = np.nan_to_num(np.asarray(rows, np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))


TIME_LIMIT = 60.0
"""Seconds for one batch; a model may have to be loaded first."""
BATCH = 32
MAX_VECTOR_SIZE = 16_384
DEFAULT_URLS = {"ollama": "http://127.0.0.1:11434", "openai": ""}


class EmbeddingServer:
    """An embedding model of a server; an `Embedder`."""

    remote = True

    def __init__(self, choice: Embedding, time_limit: float = TIME_LIMIT) -> None:
        from memtui.json_server import JsonServer  # 15 ms, for those who have a server

        self._server = JsonServer(
            choice.url or DEFAULT_URLS[choice.kind],
            setting="search.embedding",
            error=EmbeddingError,
            time_limit=time_limit,
            key_variable=choice.key_variable,
        )
        if not choice.model:
            raise ConfigError("names the model to ask for", where="search.embedding.model")
        self._kind = choice.kind
        self._model = choice.model
        self._path = "/api/embed" if choice.kind == "ollama" else "/embeddings"
        self.name = mask_urls(f"{choice.kind}:{self._server.url}:{choice.model}")

    def counts(self, texts: Iterable[str]) -> PieceCounts | None:  # noqa: ARG002
        """Return None: a server needs no statistics."""
        return None

    def embed(
        self,
        texts: Sequence[str],
        counts: PieceCounts | None = None,  # noqa: ARG002
        cancelled: IsCancelled = never,
    ) -> Floats:
        """Embed texts in batches.

        Args:
            texts: An empty one is sent as a space, because servers refuse empty texts.
            counts: Is not used.
            cancelled: Is asked before each request.

        Returns:
            One row of length 1 for each text.

        Raises:
            EmbeddingError: The server cannot be reached, or its answer is no table of vectors.
            Cancelled: `cancelled` became true.
        """
        parts = []
        for at in range(0, len(texts), BATCH):
            if cancelled():
                raise Cancelled
            # Servers refuse empty texts; a space means as little.
            batch = [replace_surrogates(text) or " " for text in texts[at : at + BATCH]]
            parts.append(normalize_rows(self._parse_rows(self._post(batch), len(batch))))
        if not parts:
            return np.empty((0, 0), np.float32)
        if len({part.shape[1] for part in parts}) != 1:
            raise self._bad_response("vectors of different lengths")
        return np.concatenate(parts)

    def _post(self, batch: Sequence[str]) -> Any:
        return self._server.post(self._path, {"model": self._model, "input": list(batch)})

    def _parse_rows(self, answer: Any, count: int) -> Floats:
        try:
            if self._kind == "ollama":
                lists = answer["embeddings"]
            else:
                data = sorted(answer["data"], key=lambda one: int(one["index"]))
                lists = [one["embedding"] for one in data]
            rows = np.array(lists, np.float32)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise self._bad_response("an answer without vectors") from None
        if rows.ndim != 2 or len(rows) != count or not 0 < rows.shape[1] <= MAX_VECTOR_SIZE:
            raise self._bad_response(f"vectors of shape {rows.shape} for {count} texts")
        return rows

    def _bad_response(self, what: str) -> MemtuiError:
        return self._server.bad_answer(what, self._path)
