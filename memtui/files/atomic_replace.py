"""Replace one file so that a reader sees the old one or the new one, and nobody's write is lost.

Check-then-rename still loses what another program writes in between. So the new file is changed
for the old one in one step (`exchange`), and then what came out is looked at: if it is not what was
expected, the caller merges it in. Nothing here decides what to write; see `commit`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memtui.errors import Refused, SaveError, UnreadableFile
from memtui.files import name_exchange as exchanging
from memtui.files import ownership
from memtui.files.failpoints import failpoint
from memtui.files.locking import made_folders
from memtui.files.reading import LONGEST_NAME, TEMPORARY_MARK, NotThere, read_bytes, reason

PIECE = 1 << 20
"""Bytes written at a time."""
SETTLING = 0.5
"""Seconds given to a program that is caught in the middle of writing the file in place."""
_PAUSE = 0.002
_ACCESS_LISTS = "system.posix_acl_"
"""Begins the names of the attributes that say what further users may do."""

_WORDS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "there is no permission to write there",
    errno.EPERM: "the system does not permit it",
    errno.EFBIG: "the file would be larger than is allowed",
    errno.EIO: "the disk reports an error",
    errno.ENOENT: "its folder is gone",
}

Whole = Callable[[bytes], bool]
"""Whether these bytes are a complete file of their kind."""


class Stale(Exception):
    """The file changed before anything of ours was in place; read it again."""


@dataclass(frozen=True, slots=True)
class Displaced:
    """What an exchange brought out."""

    file: Path
    """The temporary name it has now."""
    data: bytes


def read_now(path: Path) -> bytes | None:
    """What the (resolved) file holds; None when there is none. Raises UnreadableFile."""
    try:
        return read_bytes(path)
    except NotThere:
        return None


def read_settled(path: Path, whole: Whole, *, expected: bool) -> bytes | None:
    """The same, after a short wait for a program that is just emptying or making the file."""
    until = time.monotonic() + SETTLING
    while True:
        data = read_now(path)
        good = whole(data) if data is not None else not expected
        if good or time.monotonic() > until:
            return data
        time.sleep(_PAUSE)


def create(path: Path, data: bytes) -> None:
    """Make a file that does not exist yet (0600, missing folders 0700). Raises Stale if it does."""
    with _failing(path, "nothing was made"):
        made = made_folders(path.parent)
        try:
            _create(path, data, made)
        except BaseException:
            for folder in reversed(made):
                with contextlib.suppress(OSError):  # another program has put something into it
                    folder.rmdir()
            raise


def _create(path: Path, data: bytes, made: Sequence[Path]) -> None:
    temporary = _write_temporary(path, data, None)
    try:
        failpoint("exchange")
        exchanging.place(temporary, path)
    except FileExistsError:
        _discard(temporary)
        raise Stale from None
    except BaseException:
        _discard(temporary)
        raise
    try:
        failpoint("folder")
        _sync_folder(path.parent)
        for folder in made:
            _sync_folder(folder.parent)
    except OSError:
        if read_now(path) == data:
            _discard(path)
        raise


def replace(
    path: Path, expected: bytes, data: bytes, whole: Whole, *, may_own: bool = False
) -> Displaced:
    """Put `data` in the place of the file, and bring out whatever was there at that instant.

    `may_own`: the person accepts another owner where it cannot be kept (see `ownership`).
    Raises Stale when the file is no longer `expected` before the exchange, SaveError when the
    system refuses something; in both cases the file is as it was.
    """
    with _failing(path):
        like = _status(path)
        temporary = _write_temporary(path, data, like, may_own=may_own)
        try:
            failpoint("check")
            if read_now(path) != expected:
                raise Stale
            out = _exchanged(temporary, path)
        except BaseException:
            _discard(temporary)
            raise
        try:
            displaced = _look(out, expected, whole)
            failpoint("folder")
            _sync_folder(path.parent)
            if read_bytes(out) != displaced:  # it was still open somewhere, and has grown since
                displaced = _look(out, expected, whole)
        except (OSError, UnreadableFile):
            _take_back(out, path, data)
            raise
        return Displaced(out, displaced)


def remove(path: Path, expected: bytes) -> Displaced:
    """Take the file away, keeping it under a temporary name. Raises Stale and SaveError."""
    with _failing(path):
        _status(path)
        out = _temporary_name(path)
        failpoint("check")
        if read_now(path) != expected:
            raise Stale
        failpoint("exchange")
        os.rename(path, out)
        try:
            displaced = _look(out, expected, lambda _: True)
            failpoint("folder")
            _sync_folder(path.parent)
        except (OSError, UnreadableFile):
            _put_back(out, path)
            raise
        if displaced != expected:
            _put_back(out, path)
            raise Stale
        return Displaced(out, displaced)


def discard(displaced: Displaced) -> None:
    """Delete what came out."""
    _discard(displaced.file)


def leftovers(path: Path) -> list[Path]:
    """Temporary files that a killed memtui left beside this file."""
    prefix = _temporary_prefix(path)
    with contextlib.suppress(OSError):
        names = [name for name in os.listdir(path.parent) if name.startswith(prefix)]
        return sorted(path.parent / name for name in names)
    return []


# ---- steps ----------------------------------------------------------------------------------


def _temporary_prefix(path: Path) -> str:
    room = LONGEST_NAME - len(TEMPORARY_MARK) - 18
    return os.fsdecode(b"." + os.fsencode(path.name)[:room]) + TEMPORARY_MARK


def _temporary_name(path: Path) -> Path:
    return path.parent / (_temporary_prefix(path) + secrets.token_hex(8))


def _status(path: Path) -> os.stat_result:
    try:
        status = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        raise Stale from None
    if not stat.S_ISREG(status.st_mode):
        raise Refused("it is not a regular file", where=str(path))
    if status.st_nlink > 1:
        raise Refused(
            f"the file has {status.st_nlink} names (hard links), and saving would part them",
            where=str(path),
            do="give it one name, for instance by copying it over itself",
        )
    return status


def _write_temporary(
    path: Path, data: bytes, like: os.stat_result | None, *, may_own: bool = False
) -> Path:
    """A file beside `path` that holds `data` on disk, with mode, owner, attributes as `like`."""
    temporary = _temporary_name(path)
    failpoint("temp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            failpoint("write")
            rest = rest[os.write(descriptor, rest[:PIECE]) :]
        if like is not None:
            _dress(descriptor, path, like, may_own=may_own)
        failpoint("fsync")
        _sync(descriptor)
    except BaseException:
        _discard(temporary)
        raise
    finally:
        os.close(descriptor)
    return temporary


def _dress(descriptor: int, path: Path, like: os.stat_result, *, may_own: bool) -> None:
    mode = ownership.take_ownership(descriptor, path, like, agreed=may_own)
    failpoint("mode")
    os.fchmod(descriptor, mode)
    if sys.platform == "linux":
        for name in _attributes(path):
            if name.startswith(_ACCESS_LISTS) and not ownership.keeps_access_lists(mode, like):
                continue
            failpoint("xattrs")
            os.setxattr(descriptor, name, os.getxattr(path, name))


def _attributes(path: Path) -> list[str]:
    """Extended attributes a person may have set; the system's own come with the folder."""
    try:
        names = os.listxattr(path)
    except OSError:  # a file system without them
        return []
    return [name for name in names if name.startswith(("user.", _ACCESS_LISTS))]


