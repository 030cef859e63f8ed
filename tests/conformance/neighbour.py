"""Another program of ours on the same store: `python -m tests.conformance.neighbour`.

It edits one memory over and over, each time planned on what it sees by then, until its standard
input ends. It says `ready` when its store is open, and in the end what it wrote last.
"""

from __future__ import annotations

import select
import sys
from pathlib import Path

from memtui.changes import Act, Change
from memtui.errors import Conflict, SaveError
from memtui.library import Library

from .samples import open_library

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


def main(place: str, state: str, ref: str) -> None:
    library = open_library(Path(place), Path(state))
    text = library.get(ref).content.rstrip()
    print("ready", flush=True)
    for number in range(MOST):
        last = f"{text} neighbour {number}"
        keep_editing(library, ref, last)
        if select.select([sys.stdin], [], [], 0)[0]:
            break
    print(number, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
