"""Replace a file atomically without losing what another program writes at the same moment.

Comparing and then renaming loses a write that happens in between. So the new file is exchanged for
the old one in one step (`renameat2` on Linux, `renamex_np` on macOS), and the displaced file is
read afterwards. When it is not what was expected, the caller merges it (`save_transaction`). Where
the system has no exchange (NFS, some FUSE file systems), a hard link and a rename take its place.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import secrets
import stat
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from memtui.errors import Refused, SaveError, UnreadableFile
from memtui.files.permissions import owner_of
from memtui.files.reading import (
    LONGEST_NAME,
    TEMPORARY_MARK,
    MissingFile,
    error_text,
    read_bytes,
    real_path,
)
from memtui.files.save_hooks import failpoint
from memtui.paths import make_private_folders, write_new

PIECE = 1 << 20
"""Bytes written at a time."""
SETTLING = 0.5
"""Seconds given to a program that is caught in the middle of writing the file in place."""
PAUSE = 0.002
"""Seconds between two reads meanwhile."""
_NO_EXCHANGE = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
"""Errors of a system or a file system that cannot exchange two names."""

_WRITE_ERRORS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "there is no permission to write there",
    errno.EPERM: "the system does not permit it",
    errno.EFBIG: "the file would be larger than is allowed",
    errno.EIO: "the disk reports an error",
    errno.ENOENT: "its folder does not exist",
}

IsComplete = Callable[[bytes], bool]
"""Tells a complete file of its kind from one that is being written."""


class Stale(Exception):
    """The file changed before it was replaced; nothing was written. Read it again."""


def read_if_exists(path: Path) -> bytes | None:
    """Return the content of a (resolved) path; None where no file is. Raises UnreadableFile."""
    try:
        return read_bytes(path)
    except MissingFile:
        return None


def create(path: Path, data: bytes, changed: int | None = None) -> list[Path]:
    """Create a file (0600, missing folders 0700) and return the folders that were made for it.

    `changed`: its modification time in nanoseconds; now if it is None.

    Raises Stale when the file exists, SaveError.
    """
    with save_errors(path, "nothing was made"):
        made_folders = make_private_folders(path.parent)
        temporary = None
        try:
            temporary = _write_temporary(path, data, None, changed)
            failpoint("exchange")
            _refuse_links(path)
            rename_to_free(temporary, path)
            return made_folders
        except BaseException as error:
            if temporary is not None:
                discard_known(temporary, [data])
            remove_empty(made_folders)
            if isinstance(error, FileExistsError):
                raise Stale from None
            raise


def replace(path: Path, expected: bytes, data: bytes, changed: int | None = None) -> Path:
    """Replace the content of a (resolved) file; returns the name that the displaced file has now.

    `changed`: its modification time in nanoseconds; now if it is None.

    Raises Stale when the file was not `expected` just before the exchange, SaveError when the
    system refused something; after both the file is as it was.
    """
    with save_errors(path):
        like = _checked_status(path)
        temporary = _write_temporary(path, data, like, changed)
        try:
            failpoint("check")
            if read_if_exists(path) != expected:
                raise Stale
            return _swap_in(temporary, path)
        except BaseException:
            discard_known(temporary, [data])
            raise


def remove(path: Path, expected: bytes) -> Path:
    """Remove a file; returns the temporary name that it has now. Raises Stale and SaveError."""
    with save_errors(path):
        _checked_status(path)
        out = _temporary_name(path)
        failpoint("check")
        if read_if_exists(path) != expected:
            raise Stale
        failpoint("exchange")
        _refuse_links(path)
        os.rename(path, out)
        return out


def read_displaced(out: Path, expected: bytes, is_complete: IsComplete) -> bytes:
    """Make an exchange durable, and read the displaced file once nobody is writing to it.

    `is_complete` tells whether another program has finished. Raises OSError, UnreadableFile.
    """
    data = _read_when_complete(out, expected, is_complete)
    sync_folder(out.parent)
    if read_bytes(out) != data:  # it was still open somewhere, and has grown since
        data = _read_when_complete(out, expected, is_complete)
    return data


def put_back(
    path: Path, displaced: Path | None, own: Collection[bytes | None]
) -> tuple[bool, Path | None]:
    """Take back an exchange, unless another program has written the file since.

    `displaced` is what the file was before, None where there was none; `own` is what memtui has put
    there, None if it removed the file. Returns whether the file is as it was, and a file that is in
    no place now.
    """
    out = displaced
    with contextlib.suppress(OSError, UnreadableFile, Stale):
        failpoint("restore")
        now = read_if_exists(path)
        if now not in own:
            return False, out
        if displaced is None:
            name = _temporary_name(path)
            os.rename(path, name)
            out = name
        elif now is None:
            rename_to_free(displaced, path)
            out = None
        else:
            out = _swap_in(displaced, path)
        if out is None or discard_known(out, own):
            with contextlib.suppress(OSError):
                sync_folder(path.parent)
            return True, None
        # Another program wrote it at this very moment: that goes back.
        if displaced is None:
            rename_to_free(out, path)
            return False, None
        out = _swap_in(out, path)
    return False, out


def keep_beside(path: Path, file: Path) -> Path:
    """Give a temporary file or folder a visible name beside `path`, which stays; returns its name
    then."""
    name = os.fsdecode(os.fsencode(path.name)[: LONGEST_NAME - len(TEMPORARY_MARK) - 30])
    kept = path.parent / f"{name}{TEMPORARY_MARK}kept-{secrets.token_hex(8)}"
    try:
        os.rename(file, kept)
    except OSError:
        return file
    return kept


def discard_known(file: Path, known: Collection[bytes | None]) -> bool:
    """Delete a temporary or displaced file if its content is known; tells whether it was."""
    with contextlib.suppress(UnreadableFile):
        if read_bytes(file) in known:
            discard(file)
            return True
    return False


def remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders that were made, the innermost first, where nobody has put anything in."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            folder.rmdir()


def discard(file: Path) -> None:
    """Delete a temporary or displaced file, if that is possible."""
    with contextlib.suppress(OSError):
        os.unlink(file)


UNWRITTEN = "~"
"""Last character of a temporary file's name until all of it is on disk: what has another name is
whole, and may be the version of another program."""


def find_leftovers(path: Path) -> list[Path]:
    """Return the temporary files that a killed memtui left beside this file."""
    with contextlib.suppress(OSError, ValueError):  # a damaged journal names what no file can be
        prefix = _temporary_prefix(path)
        names = [name for name in os.listdir(path.parent) if name.startswith(prefix)]
        return sorted(path.parent / name for name in names)
    return []


# ---- steps ----------------------------------------------------------------------------------


def _temporary_prefix(path: Path) -> str:
    room = LONGEST_NAME - len(TEMPORARY_MARK) - 18
    return os.fsdecode(b"." + os.fsencode(path.name)[:room]) + TEMPORARY_MARK


def _temporary_name(path: Path) -> Path:
    return path.parent / (_temporary_prefix(path) + secrets.token_hex(8))


def _refuse_links(path: Path) -> None:
    """Raise Stale where a folder of a (resolved) path has become a link: the file is another."""
    if real_path(path.parent) != path.parent:
        raise Stale


def _checked_status(path: Path) -> os.stat_result:
    """The status of a regular file with one name. Raises Stale, Refused."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        raise Stale from None
    if not stat.S_ISREG(status.st_mode):
        raise Refused("it is not a regular file", where=str(path))
    if status.st_nlink > 1:
        raise Refused(
            f"the file has {status.st_nlink} names (hard links), and saving would separate them",
            where=str(path),
            do="give it one name, for instance by copying it over itself",
        )
    return status


