"""Save the rows of one store, so that a warm start reads no store file.

In the private cache folder, which is always safe to delete, one *generation* folder at a time:

    CURRENT              name of the current generation
    <generation>/
      header.json        versions, the shards with their stamps and numbers of rows, unreadable
                         files, names for the columns, and checksums of the files, as a sealed line
      rows.jsonl         one memory per line; memories with a secret are left out
      columns.npy        arrays, one after the other, see `memtui.search.columns`

A generation is written into a new folder, then named by `CURRENT`, and never changed. Nothing is
pickled. A generation that is damaged in any way (version, checksum, parse error) is treated as
absent: files of a cache are not synced, and a power cut may leave them empty or full of zeros.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import asdict, replace

from memtui import __version__
from memtui.model import Link, Memory, Place, from_record, to_record
from memtui.search import cache_files
from memtui.search.columns import ARRAYS, VOCABULARY_OF, Columns
from memtui.stores.base import Unreadable
from memtui.text import secrets

log = logging.getLogger(__name__)

FORMAT_VERSION = 15
"""Incremented when the files or the meaning of a row change."""

_VERSIONS = {"form": FORMAT_VERSION, "memtui": __version__}
_HEADER, _ROWS, _COLUMNS = "header.json", "rows.jsonl", "columns.npy"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Memory).decode
_OTHER_JSON = b" "
"""The first byte of a row with what msgspec does not take as it is: a lone surrogate, NaN."""


class SavedShard(NamedTuple):
    """A shard whose memories are among the rows, in the order of reading."""

    key: str
    stamp: str
    size: int
    """How many rows it has."""
    unreadable: tuple[Unreadable, ...]
    is_whole: bool
    """False if a memory with a secret was left out; the shard is read again at each start."""


class Generation(NamedTuple):
    """What was saved."""

    folder: Path
    """Also has the search index of exactly these rows."""
    shards: Sequence[SavedShard]
    rows: list[Memory]
    columns: Columns


def encode_row(memory: Memory) -> bytes:
    """Return a memory as one line of JSON, from which `decode_row` makes an equal one."""
    try:
        line = _encode(memory)
        if _decode(line) == memory:
            return line + b"\n"
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError):
        pass  # a value that only the standard library writes
    return _OTHER_JSON + json.dumps(to_record(memory), separators=(",", ":")).encode() + b"\n"


_REPEATED = ("store", "kind", "type", "entity", "importance", "status")


def has_secret(memory: Memory) -> bool:
    """Whether any text of a memory has a secret, which is written into no cache."""
    others = (
        memory.id, memory.title, memory.origin, memory.type, memory.entity, memory.source,
        memory.also_entities, memory.tags, memory.links, memory.also, memory.supersedes,
        memory.superseded_by, memory.extra,
    )  # fmt: skip
    texts: list[str] = []
    _add_texts(texts, others)
    return any(map(secrets.has_secret, (memory.content, "\n".join(texts))))


def _add_texts(texts: list[str], value: Any, name: str = "") -> None:
    """Add the texts of a record; each behind its name, if that may say that it is a secret."""
    if isinstance(value, str):
        texts.append(f"{name}: {value}" if secrets.names_secret(name) else value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _add_texts(texts, item, key)
    elif isinstance(value, list | tuple):
        for item in value:
            _add_texts(texts, item, name)
    elif isinstance(value, Link | Place):
        _add_texts(texts, msgspec.structs.asdict(value))


def save(
    home: Path, shards: Sequence[SavedShard], rows: Iterable[Memory], columns: Columns
) -> Path:
    """Write a new generation, make it the current one, and remove the former one.

    Args:
        home: A private folder (see `memtui.paths.private_folder`).
        shards: In the order of their rows.
        rows: The memories, in the order of reading.
        columns: The columns of these rows.

    Returns:
        The folder of the new generation.

    Raises:
        OSError: The disk is full, or the folder cannot be written; the former generation stays.
    """
    name = os.urandom(6).hex()
    folder, pointer = home / name, home / f"CURRENT.{name}"
    folder.mkdir(mode=0o700)
    try:
        with cache_files.create(folder / _ROWS) as stream:
            stream.writelines(map(encode_row, rows))
        names = _save_columns(folder / _COLUMNS, columns)
        header = {
            **_VERSIONS,
            "names": names,
            "shards": [
                (*shard[:3], [asdict(item) for item in shard.unreadable], shard.is_whole)
                for shard in shards
            ],
        }
        cache_files.seal_files(folder / _HEADER, (_ROWS, _COLUMNS), header)
        cache_files.write_text(pointer, name)
        pointer.replace(home / "CURRENT")
    except BaseException:  # on a full disk, what each attempt leaves would add up
        _remove(folder)
        pointer.unlink(missing_ok=True)
        raise
    for entry in os.scandir(home):  # a process that has read a former generation needs it no more
        if entry.is_dir(follow_symlinks=False) and entry.name != name:
            _remove(entry.path)
    return folder


def _save_columns(path: Path, columns: Columns) -> dict[str, Sequence[str]]:
    """Write the arrays. Returns the names that they number. Raises OSError."""
    columns = replace(columns, place=np.arange(len(columns), dtype=np.float64))
    tagged = columns.tags.values()
    ends = np.cumsum([len(slots) for slots in tagged], dtype=np.int64)
    arrays = (getattr(columns, name) for name in ARRAYS)
    further = (columns.also, ends, np.concatenate([*tagged, ends[:0]]))
    cache_files.save_arrays(path, (*arrays, *further))
    names = {name: getattr(columns, name) for name in VOCABULARY_OF.values()}
    return {**names, "tags": list(columns.tags)}


def _load_columns(path: Path, names: Mapping[str, Sequence[str]], rows: int) -> Columns:
    with path.open("rb") as stream:
        arrays = {name: np.load(stream, allow_pickle=False) for name in ARRAYS}
        also, ends, tagged = (np.load(stream, allow_pickle=False) for _ in range(3))
    if any(len(array) != rows for array in arrays.values()) or also.shape[1:] != (3,):
        raise ValueError("columns and rows disagree")
    vocabularies: dict[str, Any] = {name: tuple(names[name]) for name in VOCABULARY_OF.values()}
    tags = dict(zip(names["tags"], np.split(tagged, ends[:-1]), strict=True)) if len(ends) else {}
    return Columns(**arrays, **vocabularies, tags=tags, also=also)


def _remove(folder: str | Path) -> None:
    import shutil  # here: it imports the modules of three compressed formats

    shutil.rmtree(folder, ignore_errors=True)


def load(home: Path) -> Generation | None:
    """Return the current generation; None if there is none that can be trusted."""
    try:
        folder = home / (home / "CURRENT").read_text(encoding="ascii").strip()
        header = cache_files.read_header(folder / _HEADER, _VERSIONS)
        rows = _read_rows(folder)
        shards = [
            SavedShard(
                key, stamp, count, tuple([Unreadable(**item) for item in unreadable]), is_whole
            )
            for key, stamp, count, unreadable, is_whole in header["shards"]
        ]
        if sum(shard.size for shard in shards) != len(rows):
            raise ValueError("shards and rows disagree")
        columns = _load_columns(folder / _COLUMNS, header["names"], len(rows))
        return Generation(folder, shards, rows, columns)
    except FileNotFoundError:
        return None
    except Exception as error:  # a damaged cache may fail in any way; it is only a cache
        log.warning("cache %s is discarded: %r", home, error)
        _remove(home)
        return None


def load_rows(folder: Path) -> list[Memory]:
    """Return the rows of one generation. Raises almost anything when its files are damaged."""
    cache_files.read_header(folder / _HEADER, _VERSIONS)
    return _read_rows(folder)


def _read_rows(folder: Path) -> list[Memory]:
    known: dict[str, str] = {}
    rows = []
    with (folder / _ROWS).open("rb") as lines:
        for line in lines:
            memory = (
                from_record(json.loads(line)) if line.startswith(_OTHER_JSON) else _decode(line)
            )
            # Texts that many memories have are shared: a quarter of the size of a decoded row.
            for name in _REPEATED:
                text = getattr(memory, name)
                msgspec.structs.force_setattr(memory, name, known.setdefault(text, text))
            file = memory.origin.file
            msgspec.structs.force_setattr(memory.origin, "file", known.setdefault(file, file))
            rows.append(memory)
    return rows
