"""Backups of files: as they were before memtui replaced them, and as they last were valid.

One folder for each file under `STATE/kept/`, named by a hash of its path; each backup is named by
its number (clocks jump), its time and the SHA-256 of its content. A replaced file is moved here
(copied only from another file system), so a program that still had it open writes into the backup.
Its name then no longer fits its content, which is how such a late write is found.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from memtui.errors import UnreadableFile
from memtui.files.json.locating import load
from memtui.files.reading import decode, digest, read_bytes, real_path
from memtui.files.save_hooks import failpoint
from memtui.paths import private_folder, write_new, write_private

MAX_BACKUPS = 5
"""Backups of one file."""
RECENT = 10.0
"""Seconds for which a program may still have a replaced file open and write into it."""
MAX_RECENT = 50
"""Backups of one file while they are recent."""
LARGEST_TOTAL = 256 << 20
"""Bytes of all backups together."""
LONGEST = 30 * 24 * 3600
"""Seconds for which a backup is kept, unless it is the only one of its file."""

_NAME, _WRITTEN = "path", "written"


class Backup(Struct, frozen=True):
    """One former version of a file."""

    path: Path
    """The file it is a backup of."""
    file: Path
    """The backup itself."""
    time: float
    """Unix seconds: when the file was replaced, or was seen valid."""
    digest: str
    """SHA-256 of the content when it was backed up."""

    def read(self) -> bytes:
        """Return its content. Raises UnreadableFile when it is gone."""
        return read_bytes(self.file)

    @property
    def is_of_written(self) -> bool:
        """Whether it is a copy of what memtui wrote last."""
        return self.file.name.endswith(f"-{_WRITTEN}")

    @property
    def number(self) -> int:
        return int(self.file.name.partition("-")[0])

    @property
    def is_intact(self) -> bool:
        """Whether no program that still had the file open has written to it since."""
        try:
            return digest(self.read()) == self.digest
        except UnreadableFile:
            return False


def _folder(path: Path, state: Path) -> Path:
    return state / "kept" / hashlib.sha256(os.fsencode(path)).hexdigest()[:32]


def _prepare_folder(path: Path, state: Path) -> Path:
    folder = _folder(path, state)
    if not (folder / _NAME).exists():
        private_folder(folder)
        with contextlib.suppress(FileExistsError):  # another process made it
            write_new(folder / _NAME, os.fsencode(path))
    return folder


def _new_name(folder: Path, path: Path, content: str) -> Path:
    known = _copies_in(folder, path)
    number = known[0].number + 1 if known else 1
    return folder / f"{number:010d}-{time.time_ns()}-{content}"


def move_in(path: Path, displaced: Path, content: str, state: Path) -> Backup:
    """Move a file that was displaced from `path`, and had this digest, to the backups.

    After an OSError the file is where it was.
    """
    failpoint("keep")
    target = _new_name(_prepare_folder(path, state), path, content)
    try:
        os.rename(displaced, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        write_new(target, displaced.read_bytes(), durable=True)
        os.unlink(displaced)
    else:
        with contextlib.suppress(PermissionError):  # another's file; the folder is private
            target.chmod(0o600)
    _drop_old(path, state)
    return Backup(path, target, time.time(), content)


def _drop_old(path: Path, state: Path) -> None:
    """Delete the oldest backups above the limits, except those a program has written into."""
    for place, backup in enumerate(list_backups(path, state)):
        old = time.time() - backup.time > RECENT or place >= MAX_RECENT
        if place >= MAX_BACKUPS and old and backup.is_intact:
            with contextlib.suppress(OSError):
                backup.file.unlink()


def save_copy(path: Path, data: bytes, state: Path) -> Backup | None:
    """Back up this content of a file; None when the newest copy holds it already, or on failure."""
    content, copies = digest(data), _copies_in(_folder(path, state), path)
    if copies and copies[0].digest == content:
        return None
    try:
        target = _new_name(_prepare_folder(path, state), path, content)
        write_new(target, data)
    except OSError:  # a full disk must not stop the reading that called this
        return None
    _drop_old(path, state)
    return Backup(path, target, time.time(), content)


def note_written(path: Path, data: bytes, state: Path) -> None:
    """Keep a copy of what memtui has just written, in place of the last such copy.

    It is the newest good text until another is seen: what was replaced may have been undone. It has
    the number of the newest backup and does not count as one. A failure is ignored.
    """
    with contextlib.suppress(OSError):
        folder = _prepare_folder(path, state)
        copies = _copies_in(folder, path)
        number = max((copy.number for copy in copies if not copy.is_of_written), default=0)
        name = f"{number:010d}-{time.time_ns()}-{digest(data)}-{_WRITTEN}"
        write_new(folder / name, data)
        for copy in copies:
            if copy.is_of_written:
                copy.file.unlink(missing_ok=True)


def read_stamps(root: Path, state: Path) -> dict[str, str]:
    """Return the stamp with which each shard of a store was last backed up, by its key."""
    try:
        value = json.loads(_stamps_file(root, state).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): str(stamp) for key, stamp in value.items()} if isinstance(value, dict) else {}


def write_stamps(root: Path, state: Path, stamps: Mapping[str, str]) -> None:
    """Note the stamps for the next session; a failure costs another look at the files."""
    with contextlib.suppress(OSError):
        write_private(_stamps_file(root, state), json.dumps(stamps), durable=False)


def _stamps_file(root: Path, state: Path) -> Path:
    """Beside the backups, so that it goes with them."""
    return _folder(root, state).with_suffix(".json")


def list_backups(path: Path, state: Path) -> list[Backup]:
    """Return the backups of a (resolved) file, newest first."""
    return [copy for copy in _copies_in(_folder(path, state), path) if not copy.is_of_written]


def _copies_in(folder: Path, path: Path) -> list[Backup]:
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            parts = name.split("-")
            is_one = len(parts) == 3 or parts[3:] == [_WRITTEN]
            if is_one and parts[0].isdecimal() and parts[1].isdecimal():
                found.append(Backup(path, folder / name, int(parts[1]) / 1e9, parts[2]))
    return sorted(found, key=lambda copy: (copy.number, copy.is_of_written), reverse=True)


def last_good(path: Path, state: Path) -> Backup | None:
    """Return the newest good text that the file had, what memtui wrote last or a backup: one that
    is intact, not blank and, for a JSON file, valid.

    A file may have been broken just before it was replaced or copied.
    """
    for backup in _copies_in(_folder(real_path(path), state), path):
        with contextlib.suppress(UnreadableFile):
            data = backup.read()
            if path.suffix == ".json" and data:
                load(decode(data))
            if data.strip(b"\0 \t\r\n") and digest(data) == backup.digest:
                return backup
    return None


def find_late_writes(path: Path, state: Path) -> list[Backup]:
    """Return the backups that another program wrote to after memtui had replaced the file."""
    return [backup for backup in list_backups(real_path(path), state) if not backup.is_intact]


def delete_backups(path: Path, state: Path) -> None:
    """Delete every backup of a file, as when a secret is deleted."""
    import shutil

    shutil.rmtree(_folder(real_path(path), state), ignore_errors=True)


def _all(state: Path) -> Iterator[Backup]:
    with contextlib.suppress(OSError):
        for name in os.listdir(state / "kept"):
            yield from _copies_in(state / "kept" / name, Path())


def prune(state: Path, now: float) -> None:
    """Delete backups that are too old, and the oldest above the total size. Called at start."""
    total, newest = 0, set()
    newest_first = sorted(
        _all(state), key=lambda entry: (entry.time, entry.file.name), reverse=True
    )
    for backup in newest_first:
        with contextlib.suppress(OSError):
            total += backup.file.stat().st_size
            old = now - backup.time > LONGEST and backup.file.parent in newest
            if old or total > LARGEST_TOTAL:
                backup.file.unlink()
        newest.add(backup.file.parent)
