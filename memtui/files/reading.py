"""Read files that may be hostile: without hanging, without following links out of the store.

Text is decoded with `surrogateescape`, so that a byte which is not UTF-8 is written back as it
was. A byte order mark stays the first character, for the same reason.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from memtui.errors import Refused, UnreadableFile

LARGEST_FILE = 1 << 30
"""Bytes. A larger file is refused, since reading it would exhaust the machine."""

SMALLEST_READ = 1 << 16
"""Bytes that are asked for at least, also of a file that grows while it is read."""

LEADS_OUTSIDE = "it is a symbolic link to a place outside the store"
LIES_OUTSIDE = "it lies behind a symbolic link to a place outside the store"
NO_MEMORY = "there is not enough memory to read it"


IS_EMPTY = "it is empty, as after a write that was cut off"
LONGEST_NAME = 255
"""Bytes in one file name, the limit of ext4, XFS, APFS and NTFS."""

TEMPORARY_MARK = ".memtui-"
"""Part of the name of every temporary file memtui makes beside a target."""

_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC

_KINDS = (
    (stat.S_ISDIR, "it is a folder"),
    (stat.S_ISFIFO, "it is a pipe, not a file"),
    (stat.S_ISSOCK, "it is a socket, not a file"),
    (stat.S_ISCHR, "it is a device, not a file"),
    (stat.S_ISBLK, "it is a device, not a file"),
)

_REASONS = {
    errno.ENOENT: "it is not there",
    errno.EACCES: "there is no permission to read it",
    errno.EPERM: "there is no permission to read it",
    errno.ENOTDIR: "a part of its path is not a folder",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ENXIO: "it is a socket, not a file",
    errno.EIO: "the disk reports an error",
    errno.ELOOP: "it is a symbolic link that leads nowhere or in a circle",
}


def error_text(error: OSError) -> str:
    """Say in words for a person what an error of the operating system means."""
    return _REASONS.get(error.errno or 0) or (error.strerror or type(error).__name__).lower()


class MissingFile(UnreadableFile):
    """There is no file of this name."""


def _unreadable(path: Path, why: str) -> UnreadableFile:
    return UnreadableFile(why, where=str(path))


def _failed(path: Path, error: OSError) -> UnreadableFile:
    kind = MissingFile if error.errno == errno.ENOENT else UnreadableFile
    return kind(error_text(error), where=str(path))


def _target(path: Path, root: Path | None) -> Path:
    """The path itself, or where its link leads when that lies inside `root`."""
    try:
        if not stat.S_ISLNK(os.lstat(path).st_mode):
            return path
        target = path.resolve(strict=True)
        if root is not None and target.is_relative_to(root.resolve(strict=True)):
            return target
    except OSError as error:
        raise _failed(path, error) from None
    except RuntimeError:  # a circle of links (3.11)
        raise _unreadable(path, _REASONS[errno.ELOOP]) from None
    except ValueError:
        raise _unreadable(path, "its name holds a NUL") from None
    raise _unreadable(path, LEADS_OUTSIDE)


def _opened_path(descriptor: int, path: Path) -> str:
    """Where an open file lies, as the system says; by its name where it does not (macOS)."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}").removesuffix(" (deleted)")
    except OSError:
        return os.path.realpath(path)


def _is_below(real: str, root: Path) -> bool:
    """Whether a path without links is the root, or lies in it."""
    return any(  # to resolve the root takes longer than to read a small file
        real == base or real.startswith(f"{base.rstrip('/')}/")
        for base in (path(root) for path in (os.fspath, os.path.realpath))
    )


def open_regular(path: Path, root: Path | None = None) -> tuple[int, int]:
    """Open a regular file for reading; never blocks on a pipe or a device.

    A symbolic link is followed only when its target lies inside `root`, and so are links of folders
    below it; without a root those of folders are not looked at. Raises UnreadableFile with a reason
    for a person.

    Returns:
        The descriptor, which the caller closes, and the file's size in bytes.
    """
    try:
        descriptor = os.open(_target(path, root), _OPEN_FLAGS)
    except OSError as error:
        raise _failed(path, error) from None
    try:
        status = os.fstat(descriptor)
        for is_kind, why in _KINDS:
            if is_kind(status.st_mode):
                raise _unreadable(path, why)
        opened = _opened_path(descriptor, path)
        if root is not None and not _is_below(opened, root):
            if os.path.realpath(path) != opened:  # it was moved away in between
                raise MissingFile(_REASONS[errno.ENOENT], where=str(path))
            raise _unreadable(path, LIES_OUTSIDE)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, status.st_size


def read_bytes(path: Path, root: Path | None = None, most: int = LARGEST_FILE) -> bytes:
    """Return the whole content of a regular file, which is opened as by `open_regular`, of at most
    so many bytes.

    Raises UnreadableFile with a reason for a person.
    """
    descriptor, size = open_regular(path, root)
    too_large = _unreadable(path, f"it is larger than {most >> 20} MiB")
    try:
        if size > most:
            raise too_large
        data = b""
        while len(data) <= most:
            left = max(size - len(data), SMALLEST_READ)
            piece = os.read(descriptor, min(left, most) + 1)
            if not piece:
                return data
            data += piece
        raise too_large
    except OSError as error:
        raise _failed(path, error) from None
    except MemoryError:
        raise _unreadable(path, NO_MEMORY) from None
    finally:
        os.close(descriptor)


