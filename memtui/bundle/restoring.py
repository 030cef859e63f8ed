"""A whole store into an empty place: the same files, bytes and times as where it came from.

A database is built anew from its rows. All of it is one action of the journal, made in one step
and taken back in one step.
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
    """One store and where it will lie."""

    store: IncomingStore
    root: Path


@dataclass(frozen=True, slots=True)
class Restoration:
    """What bringing a document into an empty place would make."""

    place: Path
    stores: tuple[PlacedStore, ...]
    tree: Tree = field(repr=False)
    existed: bool = False
    """The place is a folder that is there, empty."""

    @property
    def files(self) -> int:
        return len(self.tree.files) + len(self.tree.databases)

    @property
    def title(self) -> str:
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
    """What would be made. Reads every file of the document. Raises Refused or BundleError."""
    if not is_empty(place):
        raise Refused("there is something here already, and it is no store", where=str(place))
    several = len(document.stores) > 1
    stores, tree = [], Tree({}, {})
    for store in _whole(document):
        if cancelled():
            raise Cancelled("stopped; nothing was imported")
        base = Path(quote_name(store.label)) if several else Path()
        stores.append(PlacedStore(store, place.absolute() / base / store.root))
        tree = _grown(tree, store, base)
    return Restoration(place, tuple(stores), tree, place.is_dir())


def _whole(document: ImportDocument) -> list[IncomingStore]:
    """The stores of which there is something to make. Raises Refused where one is not whole."""
    held = [store for store in document.stores if store.memories or store.files or store.rows]
    if not held:
        raise Refused("the file holds nothing that could be made", where=str(document.path))
    partial = [s.label for s in held if not s.whole or not (s.files or s.rows)]
    if partial:
        raise Refused(
            f"the file holds memories of {', '.join(partial)}, but not the whole store",
            where=str(document.path),
            do="import it into a store that exists",
        )
    return held


def _grown(tree: Tree, store: IncomingStore, base: Path) -> Tree:
    """The tree with this store in a folder of it."""
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
