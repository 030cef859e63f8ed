"""Embedders, which turn text into vectors: a static model, and a server that config.toml names.

    static    the weights in the package wordllama (the extra `semantic` of memtui)
    openai    an OpenAI-compatible server, Ollama included; only if config.toml names it, and text
              is sent nowhere else
    off       no vectors

The static model is a table of vectors for pieces of words. Only two files of wordllama are used: a
table of 32,000 x 256 half floats and its tokenizer. The package is found but not imported: its
loader looks in a folder that its wheel lacks and then downloads, and its plain mean of the rows
makes search worse than text alone. Here a piece weighs less the more memories hold it (SIF, Arora
et al. 2017):

    weight = A / (A + p)        p: share of the piece among all pieces of the indexed memories

On LoCoMo this raised recall@10 of the vectors alone from .366 to .468. One core embeds 3,000 texts
a second; a query takes a fifth of a millisecond.
"""

from __future__ import annotations

import importlib.util
import json
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

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
            counts: What `counts` returned for the memories of the store.

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
BATCH_TEXTS = 32
MAX_VECTOR_SIZE = 16_384
OLLAMA_URL = "http://127.0.0.1:11434"
"""Used for `kind = "ollama"` without an address; it answers as OpenAI does below /v1."""
_PATH = "/embeddings"


class EmbeddingServer:
    """An embedding model of a server that speaks OpenAI's API; an `Embedder`."""

    remote = True

    def __init__(self, choice: Embedding, time_limit: float = TIME_LIMIT) -> None:
        from memtui.json_server import JsonServer  # 15 ms, for those who have a server

        url = choice.url
        if choice.kind == "ollama":  # as settings called it before
            url = (url or OLLAMA_URL).rstrip("/").removesuffix("/v1") + "/v1"
        self._server = JsonServer(
            url,
            setting="search.embedding",
            error=EmbeddingError,
            time_limit=time_limit,
            key_variable=choice.key_variable,
        )
        if not choice.model:
            raise ConfigError("names the model to ask for", where="search.embedding.model")
        self._model = choice.model
        self.name = mask_urls(f"openai:{self._server.url}:{choice.model}")

    def counts(self, texts: Iterable[str]) -> PieceCounts | None:  # noqa: ARG002
        """Return None: a server needs no statistics."""
        return None

    def embed(
        self,
        texts: Sequence[str],
        counts: PieceCounts | None = None,  # noqa: ARG002
        cancelled: IsCancelled = never,
    ) -> Floats:
        """Embed texts in batches; an empty one is sent as a space, because servers refuse it."""
        parts = []
        for at in range(0, len(texts), BATCH_TEXTS):
            if cancelled():
                raise Cancelled
            batch = [replace_surrogates(text) or " " for text in texts[at : at + BATCH_TEXTS]]
            answer = self._server.post(_PATH, {"model": self._model, "input": batch})
            parts.append(normalize_rows(self._parse_rows(answer, len(batch))))
        if not parts:
            return np.empty((0, 0), np.float32)
        if len({part.shape[1] for part in parts}) != 1:
            raise self._bad_response("vectors of different lengths")
        return np.concatenate(parts)

    def _parse_rows(self, answer: Any, count: int) -> Floats:
        try:
            data = sorted(answer["data"], key=lambda one: int(one["index"]))
            rows = np.array([one["embedding"] for one in data], np.float32)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise self._bad_response("an answer without vectors") from None
        if rows.ndim != 2 or len(rows) != count or not 0 < rows.shape[1] <= MAX_VECTOR_SIZE:
            raise self._bad_response(f"vectors of shape {rows.shape} for {count} texts")
        return rows

    def _bad_response(self, what: str) -> MemtuiError:
        return self._server.bad_answer(what, _PATH)


WEIGHTS_PACKAGE = "wordllama"
SIF_A = 1e-3
"""Arora et al. use 1e-3 to 1e-4."""
MAX_PIECES = 1024
"""Pieces of one text that are used; later ones of a long document blur its meaning."""
_BATCH = 256
_LONGEST_HEADER = 1 << 20
_KINDS: dict[str, np.dtype[Any]] = {"F16": np.dtype("<f2"), "F32": np.dtype("<f4")}

Tokenize = Callable[[Sequence[str]], list[list[int]]]


class ModelFiles(NamedTuple):
    """The paths of the weights and the tokenizer."""

    weights: Path
    tokenizer: Path


