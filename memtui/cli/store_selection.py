"""Open the stores that a command names, or those found by default."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from memtui.cli.commands import COMMANDS
from memtui.errors import StoreError, find_nearest
from memtui.paths import is_address, is_place
from memtui.text import one_line

if TYPE_CHECKING:
    from memtui.config import Settings
    from memtui.library import Library
    from memtui.library.store_catalog import KnownStore, StoreCatalog
    from memtui.query import Query
    from memtui.stores.base import Unreadable


INCOMPLETE = 3
"""Exit code of a command that lacks what could not be read, as that of `restic backup`."""
INCOMPLETE_KEY = "memtui.incomplete"
"""In the `meta` of click's context: something could not be read."""
KEEPING = 0.5
"""Seconds for which a command may keep texts; the first look at a large store needs several."""
MAX_NAMED = 5
"""Unreadable files that a command names one by one."""


def show_stores(names: Sequence[str], *, looks: bool = True) -> int:
    """Open the screen on stores, or print a summary where there is no terminal; without click.

    `names`: paths or labels, none for the default stores. `looks`: the screen also offers stores
    that are found and not open. Returns the exit code. Raises
    StoreError for an unknown name.
    """
    refuse_missing(names)
    named = [Path(name) if is_address(name) else Path(name).absolute() for name in names]
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        library = load_library(names)
        for state in library.snapshot.stores:
            print(f"{state.label}: {state.size} in {one_line(str(state.root))}")
            for item in state.unreadable:
                print(f"  unreadable: {one_line(item.file)}: {one_line(item.reason)}")
        return INCOMPLETE if _find_unreadable(library) else 0
    from memtui.tui import start

    @cache
    def catalog() -> StoreCatalog:
        return find_catalog(names, looks=looks)

    def open_chosen() -> Library:
        if all(map(is_place, names)):
            return catalog().open(catalog().chosen())
        return open_library(names)

    return start(open_chosen, roots=named, catalog=catalog)


def load_library(names: Sequence[str]) -> Library:
    """Open these stores and read all their memories; a terminal sees how far it is.

    Raises StoreError.
    """
    from memtui.cli.output import shown_progress
    from memtui.library.text_looks import keep_texts

    library = open_library(names)
    with shown_progress() as report:
        library.load(report)
        library.loaded.save_new(report)
    until = monotonic() + KEEPING
    looked = keep_texts(library, load_settings().history, lambda: monotonic() > until)
    if looked.fault:
        print(f"memtui: {one_line(looked.fault)}", file=sys.stderr)
    library.queried.connect()
    faults = [*library.queried.faults.values()]
    if faults and len(faults) == len(library.stores):
        raise faults[0]
    return library


def index_library(library: Library) -> None:
    """Load or build the search index, and write it anew where much has changed; a terminal sees
    how far it is."""
    from memtui.cli.output import shown_progress
    from memtui.library.reader import SAVED_FROM

    with shown_progress() as report:
        library.index(report)
    library.save_index(share=SAVED_FROM)


def load_whole_library(
    names: Sequence[str], words: Query | None = None, *, is_reading: bool = True
) -> Library:
    """As `read_library`, for a command that looks at all memories; if it is not `is_reading`, as
    `load_library`.

    Stores that are asked are read too, as far as they are small. `words`: what is looked for first
    in larger ones.
    """
    from memtui.cli.output import shown_progress
    from memtui.query import Query

    library = load_library(names)
    with shown_progress() as report:
        library = library.hold(words or Query(), report)
    if is_reading:
        _name_unreadable(library)
    else:
        print_unread(library.unheld)
    return library


def read_library(names: Sequence[str], as_of: str | None = None) -> Library:
    """As `load_library_as_of`, for a command that prints what the stores hold.

    What could not be read is named on standard error, and the exit code of the command is then
    `INCOMPLETE`.
    """
    library = load_library_as_of(names, as_of)
    _name_unreadable(library)
    return library


def _name_unreadable(library: Library) -> None:
    print_unread(f"{one_line(i.file)}: {one_line(i.reason)}" for i in note_unreadable(library))


def print_unread(missing: Iterable[str]) -> None:
    """Name on standard error what could not be read, by its file and reason."""
    named = list(missing)
    for line in named[:MAX_NAMED]:
        print(f"memtui: not read: {line}", file=sys.stderr)
    if len(named) > MAX_NAMED:
        more = f"not read: {len(named) - MAX_NAMED} more; memtui stores lists all"
        print(f"memtui: {more}", file=sys.stderr)


def note_unreadable(library: Library) -> list[Unreadable]:
    """Return what could not be read; if there is any, the command ends with `INCOMPLETE`."""
    missing = _find_unreadable(library)
    if missing:
        note_incomplete()
    return missing


def note_incomplete() -> None:
    """Let the command end with `INCOMPLETE`."""
    import click

    click.get_current_context().meta[INCOMPLETE_KEY] = True


def _find_unreadable(library: Library) -> list[Unreadable]:
    from memtui.stores.base import Unreadable

    # A file that vanished since the folder was listed holds nothing that could be missing.
    read = [item for s in library.snapshot.stores for item in s.unreadable if not item.gone]
    away = library.queried.faults.items()
    roots = {store.label: str(store.root) for store in library.stores}
    return [*read, *(Unreadable(roots[label], each.what) for label, each in away)]


