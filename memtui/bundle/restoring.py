"""Plan to restore whole stores into an empty place: the same files, bytes and times.

A database is rebuilt from its rows. The restoration is one action of the journal; it is made in one
step and undone in one step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from memtui.bundle.archive_paths import quote_name
from memtui.bundle.bundle_reader import ImportDocument
from memtui.bundle.store_install import Tree, is_empty
from memtui.changes import StoreEdits, TreeEdit
from memtui.errors import BundleError, Refused
from memtui.files.reading import decode, encode
from memtui.progress import Cancelled, IsCancelled, never
from memtui.stores.format import IncomingStore
from memtui.stores.registry import format_of


@dataclass(frozen=True, slots=True)
class PlacedStore:
    """A store and the root it will get."""

    store: IncomingStore
    root: Path


@dataclass(frozen=True, slots=True)
class Restoration:
    """The stores and files that restoring a document would make."""

    place: Path
    stores: tuple[PlacedStore, ...]
    tree: Tree = field(repr=False)
    existed: bool = False
    """Whether the place is an existing empty folder."""

    @property
    def files(self) -> int:
        """How many files it makes."""
        return len(self.tree.files) + len(self.tree.databases)

    @property
    def title(self) -> str:
        """Its name in the log and the undo message."""
        count = sum(len(placed.store.memories) for placed in self.stores)
        return f"import {count} memories"

    @property
    def parts(self) -> tuple[StoreEdits, ...]:
        """One edit that makes all of it; every store is named, so that the journal lists the action
        for each of them."""
        edit = TreeEdit(str(self.place.absolute()), None, self.tree.record(), self.existed)
        first, *others = (str(placed.root) for placed in self.stores)
        return (StoreEdits(first, (edit,)), *(StoreEdits(root, ()) for root in others))


def plan_restore(
    document: ImportDocument, place: Path, cancelled: IsCancelled = never
) -> Restoration:
    """Plan to restore a document; reads every file of it and writes nothing.

    Args:
        document: see `read_document`.
        place: a folder that is empty or does not exist.
        cancelled: asked between stores.

    Raises:
        Refused: the place is not empty, or the document lacks a part of a store.
        BundleError: a file cannot be written exactly, or a format is unknown.
        Cancelled: `cancelled` returned True.
    """
    if not is_empty(place):
        raise Refused("this place is not empty and holds no store", where=str(place))
    several = len(document.stores) > 1
    stores, tree = [], Tree({}, {})
    for store in _stores_to_restore(document):
        if cancelled():
            raise Cancelled("stopped; nothing was imported")
        base = Path(quote_name(store.label)) if several else Path()
        stores.append(PlacedStore(store, place.absolute() / base / store.root))
        tree = _add_store(tree, store, base)
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


def _add_store(tree: Tree, store: IncomingStore, base: Path) -> Tree:
    """Return the tree with this store added in the folder `base`."""
    known = format_of(store.format)
    if known is None:
        raise BundleError(f"it holds a store of a format memtui does not know: {store.format!r}")
    files, databases = dict(tree.files), dict(tree.databases)
    for name, load in sorted(store.files.items()):
        data = load()
        text = decode(data)
        if encode(text) != data:  # bytes of half characters that would join
            raise BundleError("a file cannot be written as it is", where=name)
        files[str(base / name)] = text, store.times.get(name)
    if known.database is not None and store.rows is not None:
        databases[str(base / known.database.name)] = store.format, store.rows()
    return Tree(files, databases)
