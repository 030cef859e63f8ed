"""Change two names for each other in one step, so that what was displaced is still in hand.

Linux has `renameat2`, macOS `renamex_np`; where neither works (NFS, some FUSE) an OSError says so
and the caller takes the longer way.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path

MISSING = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
"""What a system answers that knows no exchange."""

_AT_FDCWD = -100
_LINUX_NOREPLACE, _LINUX_EXCHANGE = 1, 2
_MACOS_SWAP, _MACOS_EXCL = 2, 4

_Rename = Callable[[bytes, bytes, int], int]


@functools.cache
def _rename() -> _Rename | None:
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        return getattr(libc, "renamex_np", None)
    renameat2 = getattr(libc, "renameat2", None)
    if renameat2 is None:
        return None

    def rename(old: bytes, new: bytes, flags: int) -> int:
        return int(renameat2(_AT_FDCWD, old, _AT_FDCWD, new, flags))

    return rename


def _call(old: Path, new: Path, flags: int) -> None:
    rename = _rename()
    if rename is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), os.fspath(new))
    if rename(os.fsencode(old), os.fsencode(new), flags):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), os.fspath(new))


def exchange(one: Path, other: Path) -> None:
    """Both names must exist; afterwards each leads to what the other led to."""
    _call(one, other, _MACOS_SWAP if sys.platform == "darwin" else _LINUX_EXCHANGE)


def place(old: Path, new: Path) -> None:
    """Rename to a name that must be free. Raises FileExistsError when it is not."""
    try:
        _call(old, new, _MACOS_EXCL if sys.platform == "darwin" else _LINUX_NOREPLACE)
    except OSError as error:
        if error.errno not in MISSING:
            raise
        os.link(old, new)
        os.unlink(old)
