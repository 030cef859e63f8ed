"""Cache the rows of one store, so that a warm start reads no store file and decodes few rows.

In the private cache folder, which is always safe to delete, one *generation* folder at a time:

    CURRENT              name of the current generation
    <generation>/
      catalog.json       versions, the shards with their stamps and slots, unreadable files,
                         and checksums of the other files, as a sealed line
      rows.jsonl         one memory per line, as `memtui.model.to_record` gives it; memories with a
                         secret are left out
      offsets.npy        where each line starts, and the end
      refs.jsonl         the refs of all rows, `REFS_PER_LINE` in a line
      columns.json .npy  see `memtui.search.columns`

A generation is written into a new folder, then named by `CURRENT`, and never changed. Nothing is
pickled. A catalog that is damaged in any way (version, checksum, parse error) is treated as absent:
files of a cache are not synced, and a power cut may leave them empty or full of zeros.
"""

from __future__ import annotations

import json
import logging
import os
import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from io import BytesIO
from itertools import count as count_from
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np

from memtui import __version__
from memtui.dataclass import asdict, dataclass, replace
from memtui.model import Memory, from_record, to_record
from memtui.sealed_lines import seal, unseal
from memtui.search import cache_files
from memtui.search.columns import ARRAYS, VOCABULARY_OF, Columns
from memtui.stores.base import Unreadable
from memtui.text import secrets

log = logging.getLogger(__name__)

FORMAT_VERSION = 12
"""Incremented when the files or the meaning of a row change."""
ROWS_SCANNED = 1024
"""Rows that are searched at a time: half a megabyte."""
REFS_PER_LINE = 1024
ROWS_KEPT_DECODED = 1024
"""Rows cached as Memory objects, of 2 to 3 KB: twenty-five screens."""


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """The range of one shard's memories in the rows of a catalog, or in the slots of the table."""

    key: str
    stamp: str
    first: int
    count: int
    unreadable: tuple[Unreadable, ...] = ()
    left_out: tuple[int, ...] = ()
    """Positions in the shard of the memories with a secret, which are in no catalog: they are read
    again at each start, and are not in the range."""
    apart: int = -1
    """The first slot of those, once they are in the table."""

    @property
    def slots(self) -> Sequence[int]:
        """The slots of its memories, in the order of reading."""
        cached = range(self.first, self.first + self.count)
        if not self.left_out or self.lacks_rows:
            return cached
        slots = list(cached)
        for slot, at in enumerate(self.left_out, self.apart):
            slots.insert(at, slot)
        return slots

    @property
    def total(self) -> int:
        """How many memories it has, with those that were left out."""
        return self.count + len(self.left_out)

    @property
    def lacks_rows(self) -> bool:
        """Whether the memories that were left out are still to be read."""
        return bool(self.left_out) and self.apart < 0

    @property
    def has_missing_file(self) -> bool:
        """Whether a file of it vanished between scan and read."""
        return bool(self.unreadable) and any(file.gone for file in self.unreadable)


class CatalogRow(NamedTuple):
    """One row as it is written to the file."""

    ref: str
    record: bytes
    """`model.to_record` as ASCII JSON with a newline."""


