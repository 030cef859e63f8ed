"""Copies of files as they were before memtui replaced them, and as they last were whole.

One folder a file under `STATE/kept/`, named by a hash of its path; each copy is named by its
number (clocks jump), its time and the SHA-256 of its content. A replaced file is moved here (copied
only from another file system), so a program that still had it open writes into the copy: its name
then no longer fits its content, and nothing is lost silently.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memtui.errors import UnreadableFile
from memtui.files.failpoints import failpoint
from memtui.files.json.editing import load
from memtui.files.reading import decode, digest, read_bytes, real_path
from memtui.paths import private_folder

COPIES = 5
"""Copies kept of one file."""
YOUNG = 10.0
"""Seconds for which a program may still have a replaced file open and write into it."""
MOST_YOUNG = 50
"""Copies kept of one file while they are young."""
LARGEST_TOTAL = 256 << 20
"""Bytes of all copies together."""
LONGEST = 30 * 24 * 3600
"""Seconds a copy is kept, unless it is the only one of its file."""

_NAME = "path"


@dataclass(frozen=True, slots=True)
class Backup:
    """One former state of a file."""

    path: Path
    """The file it is a copy of."""
    file: Path
    """Where the copy lies."""
    time: float
    """Unix seconds: when it was replaced, or seen whole."""
    digest: str
    """SHA-256 of the content it was kept with."""

    def read(self) -> bytes:
        """Its content. Raises UnreadableFile when it is gone."""
        return read_bytes(self.file)

    @property
    def is_intact(self) -> bool:
        """False when a program that still had the file open has written to it since."""
        try:
            return digest(self.read()) == self.digest
        except UnreadableFile:
            return False


def _folder(path: Path, state: Path) -> Path:
    return state / "kept" / hashlib.sha256(os.fsencode(path)).hexdigest()[:32]


def _prepared(path: Path, state: Path) -> Path:
    folder = _folder(path, state)
    if not (folder / _NAME).exists():
        private_folder(folder)
        try:
            (folder / _NAME).write_bytes(os.fsencode(path))
            (folder / _NAME).chmod(0o600)
        except OSError:  # no room: the next try finds none, and writes it
            (folder / _NAME).unlink(missing_ok=True)
            raise
    return folder


def _new_name(folder: Path, known: list[Backup], content: str) -> Path:
    number = int(known[0].file.name.partition("-")[0]) + 1 if known else 1
    return folder / f"{number:010d}-{time.time_ns()}-{content}"


def move_in(path: Path, displaced: Path, content: str, state: Path) -> Backup:
    """Move a file that was displaced from `path`, with this digest, among its copies."""
    failpoint("keep")
    target = _new_name(_prepared(path, state), list_backups(path, state), content)
    try:
        os.rename(displaced, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with contextlib.suppress(OSError):  # the save itself has succeeded: a copy is an extra
            _write(target, displaced.read_bytes())
        os.unlink(displaced)
    else:
        with contextlib.suppress(PermissionError):  # another's file; the folder is private
            target.chmod(0o600)
    _drop_old(path, state)
    return Backup(path, target, time.time(), content)


def _drop_old(path: Path, state: Path) -> None:
    """Delete the copies that are too many, except what a program has written into."""
    for place, copy in enumerate(list_backups(path, state)):
        old = time.time() - copy.time > YOUNG or place >= MOST_YOUNG
        if place >= COPIES and old and copy.is_intact:
            copy.file.unlink(missing_ok=True)


def save_copy(path: Path, data: bytes, state: Path) -> Backup | None:
    """Keep what a file was seen to hold; None when it is the newest copy already, or cannot be."""
    content, known = digest(data), list_backups(path, state)
    if known and known[0].digest == content:
        return None
    try:
        target = _new_name(_prepared(path, state), known, content)
        _write(target, data)
    except OSError:  # no room for a copy: that must not stop anybody
        return None
    _drop_old(path, state)
    return Backup(path, target, time.time(), content)


def _write(target: Path, data: bytes) -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError:
        target.unlink()  # half a copy would look like a late write
        raise


def list_backups(path: Path, state: Path) -> list[Backup]:
    """The copies of a (resolved) file, newest first."""
    return _copies_in(_folder(path, state), path)


def _copies_in(folder: Path, path: Path) -> list[Backup]:
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            parts = name.split("-")
            if len(parts) == 3 and parts[0].isdecimal() and parts[1].isdecimal():
                found.append(Backup(path, folder / name, int(parts[1]) / 1e9, parts[2]))
    return sorted(found, key=lambda copy: copy.file.name, reverse=True)


def last_good(path: Path, state: Path) -> Backup | None:
    """The newest copy of a file that holds something and is what it was when it was kept.

    A JSON file must be whole: it may have been broken just before it was replaced, or copied.
    """
    for copy in list_backups(real_path(path), state):
        with contextlib.suppress(UnreadableFile):
            data = copy.read()
            if path.suffix == ".json" and data:
                load(decode(data))
            if data.strip(b"\0 \t\r\n") and digest(data) == copy.digest:
                return copy
    return None


def find_late_writes(path: Path, state: Path) -> list[Backup]:
    """Copies that another program wrote to after memtui had replaced the file."""
    return [copy for copy in list_backups(real_path(path), state) if not copy.is_intact]


def delete_backups(path: Path, state: Path) -> None:
    """Delete every copy of a file: to delete a secret is to delete its former places too."""
    shutil.rmtree(_folder(real_path(path), state), ignore_errors=True)


def _all(state: Path) -> Iterator[Backup]:
    with contextlib.suppress(OSError):
        for name in os.listdir(state / "kept"):
            yield from _copies_in(state / "kept" / name, Path())


def prune(state: Path, now: float) -> None:
    """Delete what is too old or too much, oldest first; called now and then, at start."""
    total, newest = 0, set()
    for copy in sorted(_all(state), key=lambda copy: (copy.time, copy.file.name), reverse=True):
        with contextlib.suppress(OSError):
            total += copy.file.stat().st_size
            old = now - copy.time > LONGEST and copy.file.parent in newest
            if old or total > LARGEST_TOTAL:
                copy.file.unlink()
        newest.add(copy.file.parent)
