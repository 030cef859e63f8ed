"""An export in any of the forms there are: its bytes, piece by piece, and what to say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memtui.bundle import ambient, archive, left_out, tables
from memtui.bundle.packing import Cancelled, Report, pack, silent
from memtui.errors import Refused
from memtui.model import CURRENT

if TYPE_CHECKING:
    from memtui.library import Library
    from memtui.model import Memory

SUFFIXES = {
    "bundle": ".zip",
    "ambient": ".json",
    "jsonl": ".jsonl",
    "csv": ".csv",
    "markdown": ".md",
}
"""The forms, and what their files are called by custom."""
STEP = 256
"""Pieces between two looks at whether the person has stopped it."""


@dataclass(frozen=True, slots=True)
class Export:
    """What is to be written."""

    pieces: Iterable[bytes]
    said: tuple[str, ...] = ()
    """What the person should know: what is left out or cut, and why."""


def export(
    library: Library,
    form: str,
    chosen: Sequence[Memory] | None,
    report: Report = silent,
    cancelled: Callable[[], bool] = lambda: False,
    *,
    pretty: bool = True,
    every: bool = True,
) -> Export:
    """These memories in this form; None for all stores whole, which only a bundle can hold.

    `pretty` and `every` are for `ambient`: indented; with what Ambient no longer reads. `engram` is
    Engram's own form, of one Engram store. Raises StoreError, UnreadableFile, BundleError, and
    Cancelled also while it is written.
    """
    said = () if chosen is None else _unchosen(library, chosen)
    if form == "bundle":
        packing = pack(library, chosen, report, cancelled)
        said += tuple(f"left out: {item}" for item in packing.left_out)
        return Export(_watched(archive.pieces(packing.archive), report, cancelled), said)
    memories = chosen if chosen is not None else _all(library)
    if form == "ambient":
        return _ambient(library, chosen, pretty, every, said)
    if form == "engram":
        return _engram(library, memories, said)
    lines = {"jsonl": tables.jsonl, "csv": tables.csv_lines, "markdown": tables.markdown}[form]
    encoded = (line.encode("utf-8", "replace") for line in lines(memories))
    said += _told(left_out.without_place(memories, form))
    return Export(_watched(encoded, report, cancelled), said)


def _told(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"left out: {line}" for line in lines)


def _unchosen(library: Library, chosen: Sequence[Memory]) -> tuple[str, ...]:
    return _told(left_out.unchosen(_all(library), chosen))


def _all(library: Library) -> list[Memory]:
    return [m for store in library.stores for m in library.memories(store.label)]


def _ambient(
    library: Library,
    chosen: Sequence[Memory] | None,
    pretty: bool,
    every: bool,
    said: tuple[str, ...],
) -> Export:
    memories = _all(library) if chosen is None else chosen
    if chosen is None and not every:
        memories = [memory for memory in memories if memory.status in CURRENT]
        said += _unchosen(library, memories)
    whole = chosen is None
    made = ambient.backup(memories, library.stores, library.now(), whole=whole, every=every)
    said += _told(f"{count} {why}" for why, count in made.left_out.items())
    if made.cut:
        said += (f"texts longer than Ambient keeps, and cut: {made.cut}",)
    formats = {store.label: store.format for store in library.stores}
    foreign = [memory for memory in memories if formats.get(memory.store) != "ambient"]
    said += _told(left_out.without_place(foreign, "ambient"))
    return Export([ambient.dumps(made.document, pretty=pretty).encode("utf-8")], said)


def _engram(library: Library, memories: Sequence[Memory], said: tuple[str, ...]) -> Export:
    """The export of the one store that the memories lie in, by that store's own rules."""
    labels = {memory.store for memory in memories} or {store.label for store in library.stores}
    stores = [store for store in library.stores if store.label in labels]
    if len(stores) != 1 or not hasattr(stores[0], "export"):
        raise Refused("this form is for one Engram store", do="choose one with --store")
    store: Any = stores[0]
    ids = {memory.id for memory in memories}
    only = None if ids == {memory.id for memory in library.memories(store.label)} else ids
    text = str(store.export(only=only)) + "\n"
    return Export([text.encode("utf-8")], said + _told(store.left_out(only)))


def _watched(
    pieces: Iterable[bytes], report: Report, cancelled: Callable[[], bool]
) -> Iterator[bytes]:
    for number, piece in enumerate(pieces):
        if number % STEP == 0:
            if cancelled():
                raise Cancelled("stopped; nothing was written")
            report("writing", number, 0)
        yield piece
