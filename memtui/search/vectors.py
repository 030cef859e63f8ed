"""Store the vectors of one store in its cache folder, one for each different text.

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
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memtui.dataclass import asdict, dataclass
from memtui.errors import EmbeddingBusy, EmbeddingError
from memtui.search import cache_files
from memtui.search.array_types import Floats, Longs
from memtui.search.embedding import PieceCounts

log = logging.getLogger(__name__)

FORMAT_VERSION = 1
"""Incremented when the files, or the text that is embedded of a memory, change."""
HALF = np.dtype("<f2")
KEY = np.dtype("<u8")

Keys = NDArray[np.uint64]


def hash_texts(texts: Iterable[str]) -> Keys:
    """The key of each text."""
    encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
    digests = (hashlib.blake2b(text, digest_size=KEY.itemsize).digest() for text in encoded)
    return np.frombuffer(b"".join(digests), KEY)


@dataclass(frozen=True, slots=True)
class VectorsHeader:
    """The content of `vectors.json`."""

    form: int
    model: str
    size: int
    """Numbers in a vector."""
    name: str
    counted: int
    """The number of memories when the pieces were counted."""


@dataclass(frozen=True, eq=False)
class StoredVectors:
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
        cache_files.save_array(_file(home, header, "npy"), counts)
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
