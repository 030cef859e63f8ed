"""Lock a file against other memtui processes, by a lock file in memtui's own folder."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memtui.errors import SaveError
from memtui.files.save_hooks import failpoint
from memtui.paths import private_folder

PATIENCE = 10.0
"""Seconds to wait for the lock of another memtui (a save takes milliseconds)."""
PATIENCE_WITH_OTHERS = 2.0
"""Seconds to wait for a program that holds `NAME.lock` beside the file."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.004
"""Seconds between tries."""


def lock_file(path: Path, state: Path) -> Path:
    """Return the lock file of a (resolved) path."""
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
    return state / "locks" / name


@contextmanager
def locked(path: Path, state: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock of a (resolved) file. Raises SaveError after `patience` seconds.

    A `flock` on `NAME.lock` beside the file, as some agents hold, is waited for as well.
    """
    try:
        failpoint("lock")
        private_folder(state / "locks")
        own = os.open(
            lock_file(path, state), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
    except OSError as error:
        raise SaveError(
            f"no lock can be made: {error.strerror}", where=str(path), do="nothing was saved"
        ) from None
    try:
        acquire(own, patience, path, "another memtui is saving it")
        foreign = _open_foreign_lock(path)
        try:
            if foreign is not None:
                acquire(foreign, PATIENCE_WITH_OTHERS, path, "another program has locked it")
            yield
        finally:
            if foreign is not None:
                os.close(foreign)
    finally:
        os.close(own)


def make_foreign_lock(path: Path) -> None:
    """Make `NAME.lock` beside a file, where its program locks that and may just be starting.

    A failure is ignored: saving goes on without it, as it does beside programs that do not lock.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(OSError):
        os.close(os.open(f"{path}.lock", flags, 0o644))


def _open_foreign_lock(path: Path) -> int | None:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
    try:
        return os.open(f"{path}.lock", flags)
    except OSError:
        return None


def acquire(descriptor: int, patience: float, path: Path, why: str) -> None:
    """Lock an open file. Raises SaveError, with `why` after some seconds."""
    until, pause = time.monotonic() + patience, _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                raise SaveError(
                    f"it cannot be locked: {error.strerror}",
                    where=str(path),
                    do="nothing was saved",
                ) from None
        if time.monotonic() > until:
            raise SaveError(why, where=str(path), do="try again")
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
