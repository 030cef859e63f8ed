"""A folder as it is to the last byte, so that two looks can be compared."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path


def paths(root: Path) -> Iterator[Path]:
    """The folder and everything in it, links not followed."""
    yield root
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            yield Path(folder, name)


def fingerprint(root: Path) -> dict[str, tuple[object, ...]]:
    """Name -> what stat says (but for the time of the last look) and the hash of the content."""
    return {os.fsdecode(os.fspath(path)): _mark(path) for path in paths(root)}


def _mark(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    content = ""
    if stat.S_ISREG(found.st_mode):
        content = hashlib.sha256(_bytes(path)).hexdigest()
    return (
        found.st_mode,
        found.st_ino,
        found.st_nlink,
        found.st_uid,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        content,
    )


def contents(root: Path, *, beside: bool = False) -> dict[str, bytes]:
    """Every file's bytes by its path in the folder; memtui's own `.memtui` only if asked for."""
    return {
        str(path.relative_to(root)): _bytes(path)
        for path in paths(root)
        if path.is_file() and not path.is_symlink() and (beside or ".memtui" not in path.parts)
    }


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except PermissionError:
        return b"(no right to read it)"


def differences(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Names of files that are not what they were."""
    return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))
