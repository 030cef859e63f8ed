"""Restore whole stores into an empty place: the same files, bytes and times.

A database is rebuilt from its rows. The restoration is one action of the journal, an edit of a
folder; it is made in one step and undone in one step. A store that was written to since is not
removed, so that nothing newer is lost.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from memtui.bundle.bundle_reader import ImportDocument
from memtui.bundle.bundle_writer import ACCESSES, quote_name
from memtui.changes import Edit, StoreEdits, folder_edit
from memtui.errors import BundleError, Refused, SaveError, UnreadableFile
from memtui.files import atomic_replace, staging
from memtui.files.atomic_replace import sync
from memtui.files.reading import decode, digest, encode, real_path
from memtui.files.save_hooks import WriteRecorder, failpoint
from memtui.files.sidecar_lines import FOLDER, read_entries
from memtui.paths import private_folder, write_new
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.stores.format import WHOLE, DatabaseSupport, IncomingStore, rows_digest
from memtui.stores.registry import format_of
from memtui.text import counted


class PlacedStore(Struct, frozen=True):
    """A store and the root it will get."""

    store: IncomingStore
    root: Path


class Restoration(Struct, frozen=True):
    """The stores and files that restoring a document would make."""

    place: Path
    stores: tuple[PlacedStore, ...]
    tree: Tree
    existed: bool = False
    """Whether the place is an existing empty folder."""

    @property
    def files(self) -> int:
        """How many files it makes."""
        return sum(map(len, self.tree.values()))

    @property
    def title(self) -> str:
        """Its name in the log and the undo message."""
        count = sum(len(placed.store.memories) for placed in self.stores)
        return f"import {counted(count, 'memory')}"

    @property
    def parts(self) -> tuple[StoreEdits, ...]:
        """One edit that makes all of it; every store is named, so that the journal lists the action
        for each of them."""
        place = str(self.place.absolute())
        edit = folder_edit(place, None, self.tree, existed=self.existed)
        first, *others = (str(placed.root) for placed in self.stores)
        return (StoreEdits(first, (edit,)), *(StoreEdits(root, ()) for root in others))


def plan_restore(
    document: ImportDocument, place: Path, cancelled: IsCancelled = never
) -> Restoration:
    """Return the plan of restoring a document; reads every file of it and writes nothing.

    Args:
        document: see `read_document`.
        place: a folder that does not exist, or an empty one, which is replaced.
        cancelled: asked between stores.

    Raises:
        Refused: the place is not empty or memtui was started in it, or the document lacks a part
            of a store.
        BundleError: a format is unknown, or the file was changed since it was read.
        Cancelled: `cancelled` returned True.
    """
    if not is_empty(place):
        raise Refused("this place is not empty and holds no store", where=str(place))
    if place.exists() and os.path.samefile(place, os.curdir):
        raise Refused(
            "memtui was started in this folder, which restoring would replace",
            where=str(place),
            do="name a folder that does not exist",
        )
    several = len(document.stores) > 1
    stores = []
    files: dict[str, list[Any]] = {}
    databases: dict[str, list[Any]] = {}
    for store in _stores_to_restore(document):
        if cancelled():
            raise Cancelled("stopped; nothing was imported")
        known = format_of(store.format)
        if known is None:
            what = f"it holds a store of a format memtui does not know: {store.format!r}"
            raise BundleError(what)
        base = Path(quote_name(store.label)) if several else Path()
        stores.append(PlacedStore(store, place.absolute() / base / store.root))
        for name, read in sorted(store.files.items()):
            files[str(base / name)] = [decode(read()), store.times.get(name)]
        if known.database is not None and store.rows is not None:
            databases[str(base / known.database.name)] = [store.format, store.rows()]
    tree = {"files": files, "databases": databases}
    return Restoration(place, tuple(stores), tree, place.is_dir())


def _stores_to_restore(document: ImportDocument) -> list[IncomingStore]:
    """The stores that are not empty. Raises Refused where one is incomplete."""
    found = [store for store in document.stores if store.memories or store.files or store.rows]
    if not found:
        raise Refused("the file holds no store to restore", where=str(document.path))
    partial = [s.label for s in found if not s.whole or not (s.files or s.rows)]
    if partial:
        raise Refused(
            f"the file holds memories of {', '.join(partial)}, but not the whole store",
            where=str(document.path),
            do="import it into a store that exists",
        )
    return found


FILES_PER_REPORT = 50
DATABASE_SUFFIXES = ("-wal", "-shm", "-journal")
"""Suffixes of files that SQLite creates while a database is open."""


Tree = Mapping[str, Mapping[str, Any]]
"""The content of a folder as an edit of it holds it, by relative path: `files` maps to the text
(bytes decoded with surrogateescape) and the modification time in nanoseconds, `databases` to the
name of the format and the rows."""


def _recorded_file(tree: Tree, place: Path) -> tuple[str, str]:
    """Return name and digest of one file for the recorder. Raises BundleError without a file.

    Either all files are there or none, so one shows after a crash whether the edit was made.
    """
    for name, (text, _) in tree["files"].items():
        return str(place / name), digest(encode(text))
    for name, (_, rows) in tree["databases"].items():
        return f"{place / name}{WHOLE}", rows_digest(rows)
    raise BundleError("there is nothing in it", where=str(place))


def is_empty(place: Path) -> bool:
    """Whether the place does not exist or is an empty folder, apart from temporary files."""
    if not os.path.lexists(place):
        return True
    try:
        names = os.listdir(place)
        return all(staging.is_hidden(name, real_path(place)) for name in names)
    except OSError:
        return False


def apply_tree_edit(edit: Edit, recorder: WriteRecorder, report: Report = silent) -> None:
    """Install the stores or remove them.

    Args:
        edit: `after` is installed, else `before` is removed (and leaves an empty folder if there
            was one).
        recorder: gets one file for all.
        report: called with the files written.

    Raises:
        Refused: the place is not empty, or was written to since.
        SaveError: a file cannot be written or removed; then nothing has changed.
        BundleError: the rows make no database.
    """
    place = Path(edit.path)
    if edit.after is not None:
        _install(edit.after, place, recorder, report)
    elif edit.before is not None:
        _remove(edit.before, place, recorder, folder_stays=bool(edit.key))


# ---- installing ---------------------------------------------------------------------------------


def _install(tree: Tree, place: Path, recorder: WriteRecorder, report: Report) -> None:
    if not is_empty(place):
        raise Refused("this place is not empty", where=str(place))
    name, post = _recorded_file(tree, place)
    try:
        with staging.new_stage(place) as stage:
            failpoint("fill")
            _fill(tree, stage, report)
            recorder.intend(name, "", post)
            try:
                staging.move_into_place(stage, place)
            except OSError as error:
                if any(_changed_names(tree, stage)):
                    what = f"nothing was imported: {error.strerror or error}"
                    kept = atomic_replace.keep_beside(real_path(place), stage)
                    do = f"another program has written into {kept}"
                    raise SaveError(what, where=str(place), do=do) from error
                raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise SaveError(f"nothing was imported: {reason}", where=str(place)) from error
    recorder.done(name)


def _fill(tree: Tree, stage: Path, report: Report) -> None:
    """Write every file below the stage and sync it."""
    written: list[Path] = []
    for number, (name, (text, changed)) in enumerate(tree["files"].items()):
        if number % FILES_PER_REPORT == 0:
            report(Progress("restoring", number, len(tree["files"])))
        target = stage / name
        private_folder(target.parent)
        write_new(target, encode(text))
        if changed is not None:  # some formats read it
            with contextlib.suppress(OSError, OverflowError, ValueError):
                os.utime(target, ns=(changed, changed))
        written.append(target)
    for name, (format, rows) in tree["databases"].items():
        report(Progress("restoring"))
        private_folder((stage / name).parent)
        _database(format).rebuild(rows, stage / name)
    for target in written:
        sync(target)
    for folder, _, _ in os.walk(stage):
        sync(Path(folder))


def _database(format: str) -> DatabaseSupport:
    known = format_of(format)
    if known is None or known.database is None:
        raise BundleError(f"memtui knows no database of the format {format!r}")
    return known.database


# ---- removing -----------------------------------------------------------------------------------


def _remove(tree: Tree, place: Path, recorder: WriteRecorder, *, folder_stays: bool) -> None:
    staging.clear_leftovers(place)
    if is_empty(place):
        return
    name, pre = _recorded_file(tree, place)
    try:
        with _exclusive(tree, place):
            _refuse_changed(tree, place, place)
            recorder.intend(name, pre, "")
            with staging.removing_folder(place) as hidden:
                _refuse_changed(tree, hidden, place)
        if folder_stays:
            with contextlib.suppress(OSError):
                real_path(place).mkdir()
    except OSError as error:
        reason = error.strerror or str(error)
        raise SaveError(f"nothing was removed: {reason}", where=str(place)) from error
    recorder.done(name)


@contextmanager
def _exclusive(tree: Tree, place: Path) -> Iterator[None]:
    """Hold an exclusive lock on each database. Raises Refused when one has changed."""
    with ExitStack() as stack:
        for name, (format, rows) in tree["databases"].items():
            if (place / name).exists():
                stack.enter_context(_database(format).alone_with(place / name, rows))
        yield


def _refuse_changed(tree: Tree, folder: Path, place: Path) -> None:
    """Raise Refused when the folder holds anything but what was installed."""
    for name in _changed_names(tree, folder):
        problem = "was changed" if name in tree["files"] else "was made there"
        raise Refused(
            f"{name} {problem} since; nothing was removed",
            where=str(place),
            do="undo what came later first, or delete the folder yourself",
        )


def _changed_names(tree: Tree, folder: Path) -> Iterator[str]:
    database_files = {name + suffix for name in tree["databases"] for suffix in DATABASE_SUFFIXES}
    for base, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(base, name))]
        for path in (Path(base) / name for name in sorted([*names, *links])):
            name = str(path.relative_to(folder))
            if name in tree["databases"] or name in database_files:
                continue
            # Accesses that were counted since are no change that anybody would miss.
            if not name.endswith(ACCESSES) and not _is_unchanged(tree, name, path):
                yield name


def _is_unchanged(tree: Tree, name: str, path: Path) -> bool:
    written = tree["files"][name][0] if name in tree["files"] else None
    try:
        now = decode(atomic_replace.read_if_exists(path) or b"")
    except UnreadableFile:
        return False
    if now == written:
        return True
    # Of the sidecar the newest line of each memory counts, not its bytes.
    texts = (now, written or "")
    entries = [{id: entry for id, entry in read_entries(t).items() if entry} for t in texts]
    return path.parent.name == FOLDER and entries[0] == entries[1]