class CachedRows(Sequence[Memory]):
    """The memories of a catalog, decoded from their file when they are read.

    It is not mapped: a few hundred rows read here and there would keep all of it in memory, since
    the system maps 64 KiB at each.
    """

    def __init__(self, file: Path, offsets: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        self._offsets = offsets
        self._descriptor = self._open(file)
        self._ref_descriptor = self._open(file.with_name(REFS_FILE))
        size = os.fstat(self._descriptor).st_size
        if len(offsets) == 0 or int(offsets[-1]) != size:
            raise ValueError("rows and offsets disagree")
        self._decoded = lru_cache(maxsize=ROWS_KEPT_DECODED)(self._decode)

    def _open(self, file: Path) -> int:
        """A descriptor, since a newer generation may take the place of this one."""
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, descriptor)
        return descriptor

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, index: int) -> Memory: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Memory]: ...
    def __getitem__(self, index: int | slice) -> Memory | Sequence[Memory]:
        if isinstance(index, slice):
            return [self._decoded(i) for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._decoded(index)

    def _decode(self, index: int) -> Memory:
        return from_record(json.loads(self.raw(index)))

    def raw(self, index: int) -> bytes:
        """The line of one row, newline included."""
        start, end = self._offsets[index : index + 2].tolist()
        return os.pread(self._descriptor, end - start, start)

    def line(self, index: int) -> CatalogRow:
        """Return one row as `save` takes it, not decoded."""
        record = self.raw(index)
        return CatalogRow(_ref_in(record), record)

    def ref(self, index: int) -> str:
        """The ref of one row, which is not decoded for it."""
        return _ref_in(self.raw(index))

    def lines(self) -> Iterator[CatalogRow]:
        """Return all rows as `save` takes them."""
        refs = self.find_refs()
        for _, block in self._blocks():
            for record in BytesIO(block):
                yield CatalogRow(next(refs)[1], record)

    def candidates(self, pattern: re.Pattern[bytes]) -> Iterator[int]:
        """The rows in whose line the pattern is found, ascending, a few megabytes at a time."""
        for start, block in self._blocks():
            at = 0
            while found := pattern.search(block, at):
                row = int(np.searchsorted(self._offsets, start + found.start(), side="right")) - 1
                yield row
                at = int(self._offsets[row + 1]) - start

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        """The lines of `ROWS_SCANNED` rows at a time, each with its place in the file."""
        for first in range(0, len(self), ROWS_SCANNED):
            start = int(self._offsets[first])
            end = int(self._offsets[min(first + ROWS_SCANNED, len(self))])
            yield start, os.pread(self._descriptor, end - start, start)

    def find_refs(self, part: str = "") -> Iterator[tuple[int, str]]:
        """The number and the ref of each row whose ref contains this text, ascending."""
        mark = json.dumps(part)[1:-1].encode("ascii")
        for first, line in zip(count_from(0, REFS_PER_LINE), self._ref_lines(), strict=False):
            if mark in line:
                refs = enumerate(json.loads(line), first)
                yield from (found for found in refs if part in found[1]) if part else refs

    def _ref_lines(self) -> Iterator[bytes]:
        at, rest = 0, b""
        while block := os.pread(self._ref_descriptor, 1 << 20, at):
            at += len(block)
            *lines, rest = (rest + block).split(b"\n")
            yield from lines

    def __iter__(self) -> Iterator[Memory]:
        """All memories, without caching them."""
        return (self._decode(index) for index in range(len(self)))


@dataclass(frozen=True)
class Catalog:
    """One generation, opened."""

    folder: Path
    """The folder of the generation, which also has the search index of exactly these rows."""
    shards: tuple[ShardEntry, ...]
    rows: CachedRows
    columns: Columns


CATALOG_FILE = "catalog.json"
REFS_FILE = "refs.jsonl"
_REF_BEGIN = b'{"ref":"'
"""How every record begins: `ref` is the first field of a memory."""


def _ref_in(record: bytes) -> str:
    return str(scanstring(record.decode("ascii"), len(_REF_BEGIN))[0])


_encode = json.JSONEncoder(separators=(",", ":")).encode


def encode_row(memory: Memory) -> CatalogRow:
    """Return a memory as the row that `save` writes."""
    return CatalogRow(memory.ref, _encode(to_record(memory)).encode("ascii") + b"\n")


def has_secret(memory: Memory) -> bool:
    """Whether any text of a memory has a secret, which is written into no cache."""
    others = to_record(memory)
    del others["content"]
    return secrets.has_secret(memory.content) or secrets.has_secret("\n".join(_texts(others)))


def _texts(value: Any, name: str = "") -> Iterator[str]:
    """The texts of a record; each behind its name, if that may say that it is a secret."""
    if isinstance(value, str):
        yield f"{name}: {value}" if secrets.names_secret(name) else value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, key)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, name)


def _save_columns(folder: Path, columns: Columns) -> None:
    names = {name: getattr(columns, name) for name in VOCABULARY_OF.values()}
    names["tags"] = list(columns.tags)
    cache_files.write_text(folder / "columns.json", json.dumps(names))
    for name in ARRAYS:
        cache_files.save_array(folder / f"{name}.npy", getattr(columns, name))
    cache_files.save_array(folder / "also.npy", columns.also)
    for number, slots in enumerate(columns.tags.values()):
        cache_files.save_array(folder / f"tag{number}.npy", slots)


def _load_columns(folder: Path, rows: int) -> Columns:
    names = json.loads((folder / "columns.json").read_bytes())
    arrays = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in ARRAYS}
    if any(len(array) != rows for array in arrays.values()):
        raise ValueError("columns and rows disagree")
    tags = {
        tag: np.load(folder / f"tag{number}.npy", allow_pickle=False)
        for number, tag in enumerate(names["tags"])
    }
    also = np.load(folder / "also.npy", allow_pickle=False)
    if also.shape[1:] != (3,):
        raise ValueError("further entities are not as they are written")
    vocabularies: dict[str, Any] = {name: tuple(names[name]) for name in VOCABULARY_OF.values()}
    return Columns(**arrays, **vocabularies, tags=tags, also=also)


