"""The stores that can be opened, named by a person or found in known places; which are open.

A store that is found is open unless a person closed it; with a list of stores (config.toml, paths
on the command line), those of the list are open, and others only if a person opened them. What a
person chose is kept in the state folder.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict, replace

from memtui.errors import MemtuiError, StoreError
from memtui.library.library import Library
from memtui.library.opening import unique_label
from memtui.library.snapshot import StoreState
from memtui.library.store_names import project_of
from memtui.paths import read_private, real_root, write_private
from memtui.stores import registry
from memtui.stores.base import MemorySwitch, Remark, SyncState, Unreadable
from memtui.text import ago, counted, file_name, mask_secrets, number, one_line

FILE = "store_choice.json"
MAX_CHOICES = 500
"""Stores whose choice is kept; the oldest are dropped first."""


class KnownStore(Struct, frozen=True):
    """A store that can be opened."""

    root: Path
    format: str
    """Name of its format, or `name:profile`; empty: as it is recognised when it is opened."""
    label: str = ""

    @property
    def key(self) -> str:
        """The same whichever way leads to the store."""
        return f"{self.format.partition(':')[0]}:{real_root(self.root)}"


class StoreContents(Struct, frozen=True):
    """What is known of a store once it has been read."""

    count: int = 0
    accuracy: str = "exact"
    """Of the count, as `text.number` takes it."""
    last_write: datetime | None = None
    """Time of change of its newest file."""
    unreadable: tuple[Unreadable, ...] = ()
    read_only: str = ""
    sync: SyncState | None = None
    remarks: tuple[Remark, ...] = ()
    switches: tuple[MemorySwitch, ...] = ()


class StoreSummary(StoreContents, frozen=True, kw_only=True):
    """A store as lists of stores show it."""

    store: KnownStore
    program: str
    """Which writes it."""
    project: Path
    """The folder it belongs to: a project, or the home folder."""
    is_here: bool
    """It belongs to the folder memtui was started in."""
    is_open: bool


Open = Callable[[Sequence[KnownStore]], Library]


class StoreCatalog:
    """Finds stores, knows which are to be open, and opens them."""

    def __init__(
        self,
        open_stores: Open,
        *,
        listed: Sequence[KnownStore] = (),
        folder: Path | None = None,
        home: Path | None = None,
        state: Path | None = None,
    ) -> None:
        """No place is searched yet.

        Args:
            open_stores: opens these stores as one library.
            listed: stores that a person named; with any of them, others are closed at first.
            folder: where memtui was started; None: no place is searched.
            home: the home folder whose known places are searched.
            state: folder where choices are kept; None: they hold for this run only.
        """
        self.open = open_stores
        self.folder, self.home = folder, home
        self._listed = _labelled(listed)
        self._state = state
        self._choices = _read(state / FILE) if state is not None else {}

    @property
    def is_looking(self) -> bool:
        """Whether known places are searched for stores."""
        return self.folder is not None and self.home is not None

    @property
    def is_listed(self) -> bool:
        """Whether a person listed the stores, so that others are closed at first."""
        return bool(self._listed)

    def known(self) -> list[KnownStore]:
        """Every store that can be opened: those that were named, then those that are found."""
        if self.folder is None or self.home is None:
            return list(self._listed)
        found = registry.discover(self.folder, self.home)
        return _labelled([*self._listed, *(KnownStore(root, f.name) for f, root in found)])

    def chosen(self) -> list[KnownStore]:
        """The stores that are to be open."""
        if self._listed and True not in self._choices.values():
            known = list(self._listed)  # nothing else can be open, so no place is searched
        else:
            known = self.known()
        return [store for store in known if self.is_chosen(store)]

    def is_chosen(self, store: KnownStore) -> bool:
        """Whether this store is to be open."""
        return self._choices.get(store.key, self._is_open_at_first(store))

    def _is_open_at_first(self, store: KnownStore) -> bool:
        return not self._listed or any(store.key == each.key for each in self._listed)

    def choose(self, known: Sequence[KnownStore], chosen: Collection[str]) -> None:
        """Set which of the known stores are open, by their keys, and remember what changed."""
        changed = [store for store in known if (store.key in chosen) != self.is_chosen(store)]
        if self._state is not None:  # another memtui may have opened or closed others since
            self._choices |= _read(self._state / FILE)
        for store in changed:
            self._choices.pop(store.key, None)
            if (store.key in chosen) != self._is_open_at_first(store):
                self._choices[store.key] = store.key in chosen
        if self._state is not None:
            newest = dict(list(self._choices.items())[-MAX_CHOICES:])
            with contextlib.suppress(OSError):
                write_private(self._state / FILE, json.dumps(newest, indent=1) + "\n")

    def summarize(self, library: Library | None = None) -> list[StoreSummary]:
        """Every known store with what it holds, by project and program.

        Stores that are not open are read, from the cache where that is possible.

        Args:
            library: the open stores; what they hold is taken from it.
        """
        known = self.known()
        opened = {} if library is None else contents_of(library)
        return self.describe(known, {**self._read_closed(known, opened), **opened})

    def describe(
        self, known: Sequence[KnownStore], contents: dict[str, StoreContents] | None = None
    ) -> list[StoreSummary]:
        """These stores by project and program; what they hold as far as it is given."""
        found = []
        for store in known:
            project = project_of(store.root, self.folder, self.home)
            holds = (contents or {}).get(store.key, StoreContents())
            found.append(
                StoreSummary(
                    **asdict(holds),
                    store=store,
                    program=registry.product_of(store.format, store.root).name,
                    project=project,
                    is_here=project == self.folder,
                    is_open=self.is_chosen(store),
                )
            )
        found.sort(key=lambda each: (not each.is_here, each.project, each.program.casefold()))
        return found

    def _read_closed(
        self, known: Sequence[KnownStore], opened: Collection[str]
    ) -> dict[str, StoreContents]:
        contents: dict[str, StoreContents] = {}
        for store in known:
            if store.key in opened:
                continue
            try:
                library = self.open([store])
                library.load()
                contents.update(contents_of(library))
                library.close()
            except MemtuiError as error:
                fault = Unreadable(str(store.root), str(error))
                contents[store.key] = StoreContents(unreadable=(fault,))
        return contents

    def places(self) -> list[tuple[str, list[str]]]:
        """Each program, and the places that its format searches for stores."""
        return [
            (
                known.title.partition(":")[0],
                [*known.places, *(f"./{place}" for place in known.nearby if place != ".")],
            )
            for known in registry.formats()
        ]


MAX_ENTRIES = 2_000
"""Entries of a folder that are compared with what is typed."""


class TypedPath(Struct, frozen=True):
    """What a path that is being typed may become, and the stores that lie there."""

    completions: tuple[str, ...] = ()
    """Folders and files that begin so, written as the path was; a folder ends in a slash."""
    stores: tuple[tuple[str, Path], ...] = ()
    """Program and root of each store at the path or in its folders."""


def look_up_path(typed: str) -> TypedPath:
    """Complete a path and look for stores at it; hidden entries need their dot."""
    before, slash, beginning = typed.rpartition("/")
    folder = Path(before + slash).expanduser() if slash else Path()
    found = []
    with contextlib.suppress(OSError, ValueError, RuntimeError), os.scandir(folder) as entries:
        for entry in islice(entries, MAX_ENTRIES):
            name = entry.name
            if name.startswith(beginning) and (beginning or not name.startswith(".")):
                found.append(before + slash + name + "/" * entry.is_dir())
    stores: list[tuple[str, Path]] = []
    if typed.strip():
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            at = Path(typed.strip()).expanduser()
            found_there = registry.detect_within(at)
            stores = [(registry.product_of(f.name, root).name, root) for f, root in found_there]
    return TypedPath(tuple(sorted(found)), tuple(stores))


def contents_of(library: Library) -> dict[str, StoreContents]:
    """Return the contents of each store of a library that has been read, by `KnownStore.key`."""
    written = library.loaded.last_writes()
    return {
        KnownStore(state.root, state.format).key: _ask_contents(library, state)
        if state.is_asked
        else StoreContents(
            state.count,
            "exact",
            written.get(state.label),
            state.unreadable,
            state.read_only,
            library.store(state.label).sync_state(),
            tuple(library.store(state.label).remarks()),
            tuple(library.store(state.label).memory_switches()),
        )
        for state in library.snapshot.stores
    }


def _ask_contents(library: Library, state: StoreState) -> StoreContents:
    try:
        size = library.queried.size(state.label)
    except StoreError as error:
        return StoreContents(unreadable=(Unreadable(str(state.root), error.what),))
    read_only = library.store(state.label).read_only
    return StoreContents(size.value, size.accuracy, read_only=read_only)


def describe_sync(sync: SyncState, now: datetime) -> str:
    """The synchronisation of a store in one line: what stops it, what waits, the last pull."""
    why = "; ".join(mask_secrets(one_line(reason)) for reason in sync.reasons)
    waiting = f"{counted(sync.queued, 'change')} queued" if sync.queued else "nothing queued"
    refused = f"{number(sync.refused)} refused" if sync.refused else ""
    pull = f"last pull {ago(sync.last_pull, now)}"
    if sync.last_pull is None:
        pull = f"pulled up to change {number(sync.pulled)}" if sync.pulled else "nothing pulled yet"
    state = "" if sync.state == "queued" else sync.state
    return ", ".join(filter(None, (state, waiting, refused, pull))) + (f": {why}" if why else "")


def describe_switch(switch: MemorySwitch) -> str:
    """Whether a program keeps memory, and which setting of which file says so, in one line."""
    state = one_line(switch.state)
    if not switch.source:
        return f"{state} ({switch.setting} is not set)"
    source = switch.source if switch.source[0] == "$" else path_from_home(Path(switch.source))
    setting = "" if source == f"${switch.setting}" else f"{switch.setting} in "
    return f"{state} ({setting}{source})"


def project_name(summary: StoreSummary) -> str:
    """The heading of a project: its path, from `~` where that is shorter."""
    path = path_from_home(summary.project)
    return f"{path} (this folder)" if summary.is_here else path


def path_from_home(path: Path) -> str:
    """The path on one line, from `~` where that is shorter."""
    home, whole = os.path.expanduser("~"), str(path)
    is_below = whole == home or whole.startswith(f"{home}{os.sep}")
    return file_name(f"~{whole[len(home) :]}" if is_below else whole)


def _labelled(stores: Sequence[KnownStore]) -> list[KnownStore]:
    """Each store once, under a label of its own that does not depend on which are open."""
    found: dict[str, KnownStore] = {}
    used: set[str] = set()
    for store in stores:
        if store.key not in found:
            label = unique_label(store.label or store.format.partition(":")[0] or "store", used)
            used.add(label)
            found[store.key] = replace(store, label=label)
    return list(found.values())


def _read(path: Path) -> dict[str, bool]:
    return {key: value for key, value in read_private(path).items() if isinstance(value, bool)}
