"""Semantic search over all open stores: load cached vectors, compute missing ones, compare queries.

A static model embeds a query on the spot. A search never waits for an embedding server: it uses the
embeddings that `embed_query` got before.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Lock, Thread

from msgspec import Struct

from memtui.config import Embedding
from memtui.errors import EmbeddingError, MemtuiError
from memtui.library.snapshot import Rows
from memtui.library.store_cache import StoreCache
from memtui.progress import IsCancelled, Report
from memtui.query import Query, TermKind
from memtui.search import fusion, nearest_memories, vectors
from memtui.search.array_types import Floats
from memtui.search.embedding import Embedder
from memtui.search.index.index_worker import update_vectors
from memtui.search.index.segments import Segment
from memtui.search.nearest_memories import NearWords, VectorIndex

log = logging.getLogger(__name__)

MAX_QUERY_VECTORS = 256
"""Query embeddings from a server that are kept."""
_POLL_SECONDS = 0.02
"""Seconds between two checks of `cancelled` while waiting for a server."""
TYPING_PAUSE = 0.3
"""Seconds without typing before a server is asked."""
ANSWER_TIMEOUT = 10.0
"""Seconds to wait for a server; then the search uses text only."""


class EmbeddingResult(Struct, frozen=True):
    """What `Library.embed` did for one store."""

    made: int
    """Texts embedded now."""
    texts: int
    """Distinct texts in all."""
    model: str


class SemanticSearch:
    """The vectors of all stores; the state is replaced whole, so that searches in other threads
    always see a consistent one."""

    def __init__(self, choice: Embedding) -> None:
        self.choice = choice
        self._lock = Lock()
        self._embedder: Embedder | None = None
        self._was_chosen = False
        self._query_vectors: dict[str, tuple[Floats, ...]] = {}
        self.state = VectorIndex()

    @property
    def embedder(self) -> Embedder | None:
        """The chosen embedder; None where there is none, or where it failed (which is logged)."""
        if not self._was_chosen:
            try:
                self._embedder = vectors.choose_embedder(self.choice)
            except MemtuiError as error:
                log.warning("no vectors: %s", error)
            self._was_chosen = True
        return self._embedder

    @property
    def floor(self) -> float:
        """The cosine below which nothing is near; 0 for a server, whose scale is unknown."""
        embedder = self.embedder
        return 0.0 if embedder is None or embedder.remote else fusion.STATIC_FLOOR

    def load(self, caches: Sequence[StoreCache], rows: Rows) -> None:
        """Load the cached vectors of these rows."""
        if self.embedder is not None:
            homes = (cache.home for cache in caches if cache.home is not None)
            self._set(vectors.load_vector_index(homes, self.embedder.name))
            self.extend_to(rows)

    def extend_to(self, rows: Rows) -> None:
        """Compute the vectors of new slots, where the model is fast enough to wait for."""
        embedder, state = self.embedder, self.state
        if embedder is None or not state.parts or len(rows) <= len(state.row_of):
            return
        try:
            self._set(vectors.extend_index(state, rows, embedder))
        except (OSError, ValueError, MemtuiError) as error:
            log.warning("changed memories have no vectors yet: %s", error)

    def _set(self, state: VectorIndex) -> None:
        with self._lock:
            self.state = state
            self._query_vectors = {}

    def embed(
        self, folder: Path, label: str, report: Report, cancelled: IsCancelled
    ) -> EmbeddingResult:
        """Compute the missing vectors of one generation of rows. Raises EmbeddingError, OSError."""
        embedder = self.embedder
        if embedder is None:
            raise EmbeddingError(
                "there is no model",
                do='pip install ".[semantic]" in a checkout of memtui',
            )

        computed, texts = update_vectors(
            folder,
            embedder,
            lambda progress: report(progress._replace(what=f"embedding {label}")),
            cancelled,
        )
        return EmbeddingResult(computed, texts, embedder.name)

    def cosines(self, query: Query, segments: Sequence[Segment], slots: int) -> Floats | None:
        """Cosine of each slot with the query; None where unknown, or where the query has no text to
        embed."""
        embedder, state = self.embedder, self.state
        if embedder is None or not state.parts:
            return None
        if not (text := fusion.text_to_embed(query.wanted_terms, segments)):
            return None
        vectors = self._query_vectors.get(text)
        if vectors is None:
            if embedder.remote:
                return None
            vectors = self._embed_text(embedder, state, text)
        if vectors is None or len(vectors) != len(state.parts):
            return None
        return state.compute_cosines(vectors, slots)

    def find_near_words(self, query: Query, segments: Sequence[Segment], text: str) -> NearWords:
        """The words of a text that are nearest to the query in meaning, with their cosines.

        Empty without vectors, and for a server's model, which would have to be asked.
        """
        embedder, state = self.embedder, self.state
        query_text = fusion.text_to_embed(query.wanted_terms, segments)
        if embedder is None or embedder.remote or not state.parts or not query_text:
            return ()
        return nearest_memories.find_near_words(embedder, state.parts[0].counts, query_text, text)

    def _embed_text(
        self, embedder: Embedder, state: VectorIndex, text: str
    ) -> tuple[Floats, ...] | None:
        try:
            vectors = nearest_memories.embed_query(embedder, state, text)
        except (OSError, ValueError, MemtuiError) as error:
            log.warning("a query has no vector: %s", error)
            return None
        with self._lock:
            if self.state is state:
                while len(self._query_vectors) >= MAX_QUERY_VECTORS:
                    self._query_vectors.pop(next(iter(self._query_vectors)))
                self._query_vectors[text] = vectors
        return vectors

    def embed_query(
        self, query: Query, segments: Sequence[Segment], cancelled: IsCancelled
    ) -> bool:
        """Get the embedding of the query from the server; True when it is new.

        Returns early when cancelled, or after `ANSWER_TIMEOUT`.
        """
        embedder, state = self.embedder, self.state
        text = fusion.text_to_embed(query.wanted_terms, segments)
        if embedder is None or not embedder.remote or not state.parts or not text:
            return False
        if text in self._query_vectors:
            return False
        typing = any(term.kind is TermKind.PREFIX for term in query.wanted_terms)
        for _ in range(int(TYPING_PAUSE / _POLL_SECONDS) if typing else 0):
            time.sleep(_POLL_SECONDS)
            if cancelled():
                return False
        request = Thread(target=self._embed_text, args=(embedder, state, text), daemon=True)
        request.start()
        for _ in range(int(ANSWER_TIMEOUT / _POLL_SECONDS)):
            request.join(_POLL_SECONDS)
            if cancelled() or not request.is_alive():
                break
        return text in self._query_vectors
