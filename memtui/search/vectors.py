"""The vectors of memories: made, stored in the cache folder of each store, and indexed by slot.

A store has one vector for each different text:

    vectors.json         versions, the model, the length of a vector, the name of the current files
    vectors.lock         held by the process that writes
    vectors-<name>.f16   half floats, one row for each text
    vectors-<name>.keys  the key of each row: eight bytes of the text's BLAKE2
    vectors-<name>.npy   how many texts hold each piece, if the model needs it (SIF)

Rows are only appended, numbers before keys, so that interrupted work can continue where it stopped
and a half-written row is never read. The key is computed from the text that is embedded, so an
unchanged memory is never embedded twice, even if its file changes. For another model, or when most
rows are unused, new files are started; `vectors.json` is renamed last. Nothing is pickled, and
files that are damaged in any way are treated as absent.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from memtui.config import Embedding
from memtui.errors import EmbeddingBusy, EmbeddingError
from memtui.model import Memory
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, stoppable
from memtui.search import cache_files, documents, saved_rows
from memtui.search.array_types import Floats, Keys, Longs
from memtui.search.embedding import (
    Embedder,
    EmbeddingServer,
    PieceCounts,
    StaticModel,
    embedded_text,
    find_files,
)
from memtui.search.nearest_memories import StoreVectors, VectorIndex

log = logging.getLogger(__name__)

FORMAT_VERSION = 1
"""Incremented when the files, or the text that is embedded of a memory, change."""
HALF = np.dtype("<f2")
KEY = np.dtype("<u8")


def hash_texts(texts: Iterable[str]) -> Keys:
    """The key of each text."""
    encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
    digests = (hashlib.blake2b(text, digest_size=KEY.itemsize).digest() for text in encoded)
    return np.frombuffer(b"".join(digests), KEY)


class VectorsHeader(Struct, frozen=True):
    """The content of `vectors.json`."""

    form: int
    model: str
    size: int
    """Numbers in a vector."""
    name: str
    counted: int
    """The number of memories when the pieces were counted."""


class StoredVectors(Struct, frozen=True, eq=False):
    """The vectors of one store, loaded."""

    header: VectorsHeader
    keys: Keys
    rows: Floats
    counts: PieceCounts | None


def find_rows(stored_keys: Keys, keys: Keys) -> Longs:
    """The position of each of `keys` in `stored_keys`; -1 if it is not there."""
    if not len(stored_keys):
        return np.full(len(keys), -1, np.int64)
    order = np.argsort(stored_keys, kind="stable")
    at = np.searchsorted(stored_keys[order], keys)
    at[at == len(stored_keys)] = 0
    rows = order[at]
    return np.where(stored_keys[rows] == keys, rows, -1)


def _read_header(home: Path) -> VectorsHeader | None:
    try:
        values = json.loads((home / "vectors.json").read_bytes())
        header = VectorsHeader(**values)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        log.warning("vectors in %s are not used: %r", home, error)
        return None
    sound = (
        header.form == FORMAT_VERSION and isinstance(header.size, int) and 0 < header.size < 1 << 15
    )
    return header if sound and isinstance(header.name, str) and header.name.isalnum() else None


def load(home: Path, model: str) -> StoredVectors | None:
    """Return the vectors of a `model` in the cache folder `home`; None if none can be used."""
    header = _read_header(home)
    if header is None or header.model != model:
        return None
    try:
        keys = np.fromfile(_file(home, header, "keys"), KEY)
        halves = np.fromfile(_file(home, header, "f16"), HALF)
        counts = _counts(home, header)
    except (OSError, ValueError, EOFError) as error:
        log.warning("vectors in %s are not used: %r", home, error)
        return None
    whole = min(len(keys), len(halves) // header.size)
    rows = halves[: whole * header.size].astype(np.float32).reshape(whole, header.size)
    return StoredVectors(header, keys[:whole], rows, counts)


def _file(home: Path, header: VectorsHeader, ending: str) -> Path:
    return home / f"vectors-{header.name}.{ending}"


def _counts(home: Path, header: VectorsHeader) -> PieceCounts | None:
    try:
        counts: PieceCounts = np.load(_file(home, header, "npy"), allow_pickle=False)
    except FileNotFoundError:
        return None
    return counts


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Yield while the lock for writing vectors in this folder is held.

    Raises:
        EmbeddingBusy: Another process holds it.
        EmbeddingError: The folder cannot be written.
    """
    with ExitStack() as stack:
        try:
            is_free = stack.enter_context(cache_files.try_lock(home / "vectors.lock"))
        except OSError as error:
            raise EmbeddingError(f"cannot be written: {error.strerror}", where=str(home)) from None
        if not is_free:
            raise EmbeddingBusy("another memtui is making these vectors now")
        yield


