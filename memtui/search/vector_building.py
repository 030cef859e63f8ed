"""Embed the memories of a store that have no vector yet, and index all vectors by slot.

Work that is stopped continues with the next batch later (see `memtui.search.vectors`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from memtui.config import Embedding
from memtui.dataclass import replace
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, stoppable
from memtui.search import documents, saved_rows, vectors
from memtui.search.embedding import (
    Embedder,
    EmbeddingServer,
    PieceCounts,
    StaticModel,
    embedded_text,
    find_files,
)
from memtui.search.nearest_memories import StoreVectors, VectorIndex
from memtui.search.vectors import Keys, StoredVectors, VectorsHeader

BATCH = 512
REMOTE_BATCH = 32
"""Texts between two checks of `cancelled`; at most these are lost if the process dies."""
MAX_NEW_AT_ONCE = 500
"""Changed memories that are embedded immediately after reading."""
COUNT_SAMPLE = 8_000
"""Memories in which pieces are counted; more do not make the frequencies more precise."""
RECOUNT_GROWTH = 1.5
"""Growth of a store after which pieces are counted again and all memories embedded again."""
MAX_ROWS_PER_TEXT = 2
"""With more rows than this for each text, rows without a text are removed."""


def choose_embedder(choice: Embedding) -> Embedder | None:
    """Make the embedder that the settings name; no weights are read yet.

    Args:
        choice: The table `[search.embedding]` of config.toml.

    Returns:
        None where embeddings are off, or where the static model is not installed.

    Raises:
        ConfigError: The settings lack the address or the model of a server.
    """
    if choice.kind == "off":
        return None
    if choice.kind == "static":
        files = find_files()
        return None if files is None else StaticModel(files)
    return EmbeddingServer(choice)


def load_vector_index(homes: Iterable[Path], model: str) -> VectorIndex:
    """Load the vectors of all stores, of no slots yet.

    Args:
        homes: The cache folder of each store; one without usable vectors is left out.
        model: The embedder's name; vectors of another model are not usable.
    """
    stored = (vectors.load(home, model) for home in homes)
    parts = (StoreVectors(one.rows, one.counts, one.keys) for one in stored if one is not None)
    return VectorIndex(tuple(part for part in parts if len(part.keys)))


def extend_index(state: VectorIndex, rows: Sequence[Memory], embedder: Embedder) -> VectorIndex:
    """Return the index with the rows that were added since.

    A text that already has a vector, in whichever store, keeps it. A few new texts are embedded
    immediately if the embedder is local. Raises what `Embedder.embed` raises.

    Args:
        state: The index of the first rows.
        embedder: The one that made the vectors of the index.
    """
    texts = [_read_text(memory) for memory in rows[len(state.row_of) :]]
    keys = vectors.hash_texts(texts)
    stored_keys = np.concatenate([part.keys for part in state.parts])
    found = vectors.find_rows(stored_keys, keys)
    new = np.flatnonzero(found < 0)
    parts = state.parts
    if len(new) and len(new) <= MAX_NEW_AT_ONCE and not embedder.remote:
        counts = parts[-1].counts
        made = embedder.embed([texts[at] for at in new], counts)
        found[new] = len(stored_keys) + np.arange(len(new))
        parts = state.append_part(StoreVectors(made, counts, keys[new], is_saved=False))
    return VectorIndex(parts, np.concatenate([state.row_of, found]))


def embed_missing(
    generation: Path, embedder: Embedder, report: Report, cancelled: IsCancelled = never
) -> tuple[int, int]:
    """Embed what has no vector yet in this process; otherwise as `index_worker.update_vectors`.

    Args:
        embedder: Makes the vectors.
        report: Is given the number of texts embedded.

    Returns:
        How many texts were embedded, and how many different texts there are.

    Raises:
        EmbeddingError, Cancelled, OSError: What was done until then stays.
    """
    home = generation.parent
    rows = saved_rows.load_rows(generation)
    with vectors.locked(home):
        keys = vectors.hash_texts(map(_read_text, stoppable(rows, cancelled)))
        stored = vectors.load(home, embedder.name)
        if stored is not None and not embedder.remote:
            limit = RECOUNT_GROWTH * max(1, stored.header.counted)
            stored = None if stored.counts is None or len(rows) > limit else stored
        needed_keys, first = np.unique(keys, return_index=True)
        if stored is not None:
            stored = _drop_unused_rows(home, stored, needed_keys)
        known_keys = np.empty(0, vectors.KEY) if stored is None else stored.keys
        missing = vectors.find_rows(known_keys, needed_keys) < 0
        todo = np.sort(first[missing])
        counts: PieceCounts | None
        if stored is None:
            sample = range(0, len(rows), max(1, -(-len(rows) // COUNT_SAMPLE)))
            header, counts = None, embedder.counts(_read_text(rows[row]) for row in sample)
        else:
            header, counts = stored.header, stored.counts
        _embed(home, rows, keys, todo, embedder, header, counts, report, cancelled)
    return len(todo), len(needed_keys)


def _drop_unused_rows(home: Path, stored: StoredVectors, needed_keys: Keys) -> StoredVectors:
    """Rewrite the files without unused rows if most rows are unused."""
    if len(stored.keys) <= MAX_ROWS_PER_TEXT * len(needed_keys):
        return stored
    is_used = np.isin(stored.keys, needed_keys)
    header = stored.header
    used = replace(stored, keys=stored.keys[is_used], rows=stored.rows[is_used])
    fresh = vectors.create_files(
        home, header.model, header.size, header.counted, stored.counts, used
    )
    return replace(used, header=fresh)


def _embed(
    home: Path,
    rows: Sequence[Memory],
    keys: Keys,
    todo: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.int64]],
    embedder: Embedder,
    header: VectorsHeader | None,
    counts: PieceCounts | None,
    report: Report,
    cancelled: IsCancelled,
) -> None:
    size = REMOTE_BATCH if embedder.remote else BATCH
    for at in range(0, len(todo), size):
        if cancelled():
            raise Cancelled
        report(Progress("embedding", at, len(todo)))
        batch = todo[at : at + size]
        made = embedder.embed([_read_text(rows[row]) for row in batch], counts, cancelled)
        if header is None or made.shape[1] != header.size:
            # A server may have another model under the old name: its vectors are not mixed.
            header = vectors.create_files(
                home, embedder.name, made.shape[1], len(rows), counts, None
            )
        vectors.append_rows(home, header, keys[np.asarray(batch, np.int64)], made)
    report(Progress("embedding", len(todo), len(todo)))


def _read_text(memory: Memory) -> str:
    return embedded_text(documents.to_document(memory))
