"""The vectors of one store in its cache folder, one for each text, whoever has that text.

    vectors.json         versions, the model, its vectors' length, the name of the files in force
    vectors.lock         held by the one process that writes
    vectors-<name>.f16   half floats, one row for each text
    vectors-<name>.keys  the key of each row: eight bytes of the text's BLAKE2
    vectors-<name>.npy   how many texts hold each piece, where the model wants to know (SIF)

Rows are only ever appended, numbers before keys, so that work that was stopped anywhere goes on
where it stopped, and what is half-written is not seen. The key is made from what is embedded, so an
unchanged memory is never embedded twice, whatever became of its file. Another model, or rows of
which most belong to nothing any more, begin new files; `vectors.json` is renamed last. Nothing is
ever pickled, and whatever is odd means: there are no vectors.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memtui.errors import EmbeddingBusy, EmbeddingError
from memtui.search import cache_files
from memtui.search.embedding import Floats, PieceCounts

log = logging.getLogger(__name__)

FORMAT_VERSION = 1
"""Raised whenever the files, or what is embedded of a memory, change."""
HALF = np.dtype("<f2")
KEY = np.dtype("<u8")

Keys = NDArray[np.uint64]
Longs = NDArray[np.int64]


def hash_text(text: str) -> int:
    """What stands for a text."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY.itemsize)
    return int.from_bytes(digest.digest(), "little")


@dataclass(frozen=True, slots=True)
class VectorsHeader:
    """What `vectors.json` says."""

    form: int
    model: str
    size: int
    """Numbers in a vector."""
    name: str
    counted: int
    """Memories there were when the pieces were counted."""


@dataclass(frozen=True, eq=False)
class StoredVectors:
    """Vectors as they lie in the cache, in memory."""

    head: VectorsHeader
    keys: Keys
    rows: Floats
    counts: PieceCounts | None

    def find(self, keys: Keys) -> Longs:
        """The row of each key; -1 where there is none."""
        return find_rows(self.keys, keys)


def find_rows(held: Keys, keys: Keys) -> Longs:
    """The position of each of these keys among those that are held; -1 where it is not."""
    if not len(held):
        return np.full(len(keys), -1, np.int64)
    order = np.argsort(held, kind="stable")
    at = np.searchsorted(held[order], keys)
    at[at == len(held)] = 0
    rows = order[at]
    return np.where(held[rows] == keys, rows, -1)


def _read_header(home: Path) -> VectorsHeader | None:
    try:
        said = json.loads((home / "vectors.json").read_bytes())
        head = VectorsHeader(**said)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        log.warning("vectors in %s are not used: %r", home, error)
        return None
    sound = head.form == FORMAT_VERSION and isinstance(head.size, int) and 0 < head.size < 1 << 15
    return head if sound and isinstance(head.name, str) and head.name.isalnum() else None


def load(home: Path, model: str) -> StoredVectors | None:
    """The vectors of this model; None where there are none that can be used."""
    head = _read_header(home)
    if head is None or head.model != model:
        return None
    try:
        keys = np.fromfile(_file(home, head, "keys"), KEY)
        halves = np.fromfile(_file(home, head, "f16"), HALF)
        counts = _counts(home, head)
    except (OSError, ValueError, EOFError) as error:
        log.warning("vectors in %s are not used: %r", home, error)
        return None
    whole = min(len(keys), len(halves) // head.size)
    rows = halves[: whole * head.size].astype(np.float32).reshape(whole, head.size)
    return StoredVectors(head, keys[:whole], rows, counts)


def _file(home: Path, head: VectorsHeader, ending: str) -> Path:
    return home / f"vectors-{head.name}.{ending}"


def _counts(home: Path, head: VectorsHeader) -> PieceCounts | None:
    try:
        counts: PieceCounts = np.load(_file(home, head, "npy"), allow_pickle=False)
    except FileNotFoundError:
        return None
    return counts


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Hold the lock for writing vectors in this folder.

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
    kept: StoredVectors | None,
) -> VectorsHeader:
    """Begin new files, with the rows of `kept` in them, and put them in force. Raises OSError."""
    head = VectorsHeader(FORMAT_VERSION, model, size, secrets.token_hex(6), counted)
    if counts is not None:
        cache_files.save_array(_file(home, head, "npy"), counts)
    for ending in ("f16", "keys"):
        _file(home, head, ending).touch(mode=0o600)
    if kept is not None:
        append_rows(home, head, kept.keys, kept.rows)
    said: dict[str, Any] = {name: getattr(head, name) for name in VectorsHeader.__slots__}
    fresh = home / f"vectors-{head.name}.json"
    cache_files.write_text(fresh, json.dumps(said))
    fresh.replace(home / "vectors.json")
    for file in home.glob("vectors-*"):
        if not file.name.startswith(f"vectors-{head.name}."):
            file.unlink(missing_ok=True)
    return head


def append_rows(home: Path, head: VectorsHeader, keys: Keys, rows: Floats) -> None:
    """Add rows; what a former writer left half-done is cut off first. Raises OSError."""
    with (
        _file(home, head, "f16").open("r+b") as numbers,
        _file(home, head, "keys").open("r+b") as names,
    ):
        row = head.size * HALF.itemsize
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


def take_rows(vectors: StoredVectors, at: Sequence[int] | Longs) -> StoredVectors:
    """Only these rows."""
    rows = np.asarray(at, np.int64)
    return StoredVectors(vectors.head, vectors.keys[rows], vectors.rows[rows], vectors.counts)


def load_row_keys(generation: Path) -> Keys | None:
    """The key of each row of a catalog generation, where they were worked out already."""
    try:
        keys: Keys = np.load(generation / "vector_keys.npy", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return keys


def save_row_keys(generation: Path, keys: Keys) -> None:
    """Keep the key of each row beside the rows. Raises OSError."""
    fresh = generation / "vector_keys.new.npy"
    cache_files.save_array(fresh, keys)
    fresh.replace(generation / "vector_keys.npy")