def create_files(
    home: Path,
    model: str,
    size: int,
    counted: int,
    counts: PieceCounts | None,
    initial: StoredVectors | None,
) -> VectorsHeader:
    """Start new files, make them current, and remove the others.

    Args:
        model: The name of the embedder.
        size: The length of a vector.
        counted: Of how many memories `counts` are.
        counts: The statistics that the model needs; None if it needs none.
        initial: Rows to begin with.

    Returns:
        The header that names the files.

    Raises:
        OSError: A file cannot be written.
    """
    import secrets

    header = VectorsHeader(FORMAT_VERSION, model, size, secrets.token_hex(6), counted)
    if counts is not None:
        cache_files.save_arrays(_file(home, header, "npy"), [counts])
    for ending in ("f16", "keys"):
        _file(home, header, ending).touch(mode=0o600)
    if initial is not None:
        append_rows(home, header, initial.keys, initial.rows)
    fresh = home / f"vectors-{header.name}.json"
    cache_files.write_text(fresh, json.dumps(asdict(header)))
    fresh.replace(home / "vectors.json")
    for file in home.glob("vectors-*"):
        if not file.name.startswith(f"vectors-{header.name}."):
            file.unlink(missing_ok=True)
    return header


def append_rows(home: Path, header: VectorsHeader, keys: Keys, rows: Floats) -> None:
    """Append vectors to the current files, after removing a half-written one. Raises OSError.

    Args:
        header: Names the files.
        keys: The key of each row.
    """
    with (
        _file(home, header, "f16").open("r+b") as numbers,
        _file(home, header, "keys").open("r+b") as names,
    ):
        row = header.size * HALF.itemsize
        whole = min(_size(numbers) // row, _size(names) // KEY.itemsize)
        numbers.truncate(whole * row)
        names.truncate(whole * KEY.itemsize)
        numbers.seek(0, os.SEEK_END)
        names.seek(0, os.SEEK_END)
        numbers.write(rows.astype(HALF).tobytes())
        numbers.flush()
        names.write(keys.astype(KEY).tobytes())


def _size(stream: Any) -> int:
    return os.fstat(stream.fileno()).st_size


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
    stored = (load(home, model) for home in homes)
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
    keys = hash_texts(texts)
    stored_keys = np.concatenate([part.keys for part in state.parts])
    found = find_rows(stored_keys, keys)
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
    with locked(home):
        keys = hash_texts(map(_read_text, stoppable(rows, cancelled)))
        stored = load(home, embedder.name)
        if stored is not None and not embedder.remote:
            limit = RECOUNT_GROWTH * max(1, stored.header.counted)
            stored = None if stored.counts is None or len(rows) > limit else stored
        needed_keys, first = np.unique(keys, return_index=True)
        if stored is not None:
            stored = _drop_unused_rows(home, stored, needed_keys)
        known_keys = np.empty(0, KEY) if stored is None else stored.keys
        missing = find_rows(known_keys, needed_keys) < 0
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
    fresh = create_files(home, header.model, header.size, header.counted, stored.counts, used)
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
            header = create_files(home, embedder.name, made.shape[1], len(rows), counts, None)
        append_rows(home, header, keys[np.asarray(batch, np.int64)], made)
    report(Progress("embedding", len(todo), len(todo)))


def _read_text(memory: Memory) -> str:
    return embedded_text(documents.to_document(memory))
