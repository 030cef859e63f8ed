"""A whole store into an empty place: the same files, bytes and times as where it came from.

Text files go through the journal and the save path like any change, so that undo takes them back.
A database is built anew from its rows; before its bytes there was nothing, so it is undone by
deleting it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memtui.bundle.naming import quoted
from memtui.bundle.packing import Cancelled, Report, format_of, silent
from memtui.bundle.unpacking import Document, Incoming
from memtui.changes import TextEdit, invert
from memtui.errors import BundleError, Refused
from memtui.files.commit import commit
from memtui.files.lock import private_folder
from memtui.files.reading import decode, encode
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

    Raises SaveError, Conflict or BundleError; then nothing is left behind.
    """
    parts = [Part(str(p.root), p.edits) for p in restoration.stores if p.edits]
    made: list[Placed] = []
    journal = Journal(state)
    with contextlib.ExitStack() as stack:
        recording = stack.enter_context(journal.begin(restoration.title, parts))
        try:
            for number, placed in enumerate(restoration.stores):
                report(f"restoring {placed.store.label}", number, len(restoration.stores))
                made.append(placed)
                _make_database(placed)
                commit(placed.edits, recording)
                _set_times(placed)
        except BaseException:
            for placed in made[:-1]:
                commit(invert(placed.edits), recording)
            for placed in made:
                _remove_database(placed)
            raise
        return recording.action if parts else None


def _make_database(placed: Placed) -> None:
    kind = _database_of(placed.store)
    if kind is not None and placed.database is not None and placed.store.rows is not None:
        private_folder(placed.database.parent)
        kind.rebuild(placed.store.rows(), placed.database)


def _remove_database(placed: Placed) -> None:
    if placed.database is not None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{placed.database}{suffix}").unlink(missing_ok=True)


def _set_times(placed: Placed) -> None:
    """Give the files the times they had: some formats read them."""
    for path, changed in placed.times.items():
        with contextlib.suppress(OSError, OverflowError, ValueError):
            os.utime(path, ns=(changed, changed))
