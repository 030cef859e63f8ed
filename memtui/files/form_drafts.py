"""What was written in a form and not saved: kept in the state folder until it is.

One JSON file (0600) a form, written while the person types. The process that has the form open
holds a lock on it, so that a second memtui does not offer it; the kernel drops the lock with the
process, however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from memtui.changes import Act
from memtui.errors import SaveError
from memtui.files.external_editor import FOLDER
from memtui.paths import private_folder

MOST_BYTES = 64_000_000
"""A draft beyond this is not ours."""


@dataclass(frozen=True, slots=True)
class FormDraft:
    """What a form was about and what stood in it."""

    act: Act
    root: str
    """Path of the store it writes to."""
    about: tuple[tuple[str, str], ...]
    """Path of the store and id of each memory it is about; none for a new one."""
    values: Mapping[str, str]
    """Field -> what was written."""
    before: Mapping[str, str] = field(default_factory=dict)
    """Field -> what the memory said when the form was opened."""
    time: float = 0.0
    """Seconds since 1970 when it was kept."""


class DraftFile:
    """The file of one open form."""

    def __init__(self, path: Path, lock: int | None = None) -> None:
        self.path = path
        self._lock = lock
        self._is_over = False
        self._turn = threading.Lock()
        """`discard` is called in the worker that has saved."""

    def keep(self, draft: FormDraft) -> None:
        """Write the draft, in place of the one before. Raises SaveError."""
        with self._turn:
            if not self._is_over:
                self._write(draft)

    def _write(self, draft: FormDraft) -> None:
        fresh = self.path.with_suffix(".new")
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = -1
        try:
            private_folder(self.path.parent)
            handle = os.open(fresh, flags, 0o600)
            with os.fdopen(os.dup(handle), "w", encoding="ascii") as file:
                json.dump({**asdict(draft), "time": time.time()}, file)
            _lock(handle)  # before it has its name: it is never seen without
            os.replace(fresh, self.path)
        except OSError as error:
            if handle >= 0:
                os.close(handle)
            raise SaveError(
                f"no draft can be kept: {error.strerror}", where=str(self.path.parent)
            ) from error
        self._unlock()
        self._lock = handle

    def discard(self) -> None:
        """It was saved, or is not wanted. A later `keep` does nothing."""
        with self._turn:
            self._is_over = True
            self.clear()

    def clear(self) -> None:
        """There is nothing to keep at present."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        self._unlock()

    def release(self) -> None:
        """The form is gone, the draft stays: from now on it may be offered."""
        with self._turn:
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def new_file(state: Path) -> DraftFile:
    """A file for a form that was just opened; it is made with the first draft."""
    return DraftFile(state / FOLDER / f"form-{secrets.token_hex(8)}.json")


def find_drafts(state: Path, roots: Sequence[Path]) -> list[tuple[Path, FormDraft]]:
    """The drafts of these stores that no running memtui has open, the latest first."""
    wanted = set(map(str, roots))
    found = []
    for path in (state / FOLDER).glob("form-*.json"):
        file = claim(path)
        if file is not None:
            draft = _read(path)
            file.release()
            if draft is not None and draft.root in wanted:
                found.append((path, draft))
    return sorted(found, key=lambda one: -one[1].time)


def claim(path: Path) -> DraftFile | None:
    """The file for a form that goes on with this draft; None when another memtui has it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        _lock(handle)
        if os.path.samestat(os.fstat(handle), os.stat(path)):
            return DraftFile(path, handle)
    except OSError:
        pass
    os.close(handle)
    return None


def _lock(handle: int) -> None:
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _read(path: Path) -> FormDraft | None:
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        said: Any = json.loads(path.read_bytes())
        return FormDraft(
            Act(said["act"]),
            str(said["root"]),
            tuple((str(root), str(id)) for root, id in said["about"]),
            {str(name): str(words) for name, words in said["values"].items()},
            {str(name): str(words) for name, words in said["before"].items()},
            float(said["time"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
