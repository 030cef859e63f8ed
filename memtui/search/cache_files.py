"""Creates the files of the cache: readable by their owner only, whatever the umask."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray


def create(path: Path) -> IO[bytes]:
    """A file to write, emptied if it is there. Raises OSError."""
    return open(path, "wb", opener=_private)


def _private(path: str, flags: int) -> int:
    file = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.fchmod(file, 0o600)  # an earlier version may have left it open to others
    return file


def write_text(path: Path, text: str) -> None:
    """Write ASCII text. Raises OSError."""
    with create(path) as file:
        file.write(text.encode("ascii"))


def save_array(path: Path, values: NDArray[Any]) -> None:
    """Write an array in numpy's format. Raises OSError."""
    with create(path) as file:
        np.save(file, values, allow_pickle=False)
