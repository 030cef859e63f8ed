"""An export to a file or to standard output: the whole of it, or nothing."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from memtui.files.reading import TEMPORARY_MARK


def write_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file by way of a private temporary one. Raises OSError; then nothing is left.

    What is there and is no regular file (a device, a pipe) is written to directly.
    """
    path = Path(os.path.realpath(path))
    if _is_special(path):
        with open(path, "wb", buffering=0) as out:
            for piece in pieces:
                _write(out.fileno(), piece)
        return
    temporary = path.parent / f".{path.name[:100]}{TEMPORARY_MARK}{secrets.token_hex(4)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600)
    try:
        try:
            for piece in pieces:
                _write(descriptor, piece)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_stream(descriptor: int, pieces: Iterable[bytes]) -> None:
    """Write to an open file, such as standard output. Raises OSError."""
    for piece in pieces:
        _write(descriptor, piece)


def _is_special(path: Path) -> bool:
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
