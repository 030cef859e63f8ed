"""A whole store into an empty place: the same files, bytes and times as where it came from.

The files are written in the journal like any change, so that undo takes them back. A database is
built anew from its rows; undo leaves it, and it can be deleted.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memtui.bundle.naming import quoted
from memtui.bundle.packing import Cancelled, Report, format_of, silent
from memtui.bundle.unpacking import Document, Incoming
from memtui.changes import TextEdit
from memtui.errors import BundleError, Refused, SaveError
from memtui.files.lock import private_folder
from memtui.files.reading import TEMPORARY_MARK, decode, digest, encode
from memtui.files.recorder import Recorder, Unrecorded
from memtui.journal import Journal, Part
from memtui.stores.base import Database


@dataclass(frozen=True, slots=True)
class Placed:
    """One store and where it will lie."""

    store: Incoming
    root: Path
    edits: tuple[TextEdit, ...] = field(repr=False)
    times: Mapping[Path, int] = field(repr=False)
    database: Path | None = None


@dataclass(frozen=True, slots=True)
class Restoration:
    """What bringing a document into an empty place would make."""

    place: Path
    stores: tuple[Placed, ...]

    @property
    def files(self) -> int:
        return sum(len(p.edits) + (p.database is not None) for p in self.stores)

    @property
    def title(self) -> str:
        count = sum(len(placed.store.memories) for placed in self.stores)
        return f"import {count} memories"


def is_empty(place: Path) -> bool:
    """Whether nothing is there that an import could touch."""
    if not os.path.lexists(place):
        return True
    try:
        return place.is_dir() and not any(place.iterdir())
    except OSError:
        return False


def plan_restore(
    document: Document, place: Path, cancelled: Callable[[], bool] = lambda: False
) -> Restoration:
    """What would be made. Reads every file of the document. Raises Refused or BundleError."""
    if not is_empty(place):
        raise Refused("there is something here already, and it is no store", where=str(place))
    partial = [s.label for s in document.stores if not s.whole or not (s.files or s.rows)]
    if partial or not document.stores:
        names = ", ".join(partial) or "nothing"
        raise Refused(
            f"the file holds memories of {names}, but not the whole store",
            where=str(document.path),
            do="import it into a store that exists",
        )
    several = len(document.stores) > 1
    stores = []
    for store in document.stores:
        if cancelled():
            raise Cancelled("stopped; nothing was imported")
        folder = place / quoted(store.label) if several else place
        stores.append(_placed(store, folder.absolute()))
    return Restoration(place, tuple(stores))


def _placed(store: Incoming, base: Path) -> Placed:
    if format_of(store.format) is None:
        raise BundleError(f"it holds a store of a format memtui does not know: {store.format!r}")
    edits, times = [], {}
    for name, load in sorted(store.files.items()):
        path = base / name
        data = load()
        text = decode(data)
        if encode(text) != data:  # bytes of half characters that would join
            raise BundleError("a file cannot be written as it is", where=str(path))
        edits.append(TextEdit(str(path), None, text))
        if name in store.times:
            times[path] = store.times[name]
    kind = _database_of(store)
    database = base / kind.name if kind else None
    return Placed(store, base / store.root, tuple(edits), times, database)


def _database_of(store: Incoming) -> Database | None:
    known = format_of(store.format)
    return known.database if known and store.rows is not None else None


def restore(restoration: Restoration, state: Path, report: Report = silent) -> int | None:
    """Make it. Returns the journal's number for undo; None when nothing can be taken back by it.

    All is written beside the place and then put there in one step. Raises SaveError or BundleError;
    then nothing is left behind.
    """
    parts = [Part(str(p.root), p.edits) for p in restoration.stores if p.edits]
    if not parts:  # a database alone: an action that undo could not take back is none
        _make(restoration, Unrecorded(state), report)
        return None
    with Journal(state).begin(restoration.title, parts) as recording:
        _make(restoration, recording, report)
        return recording.action


def _make(restoration: Restoration, recorder: Recorder, report: Report) -> None:
    place = restoration.place.absolute()
    # One file is named: all are there or none is, so it tells after a crash what became of all.
    mark = next((edit for placed in restoration.stores for edit in placed.edits), None)
    try:
        stage = _stage_for(place)
        try:
            _fill(restoration, place, stage, report)
            if mark is not None:
                recorder.intend(mark.path, "", digest(encode(mark.after or "")))
            _put(stage, Path(os.path.realpath(place)))
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SaveError(f"nothing was imported: {reason}", where=str(place)) from error
    if mark is not None:
        recorder.done(mark.path)


def _stage_for(place: Path) -> Path:
    """A new private folder on the same file system as the place."""
    real = Path(os.path.realpath(place))
    private_folder(real.parent)
    stage = real.parent / f".{real.name[:100]}{TEMPORARY_MARK}{secrets.token_hex(4)}"
    os.mkdir(stage, 0o700)
    if real.is_dir():
        os.chmod(stage, stat.S_IMODE(real.stat().st_mode))
    return stage


def _fill(restoration: Restoration, place: Path, stage: Path, report: Report) -> None:
    """Write every file of the document below the stage, and see it on disk."""
    written: list[Path] = []
    for number, placed in enumerate(restoration.stores):
        report(f"restoring {placed.store.label}", number, len(restoration.stores))
        for edit in placed.edits:
            path = Path(edit.path)
            target = stage / path.relative_to(place)
            private_folder(target.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(target, flags, 0o600), "wb") as file:
                file.write(encode(edit.after or ""))
            _set_time(target, placed.times.get(path))
            written.append(target)
        _make_database(placed, place, stage)
    for target in written:
        _sync(target)
    for folder, _, _ in os.walk(stage):
        _sync(Path(folder))


def _make_database(placed: Placed, place: Path, stage: Path) -> None:
    kind = _database_of(placed.store)
    if kind is not None and placed.database is not None and placed.store.rows is not None:
        target = stage / placed.database.relative_to(place)
        private_folder(target.parent)
        kind.rebuild(placed.store.rows(), target)


def _set_time(path: Path, changed: int | None) -> None:
    """Give the file the time it had: some formats read it."""
    if changed is not None:
        with contextlib.suppress(OSError, OverflowError, ValueError):
            os.utime(path, ns=(changed, changed))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put(stage: Path, place: Path) -> None:
    """Put the stage where the place is: missing, or an empty folder. Raises OSError otherwise."""
    try:
        os.rename(stage, place)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        for entry in sorted(stage.iterdir()):  # a mount point cannot be replaced, only filled
            os.rename(entry, place / entry.name)
    _sync(place.parent)