def _write_temporary(
    path: Path, data: bytes, like: os.stat_result | None, changed: int | None
) -> Path:
    """Write `data` to disk beside `path`, with the owner, mode and attributes of `like`."""
    whole = _temporary_name(path)
    temporary = whole.with_name(whole.name + UNWRITTEN)
    failpoint("temp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            failpoint("write")
            rest = rest[os.write(descriptor, rest[:PIECE]) :]
        if like is not None:
            _copy_metadata(descriptor, path, like)
        if changed is not None:
            os.utime(descriptor, ns=(time.time_ns(), changed))
        failpoint("fsync")
        _sync(descriptor)
        os.replace(temporary, whole)
    except BaseException:
        discard(temporary)
        raise
    finally:
        os.close(descriptor)
    return whole


_ACCESS_LISTS = "system.posix_acl_"
"""Prefix of the attributes that say what further users may do."""


def _copy_metadata(descriptor: int, path: Path, like: os.stat_result) -> None:
    """Give a new file owner, group, mode and attributes of the file at `path`, of status `like`.

    The owner of a file cannot be given away without privileges, so replacing a file of somebody
    else would make it the person's own. Raises SaveError then.
    """
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        failpoint("owner")
        try:
            os.fchown(descriptor, like.st_uid, like.st_gid)
        except PermissionError:
            theirs, mine = owner_of(like), owner_of(own)
            raise SaveError(
                f"it belongs to {theirs}, and saving would make it belong to {mine}",
                where=str(path),
                do="let its owner save it, or make it your own first",
            ) from None
    failpoint("mode")
    os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
    attributes: list[str] = []
    with contextlib.suppress(OSError):  # a file system without them
        attributes = os.listxattr(path) if sys.platform == "linux" else []
    for name in attributes:
        # Those that a person may have set; the system's own come with the folder.
        if sys.platform == "linux" and name.startswith(("user.", _ACCESS_LISTS)):
            failpoint("xattrs")
            os.setxattr(descriptor, name, os.getxattr(path, name))


def _swap_in(temporary: Path, path: Path) -> Path:
    """Give the temporary file its name; returns the name of the displaced file."""
    try:
        failpoint("exchange")
        _refuse_links(path)
        exchange(temporary, path)
        return temporary
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise Stale from None
        if error.errno not in _NO_EXCHANGE:
            raise
    # No exchange here: hold the old file by a second name, then rename over the first. A write
    # into the old file is still seen; a rename by another program just now would not be.
    holding_name = _temporary_name(path)
    try:
        os.link(path, holding_name)
    except FileNotFoundError:
        raise Stale from None
    except OSError:  # a file system without hard links
        write_new(holding_name, read_bytes(path))
    try:
        os.rename(temporary, path)
    except BaseException:
        discard(holding_name)
        raise
    return holding_name


def _read_when_complete(out: Path, expected: bytes, is_complete: IsComplete) -> bytes:
    failpoint("look")
    until = time.monotonic() + SETTLING
    while True:
        data = read_bytes(out)
        if data == expected or is_complete(data) or time.monotonic() > until:
            return data
        time.sleep(PAUSE)


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":  # fsync there does not reach the disk
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to disk. Raises OSError."""
    failpoint("folder")
    sync(folder)


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_error_text(error: OSError) -> str:
    """Say in words for a person why something could not be written."""
    return _WRITE_ERRORS.get(error.errno or 0) or error_text(error)


@contextlib.contextmanager
def save_errors(path: Path, left: str = "the file is as it was") -> Iterator[None]:
    """Turn an error of the system into a SaveError that says what is on disk."""
    try:
        yield
    except OSError as error:
        raise SaveError(
            f"not saved: {write_error_text(error)}", where=str(path), do=left
        ) from error
    except UnreadableFile as error:
        raise SaveError(error.what, where=str(path), do=left) from None


# ---- system calls ---------------------------------------------------------------------------

_AT_FDCWD = -100
_LINUX_NOREPLACE, _LINUX_EXCHANGE = 1, 2
_MACOS_SWAP, _MACOS_EXCL = 2, 4

_RenameCall = Callable[[bytes, bytes, int], int]


@functools.cache
def _rename_call() -> _RenameCall | None:
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        return getattr(libc, "renamex_np", None)
    call = getattr(libc, "renameat2", None)
    return call and (lambda old, new, flags: call(_AT_FDCWD, old, _AT_FDCWD, new, flags))


def _call(old: Path, new: Path, flags: int) -> None:
    rename = _rename_call()
    if rename is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), os.fspath(new))
    if rename(os.fsencode(old), os.fsencode(new), flags):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), os.fspath(new))


def exchange(first: Path, second: Path) -> None:
    """Exchange two names, which must both exist, in one step. Raises OSError."""
    _call(first, second, _MACOS_SWAP if sys.platform == "darwin" else _LINUX_EXCHANGE)


def rename_to_free(old: Path, new: Path) -> None:
    """Rename to a name that must be free. Raises FileExistsError when it is not."""
    try:
        _call(old, new, _MACOS_EXCL if sys.platform == "darwin" else _LINUX_NOREPLACE)
    except OSError as error:
        if error.errno not in _NO_EXCHANGE:
            raise
        if stat.S_ISDIR(os.lstat(old).st_mode):
            os.rename(old, new)  # refused where there is anything but an empty folder
        else:
            os.link(old, new)
            os.unlink(old)
