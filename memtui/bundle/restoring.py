"""Restore whole stores into an empty place: the same files, bytes and times.

The files are made under a hidden name and appear in one step. The journal has no action for it: to
take a restoration back, the person deletes the folder.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memtui.bundle.bundle_reader import ImportDocument
from memtui.bundle.bundle_writer import quote_name
from memtui.errors import BundleError, Refused, SaveError
from memtui.files import atomic_replace, staging
from memtui.files.atomic_replace import sync
from memtui.files.reading import real_path
from memtui.files.save_hooks import failpoint
from memtui.paths import private_folder, write_new
from memtui.progress import Cancelled, IsCancelled, Progress, Report, never, silent
from memtui.stores.format import DatabaseSupport, IncomingStore
from memtui.stores.registry import format_of

FILES_PER_REPORT = 50


class PlacedStore(Struct, frozen=True):
    """A store and the root it will get."""

    store: IncomingStore
    root: Path


class PlacedFile(Struct, frozen=True):
    """A file of a store by its path below the place."""

    name: str
    read: Callable[[], bytes]
    changed: int | None
    """Modification time in nanoseconds since 1970."""


class PlacedDatabase(Struct, frozen=True):
    """A database that a bundle of before holds as rows, by its path below the place."""

    name: str
    rebuild: Callable[[Path], None]


class Restoration(Struct, frozen=True):
    """The stores and files that restoring a document would make."""

    place: Path
    stores: tuple[PlacedStore, ...]
    contents: tuple[PlacedFile, ...]
    databases: tuple[PlacedDatabase, ...] = ()

    @property
    def files(self) -> int:
        """How many files it makes."""
        return len(self.contents) + len(self.databases)

    @property
    def taken_back_by(self) -> str:
        """What a person does to undo it."""
        return f"to take it back, delete {self.place}"


def plan_restore(
    document: ImportDocument, place: Path, cancelled: IsCancelled = never
) -> Restoration:
    """Return the plan of restoring a document; writes nothing.

    Args:
        document: see `read_document`.
        place: a folder that does not exist, or an empty one, which is replaced.
        cancelled: asked between stores.

    Raises:
        Refused: the place is not empty or memtui was started in it, or the document lacks a part
            of a store.
        BundleError: a format is unknown.
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
    bases = _bases(document.stores)
    stores: list[PlacedStore] = []
    files: list[PlacedFile] = []
    databases: list[PlacedDatabase] = []
    for store in _stores_to_restore(document):
        if cancelled():
            raise Cancelled("stopped; nothing was imported")
        known = format_of(store.format)
        if known is None:
            what = f"it holds a store of a format memtui does not know: {store.format!r}"
            raise BundleError(what)
        base = bases[store.label]
        stores.append(PlacedStore(store, place.absolute() / base / store.root))
        files += [
            PlacedFile(str(base / name), read, store.times.get(name))
            for name, read in sorted(store.files.items())
        ]
        database, rows = known.database, store.rows
        if database is not None and rows is not None:
            name = str(base / database.name)
            databases.append(PlacedDatabase(name, partial(_rebuild, database, rows)))
    return Restoration(place, tuple(stores), tuple(files), tuple(databases))


def plan_restore_over(document: ImportDocument, home: Path) -> list[Restoration]:
    """Return the plans of restoring each store where it lay below a home folder, which has other
    files; [] if one is not whole or lay elsewhere, or if something is in its place already.

    Raises Refused and BundleError as `plan_restore`.
    """
    plans = []
    for store in document.stores:
        is_whole = store.whole and (store.files or store.rows)
        if not (is_whole and store.home and is_empty(home / store.home)):
            return []
        alone = replace(document, stores=(store,))
        plans.append(plan_restore(alone, home / store.home))
    places = [plan.place for plan in plans]
    is_nested = any(one in other.parents for one in places for other in places)
    return [] if is_nested else plans


def _bases(stores: Sequence[IncomingStore]) -> dict[str, Path]:
    """Label -> the folder of each store in the place: where it lay in its home folder, so that the
    place can be one; else one of its label. A single store is the place itself."""
    if len(stores) == 1:
        return {stores[0].label: Path()}
    found: dict[str, Path] = {}
    used: set[str] = set()
    for store in stores:
        base = Path(quote_name(store.label)) if store.home is None else Path(store.home)
        files = {str(base / name).casefold() for name in (*store.files, store.root)}
        if used & files:
            base = Path(quote_name(store.label))
        used |= files
        found[store.label] = base
    return found


def _rebuild(database: DatabaseSupport, rows: Callable[[], list[str]], file: Path) -> None:
    database.rebuild(rows(), file)


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


def is_empty(place: Path) -> bool:
    """Whether the place does not exist or is an empty folder, apart from temporary files."""
    if not os.path.lexists(place):
        return True
    try:
        names = os.listdir(place)
        return all(staging.is_hidden(name, real_path(place)) for name in names)
    except OSError:
        return False


def restore(plan: Restoration, report: Report = silent) -> None:
    """Make the planned stores in their place.

    Args:
        plan: see `plan_restore`.
        report: called with the files written.

    Raises:
        Refused: the place is not empty any more.
        SaveError: a file cannot be written.
        BundleError: a file of the bundle was changed since it was read, or rows make no database.
            In each case nothing is left behind.
    """
    place = plan.place
    if not is_empty(place):
        raise Refused("this place is not empty", where=str(place))
    try:
        with staging.new_stage(place) as stage:
            failpoint("fill")
            _fill(plan, stage, report)
            try:
                staging.move_into_place(stage, place)
            except OSError as error:
                if not _is_as_filled(plan, stage):
                    what = f"nothing was imported: {error.strerror or error}"
                    kept = atomic_replace.keep_beside(real_path(place), stage)
                    do = f"another program has written into {kept}"
                    raise SaveError(what, where=str(place), do=do) from error
                raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise SaveError(f"nothing was imported: {reason}", where=str(place)) from error


def _fill(plan: Restoration, stage: Path, report: Report) -> None:
    """Write every file below the stage and sync it."""
    written: list[Path] = []
    for number, file in enumerate(plan.contents):
        if number % FILES_PER_REPORT == 0:
            report(Progress("restoring", number, len(plan.contents)))
        target = stage / file.name
        private_folder(target.parent)
        write_new(target, file.read())
        if file.changed is not None:  # some formats read it
            with contextlib.suppress(OSError, OverflowError, ValueError):
                os.utime(target, ns=(file.changed, file.changed))
        written.append(target)
    for database in plan.databases:
        report(Progress("restoring"))
        private_folder((stage / database.name).parent)
        database.rebuild(stage / database.name)
        written.append(stage / database.name)
    for target in written:
        sync(target)
    for folder, _, _ in os.walk(stage):
        sync(Path(folder))


def _is_as_filled(plan: Restoration, stage: Path) -> bool:
    """Whether no other program has written below the stage."""
    found = {str(path.relative_to(stage)) for path in stage.rglob("*") if not path.is_dir()}
    made = {each.name for each in plan.contents} | {each.name for each in plan.databases}
    return found == made and all(
        (stage / each.name).read_bytes() == each.read() for each in plan.contents
    )
