"""Write a file or a whole folder under a hidden name, so that it appears in one step.

A file that a person names (an export, a pack) is written in a hidden folder beside its place and
renamed to it. A folder is made under the hidden name; an empty one in its place is replaced by the
rename.

The hidden folder is named like memtui's temporary files and locked while its process lives. One
that a killed process left behind is removed by the next memtui that writes the same.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memtui.errors import SaveError
from memtui.files.atomic_replace import rename_to_free, sync, write_error_text
from memtui.files.reading import TEMPORARY_MARK, real_path
from memtui.files.save_hooks import failpoint
from memtui.paths import private_folder

FAILPOINTS = ("stage", "fill", "put")
"""Failpoints of making a folder (see `memtui.files.save_hooks`)."""

_LONGEST = 200
"""Bytes of the folder's own name in the hidden one."""
_MAX_TRIES = 5
"""Folders made in turn, where a memtui that clears up takes each for a leftover before it is
locked."""
_MOVING = "-moving"
"""Suffix of a folder that a memtui of before was removing: it belongs in its place."""


@contextmanager
def new_stage(place: Path) -> Iterator[Path]:
    """Make a private staging directory beside the place, and yield it.

    It is removed at the end, unless it was moved into place. Raises OSError.
    """
    place = real_path(place)
    private_folder(place.parent)
    clear_leftovers(place)
    failpoint("stage")
    stage, lock = _make_locked(place)
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        os.close(lock)


def _make_locked(place: Path) -> tuple[Path, int]:
    """Make a hidden folder; return it and a descriptor that holds its lock, which moves with it.

    A folder of which another memtui, which clears up, has the lock is about to be removed. Nothing
    waits for that: another is made. Raises OSError.
    """
    for _ in range(_MAX_TRIES):
        stage = _hidden(place)
        os.mkdir(stage, 0o700)
        with contextlib.suppress(FileNotFoundError, BlockingIOError):
            descriptor = _open_folder(stage)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise
            except OSError:  # a disk without locks: nobody else can lock it to clear it either
                pass
            if stage.exists():
                return stage, descriptor
            os.close(descriptor)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), os.fspath(place))


def move_into_place(stage: Path, place: Path) -> None:
    """Rename the stage to the place, which is an empty folder or does not exist.

    Raises OSError; then the stage is as it was, with what another program wrote in it meanwhile.
    """
    place = real_path(place)
    existed = place.is_dir()
    if existed:
        os.chmod(stage, stat.S_IMODE(place.stat().st_mode))
    failpoint("put")
    os.rename(stage, place)
    try:
        sync(place.parent)
    except BaseException:
        os.rename(place, stage)
        if existed:
            place.mkdir()
        raise


def is_hidden(name: str, place: Path) -> bool:
    """Whether a folder of this name, in the place or beside it, is a staging directory."""
    return bool(re.fullmatch(f"{re.escape(_prefix(place))}[0-9a-f]{{8}}({_MOVING})?", name))


def clear_leftovers(place: Path) -> None:
    """Remove staging directories of killed processes: ours by name and owner, and not locked."""
    place = real_path(place)
    for folder in (place.parent, place):
        with contextlib.suppress(OSError):
            for entry in list(os.scandir(folder)):
                if is_hidden(entry.name, place) and entry.is_dir(follow_symlinks=False):
                    with contextlib.suppress(OSError):
                        _clear(Path(entry.path), place)


def _clear(hidden: Path, place: Path) -> None:
    if hidden.stat().st_uid != os.geteuid():
        return
    descriptor = _open_folder(hidden)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not hidden.name.endswith(_MOVING):
            shutil.rmtree(hidden)
        elif hidden.parent != place:
            rename_to_free(hidden, place)
    finally:
        os.close(descriptor)


def _open_folder(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _prefix(place: Path) -> str:
    return f".{os.fsdecode(os.fsencode(place.name)[:_LONGEST])}{TEMPORARY_MARK}"


def _hidden(place: Path) -> Path:
    return place.parent / f"{_prefix(place)}{secrets.token_hex(4)}"


# ---- files ---------------------------------------------------------------------------------------


READER_SECONDS, READER_PAUSE = 10.0, 0.02
"""How long a pipe without a reader is waited for, and between two tries."""
_NO_FOLDER_SYNC = frozenset({errno.EACCES, errno.EINVAL, errno.ENOTSUP})
"""Errors of a folder that cannot be opened, or of a file system that cannot sync folders."""


def write_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Write `pieces` to a temporary file that replaces `path`; a device or pipe gets them directly.

    Raises:
        SaveError: the file cannot be written; it is then unchanged.
        BrokenPipeError: nobody reads the pipe any more.
    """
    with _write_errors(str(path)):
        _write_file(Path(os.path.realpath(path)), pieces)


def write_standard_output(pieces: Iterable[bytes]) -> None:
    """Write `pieces` to standard output. Raises SaveError or BrokenPipeError."""
    with _write_errors("standard output"):
        sys.stdout.flush()
        _write(sys.stdout.fileno(), pieces)


@contextmanager
def _write_errors(where: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise SaveError(f"not written: {write_error_text(error)}", where=where) from error


def _write_file(path: Path, pieces: Iterable[bytes]) -> None:
    if _is_special(path):
        with open(_open_special(path), "wb", buffering=0) as out:
            _write(out.fileno(), pieces)
        return
    os.stat(path.parent)  # no folder is made
    with new_stage(path) as stage:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(stage / path.name, flags, 0o600)
        try:
            _write(descriptor, pieces)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(stage / path.name, path)
    try:
        sync(path.parent)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def _open_special(path: Path) -> int:
    """Open a device, or a pipe once somebody reads it. Raises OSError where nobody does for some
    seconds."""
    until = time.monotonic() + READER_SECONDS
    while True:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > until:
                raise
            time.sleep(READER_PAUSE)
        else:
            os.set_blocking(descriptor, True)
            return descriptor


def _is_special(path: Path) -> bool:
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _write(descriptor: int, pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]
