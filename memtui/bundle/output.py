"""An export to a file or to standard output: the whole of it, or nothing.

The temporary file is locked while its process lives, so that the next export into the folder can
tell one that a killed process left behind, and remove it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from memtui.files.reading import TEMPORARY_MARK
from memtui.files.stage import sync

_TEMPORARY = re.compile(rf"\..+{re.escape(TEMPORARY_MARK)}[0-9a-f]{{8}}", re.DOTALL)
"""Names of temporary files of exports; those of saves have a longer number."""
_NO_FOLDER_SYNC = frozenset({errno.EACCES, errno.EINVAL, errno.ENOTSUP})
"""Errors of a folder that may be written but not opened, or of a file system without this."""


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
    _clear_leftovers(path.parent)
    temporary, descriptor = _locked_temporary(path)
    try:
        for piece in pieces:
            _write(descriptor, piece)
        os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    try:
        sync(path.parent)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def _locked_temporary(path: Path) -> tuple[Path, int]:
    """A new private file beside `path`, open and locked. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        name = f".{path.name[:100]}{TEMPORARY_MARK}{secrets.token_hex(4)}"
        descriptor = os.open(path.parent / name, flags, 0o600)
        with contextlib.suppress(OSError):  # no locks here: then nobody can clear it either
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return path.parent / name, descriptor
        os.close(descriptor)  # another export cleared it before it was locked


def _clear_leftovers(folder: Path) -> None:
    """Remove temporary files of exports that were killed: ours by name, owner and lock."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if _TEMPORARY.fullmatch(name):
                with contextlib.suppress(OSError):
                    _clear(folder / name)


def _clear(leftover: Path) -> None:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(leftover, flags)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(leftover)
    finally:
        os.close(descriptor)


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
