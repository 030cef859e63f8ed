"""Prepare or remove a whole folder in a hidden staging directory, so that it appears in one step.

The staging directory of a folder that does not exist yet lies beside it and is renamed to it. An
existing folder stays the same folder, since it may be a mount point or the working directory of a
shell: its staging directory lies inside, and entries are moved between the two. Meanwhile the name
ends in `-moving`, which means that its entries belong in the folder, so that after a kill the next
memtui moves the rest.

A staging directory is named like memtui's temporary files and locked while its process lives. One
that a killed process left behind is removed by the next memtui that uses the folder.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memtui.files.reading import TEMPORARY_MARK, real_path
from memtui.files.save_hooks import failpoint
from memtui.paths import private_folder

FAILPOINTS = ("stage", "fill", "put", "move", "clear")
"""Failpoints of making and removing a folder (see `memtui.files.save_hooks`)."""

_LONGEST = 200
"""Bytes of the folder's own name in the hidden one."""
_MOVING = "-moving"
"""Suffix of a staging directory whose entries belong in the folder."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def new_stage(place: Path) -> Iterator[Path]:
    """Make a private staging directory on the file system of the place, and yield it.

    It is removed at the end, unless it was moved into place. Raises OSError.
    """
    place = real_path(place)
    private_folder(place.parent)
    clear_leftovers(place)
    failpoint("stage")
    stage = _hidden(place, place if place.is_dir() else place.parent)
    os.mkdir(stage, 0o700)
    with _locked(stage):
        try:
            yield stage
        finally:
            shutil.rmtree(stage, ignore_errors=True)


def move_into_place(stage: Path, place: Path) -> None:
    """Rename the stage to the place or, if that exists and is empty, move its entries there.

    Raises OSError; then the stage is as it was.
    """
    place = real_path(place)
    failpoint("put")
    if stage.parent != place:
        os.rename(stage, place)
        sync(place.parent)
        return
    _require_alone(stage, place)
    moving = _renamed(stage, stage.name + _MOVING)
    try:
        _move_all(moving, place)
    except BaseException:
        os.rename(moving, stage)
        raise
    sync(place)
    os.rmdir(moving)


@contextmanager
def removing_folder(place: Path) -> Iterator[Path]:
    """Hide a folder in one step and delete it at the end; yields where it is meanwhile.

    After an exception it is back in its place. Raises OSError.
    """
    place = real_path(place)
    clear_leftovers(place)
    hidden = _hidden(place, place.parent)
    with _locked(place):
        failpoint("put")
        os.rename(place, hidden)
        try:
            yield hidden
        except BaseException:
            os.rename(hidden, place)
            raise
        sync(place.parent)
        failpoint("clear")
        shutil.rmtree(hidden)


@contextmanager
def emptying_folder(place: Path) -> Iterator[Path]:
    """As `removing_folder` for all entries of a folder; the folder itself stays."""
    place = real_path(place)
    clear_leftovers(place)
    hidden = _hidden(place, place)
    moving = hidden.with_name(hidden.name + _MOVING)
    os.mkdir(moving, 0o700)
    with _locked(moving):
        failpoint("put")
        try:
            _move_all(place, moving)
            yield moving
            _require_alone(moving, place)
        except BaseException:
            _move_all(moving, place)
            os.rmdir(moving)
            raise
        _renamed(moving, hidden.name)
        sync(place)
        failpoint("clear")
        shutil.rmtree(hidden)


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
    with _locked(hidden, wait=False):
        if hidden.parent == place and hidden.name.endswith(_MOVING):
            _move_all(hidden, place)
        shutil.rmtree(hidden)


def _move_all(source: Path, target: Path) -> None:
    """Move every entry but staging directories: all of them, or after an OSError none."""
    place = target if source.parent == target else source
    names = sorted(name for name in os.listdir(source) if not is_hidden(name, place))
    moved: list[str] = []
    try:
        for name in names:
            failpoint("move")
            if os.path.lexists(target / name):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
            os.rename(source / name, target / name)
            moved.append(name)
    except BaseException:
        for name in moved:
            os.rename(target / name, source / name)
        raise


def _require_alone(hidden: Path, place: Path) -> None:
    """Raise OSError when the place holds anything else."""
    if any(entry != hidden for entry in place.iterdir()):
        raise OSError(errno.ENOTEMPTY, "another program wrote there meanwhile")


def _renamed(folder: Path, name: str) -> Path:
    new = folder.with_name(name)
    os.rename(folder, new)
    return new


def _prefix(place: Path) -> str:
    return f".{os.fsdecode(os.fsencode(place.name)[:_LONGEST])}{TEMPORARY_MARK}"


def _hidden(place: Path, folder: Path) -> Path:
    return folder / f"{_prefix(place)}{secrets.token_hex(4)}"


@contextmanager
def _locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a folder, which moves with it. Raises OSError."""
    descriptor = os.open(folder, _FOLDER)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
