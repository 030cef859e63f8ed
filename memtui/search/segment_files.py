"""Save a segment of the search index in the cache, and load it with its arrays mapped.

A segment lies beside the rows of its generation: `segment.npy` has its arrays, one after the other,
and `segment.json` is their header (`cache_files.seal_files`).
"""

from __future__ import annotations

import logging
import mmap
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memtui import __version__
from memtui.search import analysis, cache_files
from memtui.search.documents import FIELD_WEIGHTS
from memtui.search.postings import Segment, WordList

log = logging.getLogger(__name__)

FORMAT_VERSION = 8
"""Incremented when the arrays or their meaning change."""
_ARRAYS = {
    "indptr": np.int64,
    "starts": np.int64,
    "ids": np.int32,
    "stream": np.int32,
    "first_words": np.int32,
    "stem_ptr": np.int32,
    "stem_terms": np.int32,
    "weights": np.uint8,
}
"""Field of a segment -> its type; large types first, so that all values are aligned in the file."""
_WORDS = ("terms", "stems")
"""Fields with words, which are saved as their bytes, behind the arrays."""
_HEADER, _FILE = "segment.json", "segment.npy"


def _versions() -> dict[str, Any]:
    return {
        "form": FORMAT_VERSION,
        "memtui": __version__,
        "analysis": analysis.VERSION,
        "weights": list(FIELD_WEIGHTS),
        "byteorder": sys.byteorder,
    }


def save_segment(segment: Segment, folder: Path) -> None:
    """Save a complete segment in the folder of the generation whose rows it is of.

    Raises:
        OSError: It could not be written; there is then no segment.
    """
    arrays = (getattr(segment, name) for name in _ARRAYS)
    words = (np.frombuffer(getattr(segment, name).joined, np.uint8) for name in _WORDS)
    draft = folder / f"{_FILE}.{os.getpid()}"
    cache_files.save_arrays(draft, (*arrays, *words))
    draft.replace(folder / _FILE)  # another process may have the former one mapped
    about = {**_versions(), "count": segment.count}
    cache_files.seal_files(folder / _HEADER, [_FILE], about)


def has_segment(folder: Path) -> bool:
    """Whether a segment was saved here; `load_segment` tells whether it can be trusted."""
    return (folder / _HEADER).exists()


def load_segment(folder: Path) -> Segment | None:
    """Load the segment of a generation, its arrays mapped; None if there is none to trust."""
    try:
        header = cache_files.read_header(folder / _HEADER, _versions())
        buffer = _map_file(folder / _FILE)
        values: dict[str, Any] = {
            name: _next_array(buffer, np.dtype(kind)) for name, kind in _ARRAYS.items()
        }
        for name in _WORDS:
            values[name] = WordList(_next_array(buffer, np.dtype(np.uint8)).tobytes())

        def release() -> None:
            """Let the system alone hold the file until it is read again: a search for one letter
            reads 60 MB of the index of a million memories."""
            if hasattr(mmap, "MADV_DONTNEED"):
                buffer.madvise(mmap.MADV_DONTNEED)

        release()
        return Segment(first=0, count=int(header["count"]), release=release, **values)
    except FileNotFoundError:
        return None
    except Exception as error:  # a damaged cache may fail in any way; it is made again
        log.warning("search arrays in %s are discarded: %r", folder, error)
        return None


def _map_file(path: Path) -> mmap.mmap:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)


def _next_array(buffer: mmap.mmap, kind: np.dtype[Any]) -> NDArray[Any]:
    """The array at the position in a mapped file. Raises ValueError if it is of another type."""
    version = np.lib.format.read_magic(buffer)
    shape, fortran, found = np.lib.format.read_array_header_1_0(buffer)
    if version != (1, 0) or fortran or found != kind or len(shape) != 1:
        raise ValueError("not an array of the search index")
    values = np.frombuffer(buffer, kind, shape[0], buffer.tell())
    buffer.seek(values.nbytes, os.SEEK_CUR)
    return values
