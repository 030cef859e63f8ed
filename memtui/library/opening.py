"""Detect the stores at a path and open each under a unique label."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from memtui.errors import MemtuiError, StoreError
from memtui.files.moved_sidecars import follow_moved
from memtui.paths import SERVERS, is_address, real_root
from memtui.stores import registry
from memtui.stores.base import Reading, Scan, Shard, Store, Unreadable
from memtui.stores.format import Format
from memtui.stores.scanning import unreadable_reason
from memtui.text import one_line

log = logging.getLogger(__name__)

_PLAIN = re.compile(r"[^\w.-]+")


class FoundStore(Struct, frozen=True):
    """A store that was detected and can be opened."""

    format: Format
    root: Path
    profile: str = ""
    """One of the format's profiles, if a person chose it."""


def detect_store(path: Path, format: str = "") -> FoundStore:
    """Detect the store at this path.

    Args:
        path: of the store, or of the folder that holds it.
        format: name of its format, or `name:profile`; empty: the first that recognises it.

    Raises:
        StoreError: there is no store, or no such format or profile.
    """
    if is_address(str(path)):
        return FoundStore(_format_of(str(path)), path)
    path = path.absolute()
    try:
        exists = path.exists()
    except PermissionError as error:
        why = "there is no permission to read the folder it lies in"
        raise StoreError(why, where=str(path)) from error
    if not exists:
        raise StoreError("there is nothing here", where=str(path), do="check the path")
    if format:
        return _store_of(path, format)
    detected = registry.detect_named(path)
    if detected is None:
        if closed := _closed_folder(path):
            raise StoreError(unreadable_reason(closed), where=closed)
        raise StoreError(
            "no memory store is recognised here",
            where=str(path),
            do=f"memtui reads {', '.join(f.name for f in registry.formats())}",
        )
    return FoundStore(*detected)


def detect_store_at(root: Path) -> FoundStore:
    """Detect the store with exactly this root, not one that lies in a folder of it.

    Raises StoreError if there is none.
    """
    for known, found in registry.detect_all(root) if root.exists() else ():
        if found == root:
            return FoundStore(known, found)
    detected = detect_store(root)
    if detected.root != root:
        raise StoreError("no memory store is recognised here any more", where=str(root))
    return detected


def _format_of(address: str) -> Format:
    found = registry.format_of(SERVERS[address.partition(":")[0]])
    assert found is not None
    return found


def label_of(path: Path) -> str:
    """The label that an address suggests: the name of its service; "" for a path."""
    return str(path).partition(":")[2] if is_address(str(path)) else ""


def _closed_folder(path: Path) -> str:
    """The folder at this path or in it that may not be read; empty if there is none."""
    if not path.is_dir():
        return ""
    if unreadable_reason(str(path)):
        return str(path)
    return next(
        (str(each) for each in path.iterdir() if each.is_dir() and unreadable_reason(str(each))), ""
    )


def _store_of(path: Path, format: str) -> FoundStore:
    """The store at this path in the format that a person named. Raises StoreError."""
    name, _, profile = format.partition(":")
    known = registry.format_of(name)
    if known is None or (profile and profile not in known.profiles):
        names = [each.name for each in registry.formats()]
        names += [f"{each.name}:{one}" for each in registry.formats() for one in each.profiles]
        raise StoreError(f"there is no format {format!r}", do=f"known: {', '.join(names)}")
    root = known.detect_named(path)
    if root is None:
        raise StoreError(f"no store of the format {name} is here", where=str(path))
    return FoundStore(known, root, profile)


def stores_within(path: Path) -> list[tuple[Path, str]]:
    """Root and format of the store at this path, or of those in its folders.

    Where none is recognised the path itself without a format, so that opening it says why.
    """
    if is_address(str(path)):
        return [(path, _format_of(str(path)).name)]
    found = registry.detect_within(path.absolute())
    return [(root, known.name) for known, root in found] or [(path, "")]


def reopen_stores(sources: Iterable[StoreSource]) -> tuple[Store, ...]:
    """Open stores as another process has opened them. Raises StoreError or ConfigError."""
    found, labels = [], []
    for source in sources:
        name, _, profile = source.format.partition(":")
        known = registry.format_of(name)
        if known is None:
            raise StoreError(f"there is no format {name!r}", where=source.root)
        found.append(FoundStore(known, Path(source.root), profile))
        labels.append(source.label)
    return open_stores(found, labels)


class StoreSource(Struct, frozen=True):
    """How another process opens the same store; as JSON: `asdict`."""

    root: str
    format: str
    """Name of the format, or `name:profile`."""
    label: str


def sources_of(found: Sequence[FoundStore], stores: Iterable[Store]) -> tuple[StoreSource, ...]:
    """How each of these stores was opened."""
    profiles = {(item.format.name, item.root): item.profile for item in reversed(found)}
    return tuple(
        StoreSource(
            str(store.root),
            f"{store.format}:{profile}" if profile else store.format,
            store.label,
        )
        for store in stores
        for profile in (profiles.get((store.format, store.root), ""),)
    )


def open_stores(found: Iterable[FoundStore], labels: Sequence[str] = ()) -> tuple[Store, ...]:
    """Open each store once, under a unique label; what memtui keeps of a store that was moved
    follows it.

    Args:
        found: the stores; a store that is listed twice is opened once.
        labels: wanted labels, in the same order; else the name of the format.
    """
    found = list(found)
    follow_moved(item.root for item in found if not is_address(str(item.root)))
    stores: list[Store] = []
    used: set[str] = set()
    roots: set[str] = set()
    for number, item in enumerate(found):
        real = f"{item.format.name}\0{real_root(item.root)}"
        if real in roots:
            continue
        roots.add(real)
        given_label = (labels[number] if number < len(labels) else "") or label_of(item.root)
        label = unique_label(_PLAIN.sub("-", given_label or item.format.name), used)
        used.add(label)
        stores.append(_open_store(item, label))
    return tuple(stores)


def _open_store(item: FoundStore, label: str) -> Store:
    """The open store; one that lists its fault when the format's own code fails."""
    try:
        return item.format.open(item.root, label, item.profile)
    except MemtuiError:
        raise
    except Exception as error:
        log.exception("a store of the format %s could not be opened", item.format.name)
        return FailedStore(item.format.name, label, item.root, one_line(repr(error)))


@dataclass(slots=True)
class FailedStore(Store):
    """Stands for a store that its format failed to open: it holds nothing but the reason."""

    format: str
    label: str
    root: Path
    reason: str

    def scan(self) -> Scan:
        return Scan((), (Unreadable(str(self.root), f"it could not be opened: {self.reason}"),))

    def read(self, shard: Shard) -> Reading:  # noqa: ARG002
        return Reading(())


def unique_label(name: str, used: set[str]) -> str:
    """Return `name`, or `name-2` and so on where that is used."""
    label, number = name, 2
    while label in used:
        label, number = f"{name}-{number}", number + 1
    return label
