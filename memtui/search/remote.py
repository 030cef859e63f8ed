"""Embed texts with a server that config.toml names, by the API of Ollama or OpenAI.

Texts of memories leave the machine here, so nothing is sent unless the person named a server.
Redirects are not followed: they would send texts and key to a server that nobody named.
"""

from __future__ import annotations

import base64
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from http.client import HTTPException
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import numpy as np

from memtui.config import Embedding
from memtui.errors import ConfigError, EmbeddingError
from memtui.progress import Cancelled, IsCancelled, never
from memtui.search.array_types import Floats
from memtui.search.embedding import PieceCounts, normalize_rows, replace_surrogates
from memtui.text import mask_urls, visible

TIME_LIMIT = 60.0
"""Seconds for one batch; a model may have to be loaded first."""
BATCH = 32
MAX_RESPONSE_BYTES = 64 << 20
MAX_VECTOR_SIZE = 16_384
DEFAULT_URLS = {"ollama": "http://127.0.0.1:11434", "openai": ""}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _login(url: str) -> str:
    """The user and password of a URL as Basic credentials; empty if it has none."""
    login, at, _ = urlsplit(url).netloc.rpartition("@")
    return base64.b64encode(unquote_to_bytes(login)).decode("ascii") if at else ""


class EmbeddingServer:
    """An embedding model of a server; an `Embedder`."""

    remote = True

    def __init__(self, choice: Embedding, time_limit: float = TIME_LIMIT) -> None:
        url = (choice.url or DEFAULT_URLS[choice.kind]).rstrip("/")
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
            raise ConfigError(
                "needs the http:// or https:// address of the server",
                where="search.embedding.url",
            )
        if not choice.model:
            raise ConfigError("names the model to ask for", where="search.embedding.model")
        self._login = _login(url)
        url = urlsplit(url)._replace(netloc=urlsplit(url).netloc.rpartition("@")[2]).geturl()
        self._kind = choice.kind
        self._model = choice.model
        self._url = url + ("/api/embed" if choice.kind == "ollama" else "/embeddings")
        self._key_variable = choice.key_variable
        self._time_limit = time_limit
        self._opener = urllib.request.build_opener(_NoRedirect)
        self.name = mask_urls(f"{choice.kind}:{url}:{choice.model}")

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
        body = json.dumps({"model": self._model, "input": list(batch)}).encode("ascii")
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key_variable:
            key = os.environ.get(self._key_variable, "").strip()
            if not key:
                raise EmbeddingError(
                    f"the variable {self._key_variable} with the key is not set", where=self._url
                )
            headers["Authorization"] = f"Bearer {key}"
        elif self._login:
            headers["Authorization"] = f"Basic {self._login}"
        request = urllib.request.Request(self._url, body, headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._time_limit) as answer:
                read = answer.read(MAX_RESPONSE_BYTES + 1)
        except urllib.error.HTTPError as error:
            with error:
                why = visible(error.read(300).decode("utf-8", "replace")).strip()
            raise EmbeddingError(f"status {error.code}: {why}", where=self._url) from None
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise EmbeddingError(
                f"no answer: {visible(str(reason)) or type(reason).__name__}",
                where=self._url,
                do="see [search.embedding] in config.toml",
            ) from None
        if len(read) > MAX_RESPONSE_BYTES:
            raise self._bad_response("too long an answer")
        try:
            return json.loads(read)
        except (ValueError, RecursionError):
            raise self._bad_response("an answer that is not JSON") from None

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

    def _bad_response(self, what: str) -> EmbeddingError:
        return EmbeddingError(f"the server sent {what}", where=self._url)
