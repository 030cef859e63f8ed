"""Drafts of forms: what was typed and not yet saved, stored in the state folder.

One JSON file (0600) for each form, written while the person types. The process that has the form
open holds a lock on it, so that a second memtui does not offer it; the kernel releases the lock
when the process ends, whatever the cause.
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
"""A larger file is not a draft of memtui's."""


@dataclass(frozen=True, slots=True)
class FormDraft:
    """The subject of a form and its values."""

    act: Act
    root: str
    """Path of the store it writes to."""
    about: tuple[tuple[str, str], ...]
    """Store path and id of each memory it changes; empty for a new memory."""
    values: Mapping[str, str]
    """Field -> the value typed."""
    before: Mapping[str, str] = field(default_factory=dict)
    """Field -> the value of the memory when the form was opened."""
    time: float = 0.0
    """Unix seconds when it was written."""


class DraftFile:
    """The draft file of one open form."""

    def __init__(self, path: Path, lock: int | None = None) -> None:
        self.path = path
        self._lock = lock
        self._is_discarded = False
        self._write_lock = threading.Lock()
        """`discard` is called in the worker that has saved."""

    def save(self, draft: FormDraft) -> None:
        """Write the draft, replacing the former one. Raises SaveError."""
        with self._write_lock:
            if not self._is_discarded:
                self._write(draft)

    def _write(self, draft: FormDraft) -> None:
        new_file = self.path.with_suffix(".new")
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = -1
        try:
            private_folder(self.path.parent)
            handle = os.open(new_file, flags, 0o600)
            with os.fdopen(os.dup(handle), "w", encoding="ascii") as file:
                json.dump({**asdict(draft), "time": time.time()}, file)
            _lock(handle)  # before it gets its name, so that it is never seen unlocked
            os.replace(new_file, self.path)
        except OSError as error:
            if handle >= 0:
                os.close(handle)
            raise SaveError(
                f"no draft can be kept: {error.strerror}", where=str(self.path.parent)
            ) from error
        self._unlock()
        self._lock = handle

    def discard(self) -> None:
        """Delete the draft for good, after a save or a discard: a later `save` does nothing."""
        with self._write_lock:
            self._is_discarded = True
            self.clear()

    def clear(self) -> None:
        """Delete the draft, since the form has no changes now."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        self._unlock()

    def release(self) -> None:
        """Release the lock and leave the draft, so that it may be offered."""
        with self._write_lock:
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def new_file(state: Path) -> DraftFile:
    """Return the draft file of a form just opened; it is created by the first `save`."""
    return DraftFile(state / FOLDER / f"form-{secrets.token_hex(8)}.json")


def find_drafts(state: Path, roots: Sequence[Path]) -> list[tuple[Path, FormDraft]]:
    """Return the drafts of these stores that no running memtui has open, the latest first."""
    root_paths = set(map(str, roots))
    found = []
    for path in (state / FOLDER).glob("form-*.json"):
        file = claim(path)
        if file is not None:
            draft = _read(path)
            file.release()
            if draft is not None and draft.root in root_paths:
                found.append((path, draft))
    return sorted(found, key=lambda item: -item[1].time)


def claim(path: Path) -> DraftFile | None:
    """Lock an existing draft for a form; None when another memtui has it."""
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
        record: Any = json.loads(path.read_bytes())
        return FormDraft(
            Act(record["act"]),
            str(record["root"]),
            tuple((str(root), str(id)) for root, id in record["about"]),
            {str(name): str(words) for name, words in record["values"].items()},
            {str(name): str(words) for name, words in record["before"].items()},
            float(record["time"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