def find_files() -> ModelFiles | None:
    """Return the files in the installed packages; None if one of them is not installed."""
    try:
        found = importlib.util.find_spec(WEIGHTS_PACKAGE)
        reader = importlib.util.find_spec("tokenizers")
    except (ImportError, ValueError):
        return None
    if found is None or reader is None:
        return None
    for folder in map(Path, found.submodule_search_locations or ()):
        weights = sorted((folder / "weights").glob("*_256.safetensors"))
        tokenizers = sorted((folder / "tokenizers").glob("*.json"))
        if weights and tokenizers:
            return ModelFiles(weights[0], tokenizers[0])
    return None


def read_table(file: Path) -> NDArray[Any]:
    """Return the only table of a safetensors file, mapped. Raises OSError or ValueError.

    The file has eight bytes with the length of the header, the header as JSON, then the numbers.
    """
    with file.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8).ljust(8, b"\0"))
        if not 2 <= length <= _LONGEST_HEADER:
            raise ValueError(f"{file}: not a safetensors file")
        header = json.loads(stream.read(length))
    header.pop("__metadata__", None)
    if len(header) != 1:
        raise ValueError(f"{file}: {len(header)} tables where one is wanted")
    (entry,) = header.values()
    kind, shape = _KINDS[entry["dtype"]], tuple(entry["shape"])
    first, end = entry["data_offsets"]
    if len(shape) != 2 or end - first != shape[0] * shape[1] * kind.itemsize:
        raise ValueError(f"{file}: its header does not fit its numbers")
    table: NDArray[Any] = np.memmap(file, kind, "r", 8 + length + first, shape)
    return table


def read_tokenizer(file: Path) -> Tokenize:
    """Return a function that cuts texts into pieces. Raises ImportError or the package's errors."""
    import tokenizers

    cutter = tokenizers.Tokenizer.from_file(str(file))

    def cut(texts: Sequence[str]) -> list[list[int]]:
        if len(texts) == 1:  # a query is faster without the package's threads
            return [cutter.encode(texts[0], add_special_tokens=False).ids]
        encoded = cutter.encode_batch(list(texts), add_special_tokens=False)
        return [one.ids for one in encoded]

    return cut


class StaticModel:
    """The table and its tokenizer, read at first use; an `Embedder` that any thread may use."""

    remote = False

    def __init__(self, files: ModelFiles) -> None:
        self._files = files
        self.name = f"sif:{files.weights.stem}"

    @cached_property
    def _table(self) -> NDArray[Any]:
        return read_table(self._files.weights)

    @cached_property
    def _tokenize(self) -> Tokenize:
        return read_tokenizer(self._files.tokenizer)

    def _pieces(self, texts: Sequence[str]) -> list[list[int]]:
        most = len(self._table)
        return [
            [piece for piece in pieces[:MAX_PIECES] if piece < most]
            for pieces in self._tokenize([replace_surrogates(text) for text in texts])
        ]

    def counts(self, texts: Iterable[str]) -> PieceCounts:
        """Return for each piece in how many of these texts it occurs."""
        counts = np.zeros(len(self._table), np.int32)
        for batch in _batches(texts):
            distinct_pieces = chain.from_iterable(set(pieces) for pieces in self._pieces(batch))
            counts += np.bincount(
                np.fromiter(distinct_pieces, np.int64), minlength=len(counts)
            ).astype(np.int32)
        return counts

    def embed(
        self, texts: Sequence[str], counts: PieceCounts | None, cancelled: IsCancelled = never
    ) -> Floats:
        """Embed texts in batches; without `counts` all pieces weigh the same."""
        weights = piece_weights(np.zeros(len(self._table)) if counts is None else counts)
        parts = [np.empty((0, self._table.shape[1]), np.float32)]
        for batch in _batches(texts):
            if cancelled():
                raise Cancelled
            parts.append(pool_rows(self._pieces(batch), self._table, weights))
        return np.concatenate(parts)


def piece_weights(counts: NDArray[Any]) -> Floats:
    """The weight of each piece; a piece that no memory holds weighs as much as the rarest."""
    floored = np.maximum(counts, 1.0)
    share = floored / max(1.0, float(np.sum(counts)))
    return np.asarray(SIF_A / (SIF_A + share), np.float32)


def pool_rows(pieces: Sequence[Sequence[int]], table: NDArray[Any], weights: Floats) -> Floats:
    """The mean of the `table`'s rows of each text's pieces by `weights`, scaled to length 1."""
    lengths = np.array([len(one) for one in pieces], np.int64)
    rows = np.zeros((len(pieces), table.shape[1]), np.float32)
    nonempty = np.flatnonzero(lengths)
    if len(nonempty):
        ids = np.fromiter(chain.from_iterable(pieces), np.int64, int(lengths.sum()))
        weighted = table[ids].astype(np.float32) * weights[ids, None]
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        rows[nonempty] = np.add.reduceat(weighted, starts[nonempty], axis=0)
    return normalize_rows(rows)


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
