"""Create, check, lock and remove files of the cache.

Files are readable by their owner only, whatever the umask. A folder is trusted if nobody else can
write into it and its files still have the checksums that were noted.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from memtui.sealed_lines import seal, unseal

_CHUNK_BYTES = 1 << 18
"""Read and summed at a time: it stays in the processor's cache."""
_WORD_BYTES = 8
_WORD_MASK = (1 << 64) - 1
_ORDER = 31
"""Multiplies the sum so far, so that chunks in another order have another sum."""


def create(path: Path) -> IO[bytes]:
    """Return a file to write, emptied if it exists. Raises OSError."""
    return open(path, "wb", opener=_private)


def _private(path: str, flags: int) -> int:
    file = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.fchmod(file, 0o600)  # an earlier version may have left it open to others
    return file


def write_text(path: Path, text: str) -> None:
    """Write the ASCII `text` into the file `path`, replacing its content. Raises OSError."""
    with create(path) as file:
        file.write(text.encode("ascii"))


def save_arrays(path: Path, arrays: Iterable[NDArray[Any]]) -> None:
    """Write arrays into the file `path`, one after the other in numpy's format. Raises OSError."""
    with create(path) as file:
        for values in arrays:
            np.save(file, values, allow_pickle=False)


def seal_files(
    header: Path,
    files: Iterable[str],
    about: Mapping[str, Any],
    known: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write a header that makes files of its folder valid, with the checksum of each.

    Args:
        header: Its path; a file that is there is replaced at once.
        files: Names of the files, which are complete, or paths from its folder.
        about: What else it says; the versions with which it must be read among that.
        known: Checksums of files that have not changed since they were noted.

    Raises:
        OSError: It could not be written; the files then belong to no header.
    """
    sums = {name: known.get(name) or checksum(header.parent / name) for name in files}
    draft = header.with_name(f"{header.name}.{os.getpid()}")
    with create(draft) as stream:
        stream.write(seal({**about, "sums": sums}))
    draft.replace(header)


def read_header(header: Path, versions: Mapping[str, Any]) -> dict[str, Any]:
    """Read what `seal_files` wrote, and compare the files with their checksums.

    Raises:
        FileNotFoundError: There is none.
        ValueError: It is damaged, or a file is, or it was written with other versions.
        OSError: A file cannot be read.
    """
    found: dict[str, Any] = unseal(header.read_bytes())
    if {name: found.get(name) for name in versions} != versions:
        raise ValueError("written by another version")
    for name, expected in found["sums"].items():
        if checksum(header.parent / name) != expected:
            raise ValueError(f"{name} is damaged")
    return found


def untrusted_reason(folder: Path) -> str:
    """Return why the folder may not be opened, such as another owner or a link; '' if it may."""
    for path in (folder, *_entries(folder)):
        status = os.lstat(path)
        plain = stat.S_ISREG(status.st_mode) and path != folder
        if not plain and not stat.S_ISDIR(status.st_mode):
            return f"{path.name} is not a plain file or folder"
        if status.st_uid != os.geteuid():
            return f"{path.name} belongs to another user"
        if status.st_mode & 0o022 or (path == folder and status.st_mode & 0o077):
            return f"{path.name} is open to others"
    return ""


def _entries(folder: Path) -> Iterator[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return iter(())
    return (Path(entry.path) for entry in os.scandir(folder))


def checksum(file: Path) -> str:
    """Return size and sum of a file, which detect damage, not forgery. Raises OSError.

    The sum of 64-bit words is ten times as fast as a CRC-32.
    """
    total, size = 0, 0
    piece = memoryview(bytearray(_CHUNK_BYTES))
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as stream:
        while count := stream.readinto(piece):
            words, rest = divmod(count, _WORD_BYTES)
            found = int(np.frombuffer(piece, np.uint64, words).sum())
            found += int.from_bytes(piece[count - rest : count], "little")
            total = (total * _ORDER + found) & _WORD_MASK
            size += count
    return f"{size}:{total:016x}"


@contextmanager
def try_lock(lock: Path) -> Iterator[bool]:
    """Yield whether this file could be locked, until the block ends. Raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(lock, flags, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def remove_tree(path: Path) -> None:
    """Remove a folder, or a link in its place; renamed first, so it is gone at once.

    Raises OSError.
    """
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        import secrets
        import shutil

        aside = path.with_name(f"{path.name}.old-{secrets.token_hex(4)}")
        path.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
