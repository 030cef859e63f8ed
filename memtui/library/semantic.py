"""Search by meaning over all open stores: vectors taken from the cache, made, asked.

The vectors of a query are worked out on the spot by a static model. A server is never waited for by
a search: `find` uses what is known, `ponder` asks and says whether asking again would find more.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock, Thread

from memtui.config import Embedding
from memtui.errors import EmbeddingError, MemtuiError
from memtui.library.snapshot import Rows
from memtui.library.store_cache import StoreCache
from memtui.progress import IsCancelled, Progress, Report
from memtui.query import Query, TermKind
from memtui.search import fusion, vector_building, vector_search
from memtui.search.columns import Slots
from memtui.search.embedding import Embedder, Floats
from memtui.search.postings import Segment
from memtui.search.vector_search import VectorIndex

log = logging.getLogger(__name__)

ANSWERS_KEPT = 256
"""Queries whose vectors a server gave: a session's worth."""
_LOOK = 0.02
"""Seconds between two looks at `cancelled` while a server is asked."""
PAUSE = 0.3
"""Seconds that somebody must have stopped typing before a server is asked."""
PATIENCE = 10.0
"""Seconds that a query waits for a server before text alone has to do."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What came of making vectors."""

    made: int
    """Texts that were embedded now."""
    texts: int
    """Different texts there are."""
    model: str


class Meaning:
    """Grows by whole states, so that a search in another thread always sees a sound one."""

    def __init__(self, choice: Embedding) -> None:
        self.choice = choice
        self._lock = Lock()
        self._embedder: Embedder | None = None
        self._chosen = False
        self._answers: dict[str, tuple[Floats, ...]] = {}
        self._last: tuple[VectorIndex, str, Floats] | None = None
        """The last answer: while a word is typed, what is embedded stays the same."""
        self.state = VectorIndex()

    @property
    def embedder(self) -> Embedder | None:
        """The embedder, where there is one. A faulty choice is logged and means none."""
        if not self._chosen:
            try:
                self._embedder = vector_building.choose_embedder(self.choice)
            except MemtuiError as error:
                log.warning("no vectors: %s", error)
            self._chosen = True
        return self._embedder

    # Making

    def take(self, shelves: Sequence[StoreCache], slots: int) -> None:
        """Take the vectors that lie in the cache, for `slots` slots."""
        embedder = self.embedder
        if embedder is None:
            return
        places = [
            (shelf.home, shelf.catalog.folder, shelf.slots_of_catalog())
            for shelf in shelves
            if shelf.home is not None and shelf.catalog is not None
        ]
        self._set(vector_building.load_vector_index(places, embedder.name, slots))

    def cover(self, rows: Rows) -> None:
        """Give slots that came since a vector, where that costs nothing worth waiting for."""
        embedder, state = self.embedder, self.state
        if embedder is None or not state.parts or len(rows) <= len(state.row_of):
            return
        try:
            self._set(vector_building.extend_index(state, rows, embedder))
        except (OSError, ValueError, MemtuiError) as error:
            log.warning("changed memories have no vectors yet: %s", error)

    def renumber(self, kept: Slots) -> None:
        """The rows in these slots are all that the table has now, numbered anew."""
        if len(self.state.row_of):
            self._set(self.state.keep_slots(kept))

    def _set(self, state: VectorIndex) -> None:
        with self._lock:
            self.state = state
            self._answers = {}
            self._last = None

    def embed(self, folder: Path, label: str, report: Report, cancelled: IsCancelled) -> Embedded:
        """Make what is missing of one catalog generation. Raises EmbeddingError, OSError."""
        embedder = self.embedder
        if embedder is None:
            raise EmbeddingError("there is no model", do="pip install memtui[semantic]")

        def report_labelled(progress: Progress) -> None:
            report(replace(progress, what=f"embedding {label}"))

        made, texts = vector_building.build_vectors(folder, embedder, report_labelled, cancelled)
        return Embedded(made, texts, embedder.name)

    # Asking

    def cosines(self, query: Query, segments: Sequence[Segment], slots: int) -> Floats | None:
        """How near each slot is to the query; None where that is not known, or not asked."""
        embedder, state = self.embedder, self.state
        text = self._text(query, segments)
        if embedder is None or not state.parts or not text:
            return None
        last = self._last
        if last is not None and last[:2] == (state, text) and len(last[2]) == slots:
            return last[2]
        asked = self._answers.get(text)
        if asked is None:
            if embedder.remote:
                return None
            asked = self._ask(embedder, state, text)
        if asked is None or len(asked) != len(state.parts):
            return None
        cosines = state.compute_cosines(asked, slots)
        self._last = (state, text, cosines)
        return cosines

    def _text(self, query: Query, segments: Sequence[Segment]) -> str:
        return fusion.text_to_embed(
            query.terms, lambda word: fusion.is_indexed_word(segments, word)
        )

    def _ask(self, embedder: Embedder, state: VectorIndex, text: str) -> tuple[Floats, ...] | None:
        try:
            asked = vector_search.embed_query(embedder, state, text)
        except (OSError, ValueError, MemtuiError) as error:
            log.warning("a query has no vector: %s", error)
            return None
        with self._lock:
            if self.state is state:
                while len(self._answers) >= ANSWERS_KEPT:
                    self._answers.pop(next(iter(self._answers)))
                self._answers[text] = asked
        return asked

    def ponder(self, query: Query, segments: Sequence[Segment], cancelled: IsCancelled) -> bool:
        """Have a server say what the query means; True when that is known now and was not before.

        Returns early when cancelled, or after `PATIENCE`.
        """
        embedder, state = self.embedder, self.state
        text = self._text(query, segments)
        if embedder is None or not embedder.remote or not state.parts or not text:
            return False
        if text in self._answers:
            return False
        typing = any(term.kind is TermKind.PREFIX for term in query.terms)
        for _ in range(int(PAUSE / _LOOK) if typing else 0):
            time.sleep(_LOOK)
            if cancelled():
                return False
        asking = Thread(target=self._ask, args=(embedder, state, text), daemon=True)
        asking.start()
        for _ in range(int(PATIENCE / _LOOK)):
            asking.join(_LOOK)
            if cancelled() or not asking.is_alive():
                break
        return text in self._answers

    def near(self, slot: int, slots: int) -> Floats | None:
        """How near each slot is to this one; None where it has no vector."""
        return vector_search.compare_to_slot(self.state, slot, slots)