def read_text_file(path: Path, root: Path | None = None) -> str:
    """The text of a regular file, which is opened as by `open_regular`, decoded by `decode`.

    Raises UnreadableFile with a reason for a person; a file in UTF-16 or UTF-32 is refused by the
    name of its encoding, since its bytes taken for UTF-8 are garbage that an edit would break.
    """
    data = read_bytes(path, root)
    if encoding := find_wide_encoding(data):
        raise _unreadable(path, f"it is in {encoding}, not in UTF-8: save it as UTF-8")
    return decode(data)


_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_LOOKED_AT = 4096
_NO_TEXT = re.compile("[\x00-\x08\x0e-\x1f\ufffe\uffff]")
_ASCII = re.compile("[\t\n\r -~]")
_NO_UTF_8 = re.compile("[\x00-\x08\x0e-\x1f\udc80-\udcff]")
_SHARE = 1 / 8
"""Of the characters that text of UTF-16 has when it is read as UTF-8: those that no text in UTF-8
has. Latin, Greek, Cyrillic and Arabic letters come to a half, Japanese to a fifth."""


def find_wide_encoding(data: bytes) -> str:
    """`UTF-16` or `UTF-32` if these bytes are text of that; "" for any other.

    Without a byte order mark it is text of UTF-16 if it has a NUL, as in line ends and spaces, is
    far from any UTF-8, and is text when it is read so.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    head = data[:_LOOKED_AT]
    narrow = decode(head)
    strange = len(_NO_UTF_8.findall(narrow))
    if "\0" not in narrow or len(data) % 2 or strange < len(narrow) * _SHARE:
        return ""
    for wide in (codecs.utf_16_le_decode, codecs.utf_16_be_decode):
        with suppress(UnicodeDecodeError):
            text = wide(head, "strict", False)[0]
            if _ASCII.search(text) and not _NO_TEXT.search(text):
                return "UTF-16"
    return ""


def decode(data: bytes) -> str:
    """Decode UTF-8; any other byte becomes one lone surrogate (U+DC80 to U+DCFF)."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Invert `decode`. Raises Refused on a lone surrogate that is not from a byte."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise Refused(
            f"the text holds half a character (U+{ord(text[error.start]):04X})",
            do="remove it; only JSON can hold one, as an escape",
        ) from None


def digest(data: bytes) -> str:
    """Return the SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def real_path(path: Path) -> Path:
    """Resolve every link; unlike `Path.resolve`, a circle of links is left as it is."""
    return Path(os.path.realpath(path))


def path_within(path: Path, root: Path) -> Path:
    """The path with every link resolved. Raises Refused when it lies outside the folder of this
    root, which may be a link itself."""
    real = real_path(path)
    if not real.is_relative_to(real_path(root if root.is_dir() else root.parent)):
        why = LEADS_OUTSIDE if path.is_symlink() else LIES_OUTSIDE
        raise Refused(why, where=str(path), do="nothing was changed")
    return real


def file_stamp(paths: Iterable[Path | str]) -> str:
    """Return a digest that changes whenever one of the files may have changed, or goes or comes.

    It is made of the times of change, size and inode, so it only tells what need not be read
    again: before a save the content itself is compared.
    """
    return _state_digest((path, _file_state(path)) for path in paths)


def existing_files(paths: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """Return the files that exist, dangling links included, and their `file_stamp`."""
    present = []
    for path in paths:
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            continue
        is_link = stat.S_ISLNK(status.st_mode)
        present.append((path, _file_state(path) if is_link else _status_text(status)))
    return tuple([path for path, _ in present]), _state_digest(present)


_GONE = "-"


def _file_state(path: Path | str) -> str:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return _GONE
    return _status_text(status)


def _status_text(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {status.st_ino}"


def _state_digest(states: Iterable[tuple[Path | str, str]]) -> str:
    data = "".join([f"{path}\0{state}\0" for path, state in states])
    return hashlib.blake2b(data.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def walk(
    root: Path,
    suffixes: tuple[str, ...] = (),
    skip: Collection[str] = (),
    unreadable: Callable[[str, str], None] | None = None,
) -> Iterator[os.DirEntry[str]]:
    """Yield every file below `root`, folder by folder in the order of names.

    Links to folders are not followed; memtui's own temporary files are left out.

    Args:
        root: the folder.
        suffixes: only names that end so; all when empty.
        skip: names of folders and files to leave out.
        unreadable: called with path and reason for a folder that cannot be listed.
    """
    folders = [os.fspath(root)]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            if unreadable is not None:
                unreadable(folder, error_text(error))
            continue
        subfolders = []
        for entry in entries:
            if entry.name in skip or TEMPORARY_MARK in entry.name:
                continue
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:  # it vanished since it was listed
                continue
            if is_folder:
                subfolders.append(entry.path)
            elif not suffixes or entry.name.endswith(suffixes):
                if entry.is_symlink() and os.path.isdir(entry.path):
                    continue
                yield entry
        folders.extend(reversed(subfolders))


def safe_join(root: Path, name: str) -> Path:
    """Return `root / name` for a name that came from data; it must be one plain component.

    Raises Refused if it could lead elsewhere, UnreadableFile if it is a link out of `root`.
    """
    if name in ("", ".", "..") or any(mark in name for mark in "/\\\0"):
        raise Refused("the name cannot be a file name", where=repr(name))
    try:
        if len(os.fsencode(name)) > LONGEST_NAME:
            raise Refused(f"the name is longer than {LONGEST_NAME} bytes", where=str(root))
    except UnicodeEncodeError:
        raise Refused("the name holds half a character", where=repr(name)) from None
    path = root / name
    if path.is_symlink():
        _target(path, root)
    return path
