"""Two programs of ours on one store, each with its own journal: nothing is lost (P3)."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from memtui.changes import Act, Change
from memtui.errors import Conflict, SaveError
from memtui.journal.action import ActionState
from memtui.library import Library
from memtui.model import Memory
from memtui.stores.format import Format
from memtui.testing.acting import allowed
from memtui.testing.fixtures import FormatFixtures, forked
from memtui.testing.samples import memories, open_library

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


EDITS = 20


def two_neighbours(library: Library) -> tuple[Memory, Memory]:
    """Two memories that can be edited, out of one file where a file holds several."""
    kinds = allowed(library, Act.EDIT)
    among = max(kinds.values(), key=len)
    by_file: dict[str, list[Memory]] = {}
    for memory in among:
        by_file.setdefault(memory.origin.file, []).append(memory)
    together = max(by_file.values(), key=len)
    one, other = together[:2] if len(together) > 1 else among[:2]
    return one, other


class NeighbourTests(FormatFixtures):
    """Two programs of ours on one store, each with its own journal: nothing is lost (P3)."""

    def test_nothing_is_lost_on_either_side(
        self,
        known: Format,
        place: Path,
        state: Path,
        tmp_path: Path,
        record_property: Callable[[str, object], None],
    ) -> None:
        library = open_library(place, state)
        before = memories(library)
        ours, theirs = two_neighbours(library)
        with forked(edit_until_told, place, tmp_path / "theirs", theirs.ref) as (_, neighbour):
            assert neighbour.recv() == "ready"
            for number in range(EDITS):
                keep_editing(library, ours.ref, f"{ours.content.rstrip()} ours {number}")
            neighbour.send("stop")
            said = neighbour.recv()
        now = memories(open_library(place))
        assert now[ours.ref].content.rstrip() == f"{ours.content.rstrip()} ours {EDITS - 1}"
        assert now[theirs.ref].content.rstrip() == f"{theirs.content.rstrip()} neighbour {said}"
        others = before.keys() - {ours.ref, theirs.ref}
        assert {ref: now[ref].content for ref in others} == {
            ref: before[ref].content for ref in others
        }
        assert now.keys() >= before.keys()
        done = [action for action in library.log(EDITS * 3) if action.state is ActionState.DONE]
        assert len(done) == EDITS, "every edit of ours is in our log, once"
        record_property(
            "figure", f"beside a neighbour: {known.name}, {EDITS} + {said + 1} edits, 0 lost"
        )