def load_library_as_of(names: Sequence[str], as_of: str | None) -> Library:
    """Open and read these stores, as they were at a time. Raises StoreError, QueryError."""
    if as_of is None:
        return load_library(names)
    from datetime import UTC, datetime

    from memtui.query import parse_time_end

    at = parse_time_end(as_of, datetime.now(UTC)).time
    from memtui.library.past_library import library_at

    return library_at(load_library(names), at)


def open_library(names: Sequence[str]) -> Library:
    """Open the stores with these paths or labels, or the default ones, without reading them.

    Raises StoreError for a name that is neither, and where there is no store at all.
    """
    catalog = find_catalog(names)
    labels = [name for name in names if not is_place(name)]
    known = catalog.known() if labels else catalog.chosen()
    if not known:
        if labels:
            raise _unknown_store(labels[0], ())
        raise nothing_open(catalog)
    library = catalog.open(known)
    if not labels:
        return library
    known_labels = [store.label for store in library.stores]
    for label in labels:
        if label not in known_labels:
            raise _unknown_store(label, known_labels)
    named = {os.path.realpath(store.root) for store in _named(names)}
    inside = [s.label for s in library.stores if os.path.realpath(s.root) in named]
    return library.only([*labels, *inside])


def load_settings() -> Settings:
    """The settings of the person, without their faults."""
    from memtui import config, paths

    return config.load(paths.config_file()).settings


def find_catalog(names: Sequence[str], *, looks: bool = True) -> StoreCatalog:
    """List the stores with these paths or labels, without opening one.

    With paths alone nothing else is open, and no choice is remembered. `looks`: known places are
    searched too. Raises StoreError for a path that does not exist.
    """
    from memtui import config, paths
    from memtui.cli.error_log import start_log
    from memtui.library.store_catalog import StoreCatalog

    refuse_missing(names)
    start_log()
    loaded = config.load(paths.config_file())
    for problem in loaded.problems:
        print(f"memtui: {one_line(str(problem))}", file=sys.stderr)
    settings = loaded.settings
    listed = _named(names)
    by_path = bool(names) and all(map(is_place, names))
    if not by_path:
        listed += _listed_stores(settings)
    return StoreCatalog(
        lambda stores: _open(stores, settings),
        listed=listed,
        folder=Path.cwd() if looks else None,
        home=Path.home() if looks else None,
        state=None if by_path else paths.state_folder(),
    )


def _named(names: Sequence[str]) -> list[KnownStore]:
    return [each for name in names if is_place(name) for each in _stores_within(Path(name))]


def _open(stores: Sequence[KnownStore], settings: Settings) -> Library:
    from memtui import paths
    from memtui.library import Library
    from memtui.search.ranking import read_weights

    return Library.open(
        [store.root for store in stores],
        cache=paths.cache_folder(),
        state=None if paths.served_mode() == paths.READ_ONLY else paths.state_folder(),
        labels=[store.label for store in stores],
        formats=[store.format for store in stores],
        weights=read_weights({"half_life_days": settings.half_life_days, **settings.weights}),
        embedding=settings.embedding,
    )


def nothing_open(catalog: StoreCatalog) -> StoreError:
    """Why no store is open, and what to do."""
    if catalog.known():
        return StoreError(
            "every store is closed",
            do="open one in `memtui`, or name its path: `memtui stores` lists them",
        )
    return StoreError("no memory stores found", do="try `memtui PATH` or `memtui demo`")


def refuse_missing(names: Sequence[str]) -> None:
    """Raise StoreError for a name that can only be a path and does not exist."""
    for name in names:
        if os.sep in name and not is_place(name):
            raise StoreError("no such file or directory", where=name)


def _stores_within(path: Path, label: str = "") -> list[KnownStore]:
    from memtui.library import opening
    from memtui.library.store_catalog import KnownStore

    label = label or opening.label_of(path)
    return [KnownStore(root, format, label) for root, format in opening.stores_within(path)]


def _listed_stores(settings: Settings) -> list[KnownStore]:
    """The stores of MEMTUI_STORES, else of config.toml; [] if neither names any.

    A block in config.toml is all stores that lie at its path, unless it names a format.
    """
    from memtui.library.store_catalog import KnownStore

    if listed := os.environ.get("MEMTUI_STORES", ""):
        folders = [Path(path) for path in listed.split(os.pathsep) if path]
        return [store for folder in folders for store in _stores_within(folder)]
    return [
        store
        for block in settings.stores
        for store in (
            [KnownStore(block.path, block.format, block.label)]
            if block.format
            else _stores_within(block.path, block.label)
        )
    ]


def _unknown_store(name: str, labels: Sequence[str]) -> StoreError:
    from shlex import quote

    advice = f"labels: {', '.join(labels) or 'none'}"
    if ":" in name:  # which no label has, but a filter
        advice = f"to look for it: memtui search {quote(name)}; {advice}"
    elif command := find_nearest(name, COMMANDS):
        advice = f"did you mean the command {command}? {advice}"
    return StoreError("no such path or store label", where=name, do=advice)
