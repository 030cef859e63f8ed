"""Whether a folder of the cache may be believed: ours alone, and every file as we left it."""

from __future__ import annotations

import fcntl
import io
import os
import pickle
import secrets
import shutil
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

_CHUNK = 1 << 20


def fault(folder: Path) -> str:
    """Why the folder may not be opened: a link, another owner, others may write. '' = it may."""
    for path in (folder, *_entries(folder)):
        status = os.lstat(path)
        plain = stat.S_ISREG(status.st_mode) and path != folder
        if not plain and not stat.S_ISDIR(status.st_mode):
            return f"{path.name} is not a plain file or folder"
        if status.st_uid != os.geteuid():
            return f"{path.name} belongs to another user"
        if status.st_mode & 0o022 or (path == folder and status.st_mode & 0o077):
            return f"{path.name} is open to others"
    return ""


def _entries(folder: Path) -> Iterator[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return iter(())
    return (Path(entry.path) for entry in os.scandir(folder))


def checksum(file: Path) -> str:
    """Size and CRC-32 of a file: enough against accidents; forgery is held off by its owner.

    Raises OSError.
    """
    total, size = 0, 0
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        while piece := stream.read(_CHUNK):
            total = zlib.crc32(piece, total)
            size += len(piece)
    return f"{size}:{total:08x}"


@contextmanager
def alone(lock: Path) -> Iterator[bool]:
    """Whether no other process holds this lock; held until the block is left. Raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(lock, flags, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def put_away(path: Path) -> None:
    """Remove a folder (or the link in its place) so that it is gone at once. Raises OSError."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        aside = path.with_name(f"{path.name}.old-{secrets.token_hex(4)}")
        path.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)


ALLOWED = frozenset(
    {
        ("whoosh.codec.whoosh3", "W3Segment"),
        ("whoosh.codec.whoosh3", "W3Codec"),
        ("collections", "defaultdict"),
        ("builtins", "int"),
        ("builtins", "set"),
    }
)
"""What an index of ours holds. The schema is passed in, so its pickle is never read."""


class _Restricted(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if (module_name, global_name) not in ALLOWED:
            raise pickle.UnpicklingError(f"the index asks for {module_name}.{global_name}")
        return super().find_class(module_name, global_name)


def load(file: IO[bytes]) -> Any:
    """`pickle.load` for the classes of an index only. Raises UnpicklingError."""
    return _Restricted(file).load()


def loads(data: bytes) -> Any:
    """`pickle.loads` for the classes of an index only. Raises UnpicklingError."""
    return _Restricted(io.BytesIO(data)).load()


def _dumps(value: Any, protocol: int = 4) -> bytes:
    """Bytes as bytes: protocol 2, which Whoosh asks for, writes them as a call of a function."""
    return pickle.dumps(value, max(protocol, 4))


def _refuse(*_: Any, **__: Any) -> Any:
    raise pickle.UnpicklingError("an index of an older Whoosh")


def guard() -> None:
    """Put the restricted loader everywhere in Whoosh. Doing it again changes nothing."""
    from whoosh import columns, formats, index, legacy
    from whoosh.codec import whoosh3
    from whoosh.filedb import structfile
    from whoosh.util import loading

    structfile.load_pickle = load
    whoosh3.loads = loads
    whoosh3.dumps = _dumps
    columns.loads = loads
    formats.loads = loads
    index.pickle = SimpleNamespace(
        loads=loads, dumps=pickle.dumps, PicklingError=pickle.PicklingError
    )
    index.toc_loaders = {}
    legacy.RenamingUnpickler = _refuse
    loading.RenamingUnpickler = _refuse
