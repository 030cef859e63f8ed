"""Save a segment of the search index in the cache, and load it with its arrays mapped.

A segment is one file for each array and `segment.json`, which holds versions and checksums and is
renamed into its place last: without it there is no segment.
"""

from __future__ import annotations

import logging
import mmap
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memtui import __version__
from memtui.sealed_lines import seal, unseal
from memtui.search import analysis, cache_files
from memtui.search.documents import FIELD_WEIGHTS
from memtui.search.postings import Segment, WordList

log = logging.getLogger(__name__)

FORMAT_VERSION = 7
"""Incremented when the arrays or their meaning change."""
_ARRAYS = {
    "indptr": np.int64,
    "ids": np.int32,
    "weights": np.uint8,
    "stream": np.int32,
    "starts": np.int64,
    "first_words": np.int32,
    "stem_ptr": np.int32,
    "stem_terms": np.int32,
}
_WORDS = ("terms", "stems")
_HEADER = "segment.json"


def _versions() -> dict[str, Any]:
    return {
        "form": FORMAT_VERSION,
        "memtui": __version__,
        "analysis": analysis.VERSION,
        "weights": list(FIELD_WEIGHTS),
        "byteorder": sys.byteorder,
    }


def save_segment(segment: Segment, folder: Path, stamp: str) -> None:
    """Save a segment in a private folder.

    Args:
        segment: A complete one.
        folder: The folder of the generation.
        stamp: Identifies what was indexed; `load_segment` must be given the same.

    Raises:
        OSError: It could not be written; there is then no segment.
    """
    words = {"terms": segment.terms, "stems": segment.stems}
    arrays = {name: getattr(segment, name) for name in _ARRAYS}
    for name, listed in words.items():
        arrays[name] = np.frombuffer(listed.joined, np.uint8)
    sums = {}
    for name, values in arrays.items():
        cache_files.save_array(folder / f"segment.{name}.npy", values)
        sums[name] = cache_files.sum_bytes(np.ascontiguousarray(values).data)
    header = {**_versions(), "stamp": stamp, "count": segment.count, "sums": sums}
    draft = folder / f"{_HEADER}.draft"
    with cache_files.create(draft) as stream:
        stream.write(seal(header))
    draft.replace(folder / _HEADER)


def has_segment(folder: Path) -> bool:
    """Whether a segment was saved here; `load_segment` tells whether it can be trusted."""
    return (folder / _HEADER).exists()


def load_segment(folder: Path, stamp: str) -> Segment | None:
    """Load a segment from the cache, its arrays mapped.

    Args:
        folder: Where `save_segment` put it.
        stamp: What it was saved with.

    Returns:
        None if there is none with this stamp, or none that can be trusted.
    """
    try:
        header = unseal((folder / _HEADER).read_bytes())
        if {name: header[name] for name in _versions()} != _versions() or header["stamp"] != stamp:
            return None
        sums = header["sums"]
        names = (*_ARRAYS, *_WORDS)
        buffers = {name: _map_array(folder, name) for name in names}
        arrays = {name: _check_array(name, buffers[name], sums[name]) for name in names}
        values: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
        for name in _WORDS:
            values[name] = WordList(arrays[name].tobytes())
        _release(buffers.values())
        return Segment(
            first=0,
            count=int(header["count"]),
            release=lambda: _release([buffers[name] for name in _ARRAYS]),
            **values,
        )
    except FileNotFoundError:
        return None
    except Exception as error:  # a damaged cache may fail in any way; it is made again
        log.warning("search arrays in %s are discarded: %r", folder, error)
        return None


def _map_array(folder: Path, name: str) -> mmap.mmap:
    """Map the file of an array. Raises OSError."""
    path = folder / f"segment.{name}.npy"
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return mmap.mmap(descriptor, os.fstat(descriptor).st_size, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)


def _check_array(name: str, buffer: mmap.mmap, expected: int) -> NDArray[Any]:
    """Return the array of a mapped file. Raises ValueError if its checksum is another."""
    values = _view(buffer, np.dtype(_ARRAYS.get(name, np.uint8)))
    if cache_files.sum_bytes(values.data) != expected:
        raise ValueError(f"{name} is damaged")
    _release([buffer])  # the next one is read
    return values


def _release(buffers: Iterable[mmap.mmap]) -> None:
    """Let the system alone hold these files until they are read again: a search for one letter
    reads 60 MB of the index of a million memories."""
    if hasattr(mmap, "MADV_DONTNEED"):
        for buffer in buffers:
            buffer.madvise(mmap.MADV_DONTNEED)


def _view(buffer: mmap.mmap, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The array in a mapped .npy file. Raises ValueError if it has another type or shape."""
    version = np.lib.format.read_magic(buffer)
    shape, fortran, found = np.lib.format.read_array_header_1_0(buffer)
    if version != (1, 0) or fortran or found != dtype or len(shape) != 1:
        raise ValueError("not an array of the search index")
    return np.frombuffer(buffer, dtype, shape[0], buffer.tell())