def save(
    home: Path, shards: Sequence[ShardEntry], lines: Iterable[CatalogRow], columns: Columns
) -> Catalog:
    """Write a new generation, make it the current one, and remove the former one.

    Args:
        home: A private folder (see `memtui.paths.private_folder`).
        shards: The range of rows of each shard, in the order of the rows.
        lines: The rows, in the order of reading.
        columns: The columns of these rows.

    Returns:
        The new generation, opened.

    Raises:
        OSError: The disk is full, or the folder cannot be written; the former generation stays.
    """
    columns = replace(columns, place=np.arange(len(columns), dtype=np.int32))
    name = os.urandom(6).hex()
    folder, pointer = home / name, home / f"CURRENT.{name}"
    folder.mkdir(mode=0o700)
    try:
        offsets = _write(folder, shards, lines, columns)
        cache_files.write_text(pointer, name)
        pointer.replace(home / "CURRENT")
    except BaseException:  # on a full disk, what each attempt leaves would add up
        _remove(folder)
        pointer.unlink(missing_ok=True)
        raise
    _remove_other_generations(home, name)
    return Catalog(folder, tuple(shards), CachedRows(folder / "rows.jsonl", offsets), columns)


def _write(
    folder: Path, shards: Sequence[ShardEntry], lines: Iterable[CatalogRow], columns: Columns
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Write all files of a generation. Returns where each row begins. Raises OSError."""
    offsets = _write_rows(folder, lines, len(columns))
    cache_files.save_array(folder / "offsets.npy", offsets)
    _save_columns(folder, columns)
    header = {
        "form": FORMAT_VERSION,
        "memtui": __version__,
        "sums": {file.name: cache_files.checksum(file) for file in sorted(folder.iterdir())},
        "shards": [asdict(replace(shard, apart=-1)) for shard in shards],
    }
    with cache_files.create(folder / CATALOG_FILE) as stream:
        stream.write(seal(header))
    return offsets


def _write_rows(
    folder: Path, lines: Iterable[CatalogRow], count: int
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Write so many rows and their refs. Returns where each row begins. Raises OSError."""
    offsets = np.zeros(count + 1, np.int64)
    refs: list[str] = []
    with (
        cache_files.create(folder / "rows.jsonl") as stream,
        cache_files.create(folder / REFS_FILE) as ref_lines,
    ):
        for number, line in enumerate(lines):
            offsets[number + 1] = offsets[number] + stream.write(line.record)
            refs.append(line.ref)
            if len(refs) == REFS_PER_LINE or number == count - 1:
                ref_lines.write(_encode(refs).encode("ascii") + b"\n")
                refs.clear()
    return offsets


def spill(home: Path, lines: Iterable[CatalogRow], count: int) -> CachedRows:
    """Write rows into files that go when they are closed, so that they take no memory.

    Args:
        home: A private folder.
        lines: The rows.
        count: How many there are.

    Returns:
        The same rows.

    Raises:
        OSError: The disk is full, or the folder cannot be written.
    """
    folder = home / os.urandom(6).hex()
    folder.mkdir(mode=0o700)
    try:
        return CachedRows(folder / "rows.jsonl", _write_rows(folder, lines, count))
    finally:
        _remove(folder)


def _remove(folder: str | Path) -> None:
    import shutil  # here: it imports the modules of three compressed formats

    shutil.rmtree(folder, ignore_errors=True)


def _remove_other_generations(home: Path, name: str) -> None:
    """Remove former generations; a process that has one open can still read it."""
    for entry in os.scandir(home):
        is_in_use = entry.name == name or entry.name.startswith("whoosh")
        if entry.is_dir(follow_symlinks=False) and not is_in_use:
            _remove(entry.path)


def load(home: Path) -> Catalog | None:
    """Return the current generation, opened; None if there is none that can be trusted."""
    try:
        folder = home / (home / "CURRENT").read_text(encoding="ascii").strip()
        return load_generation(folder)
    except FileNotFoundError:
        return None
    except Exception as error:  # a damaged cache may fail in any way; it is only a cache
        log.warning("cache %s is discarded: %r", home, error)
        _remove(home)
        return None


def load_generation(folder: Path) -> Catalog:
    """Return one generation, opened. Raises almost anything when its files are damaged."""
    header = unseal((folder / CATALOG_FILE).read_bytes())
    if (header["form"], header["memtui"]) != (FORMAT_VERSION, __version__):
        raise ValueError("written by another version")
    for name, expected in header["sums"].items():
        if cache_files.checksum(folder / name) != expected:
            raise ValueError(f"{name} is damaged")
    shards = tuple(
        ShardEntry(
            shard["key"],
            shard["stamp"],
            shard["first"],
            shard["count"],
            tuple([Unreadable(**item) for item in shard["unreadable"]]),
            tuple(map(int, shard["left_out"])),
        )
        for shard in header["shards"]
    )
    offsets = np.load(folder / "offsets.npy", allow_pickle=False)
    rows = CachedRows(folder / "rows.jsonl", offsets)
    if sum(shard.count for shard in shards) != len(rows):
        raise ValueError("shards and rows disagree")
    return Catalog(folder, shards, rows, _load_columns(folder, len(rows)))
