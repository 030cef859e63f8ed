"""Embed texts with a server that config.toml names, by the API of Ollama or OpenAI."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from memtui.config import Embedding
from memtui.errors import ConfigError, EmbeddingError, MemtuiError
from memtui.json_server import JsonServer
from memtui.progress import Cancelled, IsCancelled, never
from memtui.search.array_types import Floats
from memtui.search.embedding import PieceCounts, normalize_rows, replace_surrogates
from memtui.text import mask_urls

TIME_LIMIT = 60.0
"""Seconds for one batch; a model may have to be loaded first."""
BATCH = 32
MAX_VECTOR_SIZE = 16_384
DEFAULT_URLS = {"ollama": "http://127.0.0.1:11434", "openai": ""}


class EmbeddingServer:
    """An embedding model of a server; an `Embedder`."""

    remote = True

    def __init__(self, choice: Embedding, time_limit: float = TIME_LIMIT) -> None:
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
        return None

    def embed(
        self,
        texts: Sequence[str],
        counts: PieceCounts | None = None,  # noqa: ARG002
        cancelled: IsCancelled = never,
    ) -> Floats:
        """Embed texts in batches. Raises EmbeddingError or Cancelled."""
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
