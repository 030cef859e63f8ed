"""Another memtui on the same store: it edits one memory over and over, each time planned anew."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

from memtui.changes import Act, Change
from memtui.errors import Conflict, SaveError
from memtui.library import Library
from memtui.testing.samples import open_library

MOST = 500
"""Edits after which it stops by itself."""
TRIES = 50
"""Plans for one edit: another writer may be in the way now and then."""


def keep_editing(library: Library, ref: str, wanted: str) -> None:
    """Give the memory this text, whoever else writes meanwhile. Raises the last SaveError."""
    for attempt in range(TRIES):
        library.refresh()
        change = Change(Act.EDIT, library.stores[0].label, ref, {"content": wanted})
        try:
            library.apply(library.plan([change]))
        except (Conflict, SaveError):
            if attempt == TRIES - 1:
                raise
        else:
            return


def edit_until_told(connection: Connection, place: Path, state: Path, ref: str) -> None:
    """Edit one memory over and over until something is sent; answer with the last number."""
    library = open_library(place, state)
    text = library.get(ref).content.rstrip()
    connection.send("ready")
    for number in range(MOST):
        last = f"{text} neighbour {number}"
        keep_editing(library, ref, last)
        if connection.poll():
            break
    connection.send(number)