def _exchanged(temporary: Path, path: Path) -> Path:
    """Exchange the two; returns the name under which the displaced file lies."""
    try:
        failpoint("exchange")
        exchanging.exchange(temporary, path)
        return temporary
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise Stale from None
        if error.errno not in exchanging.MISSING:
            raise
    # No exchange here: hold the old file by a second name, then rename over the first. A write
    # into the old file is still seen; a rename by another program just now would not be.
    held = _temporary_name(path)
    try:
        os.link(path, held)
    except FileNotFoundError:
        raise Stale from None
    except OSError:
        _copy(path, held)
    try:
        os.rename(temporary, path)
    except BaseException:
        _discard(held)
        raise
    return held


def _copy(path: Path, held: Path) -> None:
    """For a file system without hard links."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(held, flags, 0o600), "wb") as file:
            file.write(read_bytes(path))
    except BaseException:
        _discard(held)
        raise


def _look(out: Path, expected: bytes, whole: Whole) -> bytes:
    """What came out, once a program that was writing to it has finished."""
    failpoint("look")
    until = time.monotonic() + SETTLING
    while True:
        data = read_bytes(out)
        if data == expected or whole(data) or time.monotonic() > until:
            return data
        time.sleep(_PAUSE)


def _take_back(out: Path, path: Path, ours: bytes) -> None:
    """After a failure behind the exchange: the old file gets its name back, ours goes."""
    with contextlib.suppress(OSError, UnreadableFile):
        try:
            exchanging.exchange(out, path)
        except OSError:
            os.rename(out, path)
            return
        if read_bytes(out) != ours:  # another program has written on top of ours: that stays
            exchanging.exchange(out, path)
        _discard(out)
        _sync_folder(path.parent)


def _put_back(out: Path, path: Path) -> None:
    """Give a removed file its name back, unless another program has made a new one."""
    try:
        exchanging.place(out, path)
    except FileExistsError:
        _discard(out)


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":  # fsync there does not reach the disk
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _discard(file: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(file)


@contextlib.contextmanager
def _failing(path: Path, left: str = "the file is as it was") -> Iterator[None]:
    """An error of the system, in words, and what it leaves."""
    try:
        yield
    except OSError as error:
        raise SaveError(
            f"it could not be saved: {_WORDS.get(error.errno or 0) or reason(error)}",
            where=str(path),
            do=left,
        ) from error
    except UnreadableFile as error:
        raise SaveError(error.what, where=str(path), do=left) from None
