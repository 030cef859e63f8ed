"""An export in any of the forms there are: its bytes, piece by piece, and what to say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memtui.bundle import ambient, archive, tables
from memtui.bundle.packing import Cancelled, Report, pack, silent

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
    """What the person should know: what was left out or cut."""


def export(
    library: Library,
    form: str,
    chosen: Sequence[Memory] | None,
    report: Report = silent,
    cancelled: Callable[[], bool] = lambda: False,
) -> Export:
    """These memories in this form; None for all stores whole, which only a bundle can hold.

    Raises StoreError, UnreadableFile, BundleError, and Cancelled also while it is written.
    """
    if form == "bundle":
        packing = pack(library, chosen, report, cancelled)
        said = tuple(f"left out: {item}" for item in packing.left_out)
        return Export(_watched(archive.pieces(packing.archive), report, cancelled), said)
    memories = chosen if chosen is not None else _all(library)
    if form == "ambient":
        return _ambient(library, memories)
    lines = {"jsonl": tables.jsonl, "csv": tables.csv_lines, "markdown": tables.markdown}[form]
    encoded = (line.encode("utf-8", "replace") for line in lines(memories))
    return Export(_watched(encoded, report, cancelled))


def _all(library: Library) -> list[Memory]:
    return [m for store in library.stores for m in library.memories(store.label)]


def _ambient(library: Library, memories: Sequence[Memory]) -> Export:
    formats = {store.label: store.format for store in library.stores}
    made = ambient.backup(memories, formats, library.now())
    said = []
    if made.cut:
        said.append(f"{made.cut} texts are longer than Ambient keeps and were cut")
    if made.archived:
        said.append(f"{made.archived} memories of archived branches are left out, as in Ambient")
    return Export([ambient.dumps(made.document, pretty=True).encode("utf-8")], tuple(said))


def _watched(
    pieces: Iterable[bytes], report: Report, cancelled: Callable[[], bool]
) -> Iterator[bytes]:
    for number, piece in enumerate(pieces):
        if number % STEP == 0:
            if cancelled():
                raise Cancelled("stopped; nothing was written")
            report("writing", number, 0)
        yield piece
