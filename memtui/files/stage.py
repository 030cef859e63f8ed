"""A hidden folder beside a place, where a whole folder is prepared or thrown away out of sight.

It is named like memtui's temporary files and locked while its process lives. One that a killed
process left behind is taken away by the next memtui that has to do with the place.
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memtui.files.faults import reached
from memtui.files.lock import private_folder
from memtui.files.reading import TEMPORARY_MARK, real

POINTS = ("stage", "fill", "put", "clear")
"""Where a test may break the making or taking away of a folder (see `memtui.files.faults`)."""

_LONGEST = 100
"""Characters of the place's own name in the hidden one."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def stage_for(place: Path) -> Iterator[Path]:
    """A new private folder on the file system of the place, with the mode of an empty one there.

    Taken away at the end, unless it was put in the place. Raises OSError.
    """
    place = real(place)
    private_folder(place.parent)
    clear_leftovers(place)
    reached("stage")
    stage = _hidden(place)
    os.mkdir(stage, 0o700)
    with _locked(stage):
        try:
            if place.is_dir():
                os.chmod(stage, stat.S_IMODE(place.stat().st_mode))
            yield stage
        finally:
            shutil.rmtree(stage, ignore_errors=True)


def put(stage: Path, place: Path) -> None:
    """Put the stage where the place is: missing, or an empty folder. Raises OSError otherwise."""
    place = real(place)
    reached("put")
    try:
        os.rename(stage, place)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        for entry in sorted(stage.iterdir()):  # a mount point cannot be replaced, only filled
            os.rename(entry, place / entry.name)
    sync(place.parent)


@contextmanager
def taken_out(place: Path) -> Iterator[Path]:
    """Take a folder out of its place in one step, and away at the end; yields where it is.

    After an exception it is back in its place. Raises OSError.
    """
    place = real(place)
    clear_leftovers(place)
    hidden = _hidden(place)
    with _locked(place):
        reached("put")
        os.rename(place, hidden)
        try:
            yield hidden
        except BaseException:
            os.rename(hidden, place)
            raise
        sync(place.parent)
        reached("clear")
        shutil.rmtree(hidden)


def clear_leftovers(place: Path) -> None:
    """Take away what killed processes left beside the place: ours by name, owner and lock."""
    place = real(place)
    name = re.compile(re.escape(_prefix(place)) + "[0-9a-f]{8}")
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(place.parent)):
            if name.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _clear(Path(entry.path))


def _clear(folder: Path) -> None:
    if folder.stat().st_uid == os.geteuid():
        with _locked(folder, wait=False):
            shutil.rmtree(folder)


def _prefix(place: Path) -> str:
    return f".{place.name[:_LONGEST]}{TEMPORARY_MARK}"


def _hidden(place: Path) -> Path:
    return place.parent / f"{_prefix(place)}{secrets.token_hex(4)}"


@contextmanager
def _locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a folder, wherever it is moved. Raises OSError."""
    descriptor = os.open(folder, _FOLDER)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


def sync(path: Path) -> None:
    """See a file or the names in a folder on disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
