"""Write a file or a whole folder under a hidden name, so that it appears in one step.

A file that a person names (an export, a pack) is written in a hidden folder beside its place and
renamed to it. A folder is made under the hidden name; an empty one in its place is replaced by the
rename. A folder that is to be removed is renamed to a hidden name first. Until its removal is
decided the name ends in `-moving`: after a kill the next memtui renames it back.

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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memtui.errors import SaveError
from memtui.files.atomic_replace import keep_beside, rename_to_free, sync, write_error_text
from memtui.files.reading import TEMPORARY_MARK, real_path
from memtui.files.save_hooks import failpoint
from memtui.paths import private_folder

FAILPOINTS = ("stage", "fill", "put", "clear")
"""Failpoints of making and removing a folder (see `memtui.files.save_hooks`)."""

_LONGEST = 200
"""Bytes of the folder's own name in the hidden one."""
_MOVING = "-moving"
"""Suffix of a hidden folder that belongs in its place."""


@contextmanager
def new_stage(place: Path) -> Iterator[Path]:
    """Make a private staging directory beside the place, and yield it.

    It is removed at the end, unless it was moved into place. Raises OSError.
    """
    place = real_path(place)
    private_folder(place.parent)
    clear_leftovers(place)
    failpoint("stage")
    stage = _hidden(place)
    os.mkdir(stage, 0o700)
    with _locked(stage):
        try:
            yield stage
        finally:
            shutil.rmtree(stage, ignore_errors=True)


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


@contextmanager
def removing_folder(place: Path) -> Iterator[Path]:
    """Hide a folder in one step and delete it at the end; yields where it is meanwhile.

    After an exception it is back in its place; if another program has made a new one there, it is
    kept and the SaveError names it. Raises OSError.
    """
    place = real_path(place)
    clear_leftovers(place)
    hidden = _hidden(place)
    moving = hidden.with_name(hidden.name + _MOVING)
    with _locked(place):
        failpoint("put")
        os.rename(place, moving)
        try:
            yield moving
            sync(place.parent)
        except BaseException as error:
            try:
                rename_to_free(moving, place)
            except OSError:
                kept = keep_beside(place, moving)
                reason = "another program wrote there meanwhile"
                do = f"what was there before is kept in {kept}"
                raise SaveError(reason, where=str(place), do=do) from error
            raise
        with contextlib.suppress(OSError):  # what cannot be deleted is a leftover
            os.rename(moving, hidden)
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
        if not hidden.name.endswith(_MOVING):
            shutil.rmtree(hidden)
        elif hidden.parent != place:
            rename_to_free(hidden, place)


def _prefix(place: Path) -> str:
    return f".{os.fsdecode(os.fsencode(place.name)[:_LONGEST])}{TEMPORARY_MARK}"


def _hidden(place: Path) -> Path:
    return place.parent / f"{_prefix(place)}{secrets.token_hex(4)}"


@contextmanager
def _locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a folder, which moves with it. Raises OSError, without `wait` also where it
    is locked. Where there are no locks, nobody else can lock it to clear it either."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with contextlib.suppress(*[OSError] if wait else []):
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


# ---- files ---------------------------------------------------------------------------------------


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
        with open(path, "wb", buffering=0) as out:
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
