"""Every act that a format allows is planned, shown, done, undone, redone and undone again (P1, P6).

Nothing that memtui does not understand is lost on the way (P5): the stores hold a key that no
format knows. An act that a format has no way to do says so in one line.
Two programs of ours on one store, each with its own journal, lose nothing (P3).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime
from multiprocessing.connection import Connection
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memtui.changes import Act, Change
from memtui.errors import Conflict, MemtuiError, RefError, SaveError
from memtui.files.sidecar_lines import FOLDER, read_entries
from memtui.journal.action import ActionState
from memtui.library import Library
from memtui.library.planning import Planned
from memtui.model import Memory
from memtui.query import parse_query
from memtui.stores.format import Format
from memtui.testing.acting import BEFOREHAND, allowed, effect, first_plan, holders
from memtui.testing.fixtures import (
    UNKNOWN,
    FormatFixtures,
    contents,
    differences,
    forked,
    memories,
    open_library,
    plant_unknown,
    root_of,
)

LONGEST_REASON = 120
"""In characters: what fits into a line of a dialog."""
BOOKKEEPING = {"versions", "valid_to"}
"""Bookkeeping that grows on every write, including undo. Of the end of a link,
which doing it again dates anew, `plain` compares that there is one."""
FIELDS = attrgetter(*Memory.__struct_fields__)
"""The fields of a memory, which undo restores, dates included."""
ROW_NUMBER = "id"
"""Column of a row beside the memory's own; the row comes back under the next number."""


def do_first(library: Library, act: Act, among: list[Memory]) -> bool:
    """Do the act on one of these; return whether it could be done."""
    try:
        _, planned, _ = first_plan(library, act, among)
    except LookupError:
        return False
    library.apply(planned)
    return True


def _entries(data: bytes) -> str:
    """What the lines of a sidecar say by now."""
    entries = read_entries(data.decode("utf-8"))
    return json.dumps({id: entry for id, entry in entries.items() if entry}, sort_keys=True)


Found = frozenset[tuple[str, bytes | str, int]]


def _key(place: Path, found: Mapping[str, bytes]) -> Found:
    return frozenset(
        (name, _entries(data), 0)
        if is_beside(name) and name.endswith(".jsonl")
        else (name, data, os.stat(place / name).st_mtime_ns)
        for name, data in found.items()
    )


class FreshReadings:
    """What a library opened anew reads: once for the same bytes and times of every file of the
    store and the same entries in its sidecar."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._found: dict[Found, dict[str, Memory]] = {}

    def add(self, library: Library) -> None:
        """A library that has just been opened is a reading already."""
        self._found[_key(self._place, contents(self._place, beside=True))] = memories(library)

    def memories(self, found: Mapping[str, bytes]) -> dict[str, Memory]:
        """What is read where these files are found."""
        files = _key(self._place, found)
        if files not in self._found:
            self._found[files] = memories(open_library(self._place))
        return self._found[files]


def there_and_back(
    known: Format,
    library: Library,
    place: Path,
    change: Change,
    planned: Planned,
    readings: FreshReadings,
) -> None:
    """Do it, see it, take it back, see that nothing is left, do it again, take it back."""
    before, found, order = memories(library), contents(place, beside=True), listed(library)
    files, own = store_files(found), folders_and_sidecar(place, found)
    strange = unknown_rows(known, place)
    target = before.get(change.ref)
    diffs = planned.diffs()
    assert contents(place) == files, "planning and showing change nothing"
    assert diffs
    assert all(diff.before != diff.after for diff in diffs)
    action = library.apply(planned)
    assert effect(library, change, planned, target) == ""
    nothing_else_changed(before, memories(library), planned)
    after, written, order_after = memories(library), contents(place), listed(library)
    if known.database is None:
        shown = {diff.path: diff.after for diff in diffs}
        touched = [str(place / name) for name in differences(files, written)]
        assert set(touched) <= set(shown), "every file that changed was shown"
        for name in touched:
            assert shown[name] == _text(written, Path(name), place), "as it was shown"
    assert library.log(1)[0].id == action.id
    for number, step in enumerate((library.undo, library.redo, library.undo)):
        step()
        expected = after if step == library.redo else before
        assert plain(memories(library), known) == plain(expected, known)
        assert listed(library) == (order_after if expected is after else order)
        found = contents(place, beside=True)
        if number:  # the second undo leaves what the first one has left
            assert plain(readings.memories(found), known) == plain(expected, known)
            assert unknown_rows(known, place) == strange
        if step == library.undo:
            assert folders_and_sidecar(place, found) == own
        if known.database is None:
            assert differences(files if expected is before else written, store_files(found)) == []


def done_and_undone(
    known: Format, library: Library, place: Path, act: Act, readings: FreshReadings
) -> None:
    """Do the act on a memory of each kind that allows it, there and back."""
    prepared = 0
    if first := BEFOREHAND.get(act):
        groups = allowed(library, first).values()
        prepared = sum([do_first(library, first, group) for group in groups])
    kinds = allowed(library, act)
    done, refusals = [], []
    for kind, among in kinds.items():
        try:
            change, planned, _ = first_plan(library, act, among)
        except LookupError as error:
            refusals.append(f"{kind}: {error}")
            continue
        there_and_back(known, library, place, change, planned, readings)
        done.append(kind)
    assert done or not kinds, f"{act} is allowed, and yet could not be done:\n{refusals}"
    for _ in range(prepared):
        library.undo()


def listed(library: Library) -> list[str]:
    """Refs in the order of the list."""
    found = library.find(parse_query("status:all", library.now()))
    return [library.snapshot.rows[slot].ref for slot in found.slots]


def is_beside(name: str) -> bool:
    """Whether memtui keeps this file beside the store."""
    return f"{FOLDER}/" in name


def store_files(found: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in found.items() if not is_beside(name)}


def folders_and_sidecar(
    place: Path, found: Mapping[str, bytes]
) -> tuple[list[str], dict[str, bytes]]:
    """Every folder, and of what is found the bytes of what memtui keeps beside the store."""
    return (
        sorted(os.path.join(top, name) for top, names, _ in os.walk(place) for name in names),
        {name: data for name, data in found.items() if is_beside(name)},
    )


def unknown_rows(known: Format, place: Path) -> list[str]:
    """What a database holds that no format knows."""
    if known.database is None:
        return []
    return [row for row in known.database.dump(root_of(known, place)) if UNKNOWN in row]


def _text(files: dict[str, bytes], path: Path, place: Path) -> str | None:
    data = files.get(str(path.relative_to(place)))
    return None if data is None else data.decode("utf-8", "surrogateescape")


def plain(found: dict[str, Memory], known: Format) -> dict[str, tuple[object, ...]]:
    """The memories' fields without what a write changes by being one."""
    if known.database is not None:
        found = {
            ref: replace(
                memory,
                extra=uncounted(memory.extra, BOOKKEEPING),
                links=tuple(
                    replace(link, valid_to=link.valid_to and datetime.min) for link in memory.links
                ),
            )
            for ref, memory in found.items()
        }
    return {ref: FIELDS(memory) for ref, memory in found.items()}


def uncounted(value: Any, without: Set[str]) -> Any:
    """The same without these keys, and below the first level without row numbers."""
    if isinstance(value, Mapping):
        inner = {*without, ROW_NUMBER}
        return {key: uncounted(v, inner) for key, v in value.items() if key not in without}
    return [uncounted(item, without) for item in value] if isinstance(value, list) else value


def nothing_else_changed(
    before: dict[str, Memory], after: dict[str, Memory], planned: Planned
) -> None:
    """Only what the plan names is another, and what memtui does not understand is all there."""
    named = {*planned.refs, *planned.supersedes}
    for ref in before.keys() | after.keys():
        old, new = before.get(ref), after.get(ref)
        if ref in named or (old is None and new is not None and new.status == "superseded"):
            continue
        assert old is not None, f"{ref} came without being named"
        assert new is not None, f"{ref} went without being named"
        assert told(new) == told(old)
    for ref, old in before.items():
        if UNKNOWN in old.extra and ref in after:
            assert after[ref].extra.get(UNKNOWN) == old.extra[UNKNOWN], ref


def told(memory: Memory) -> tuple[object, ...]:
    """What somebody else's change must not touch. Where an entity's path begins with the type of
    its first fact, all of its memories go along with that one, so only the end counts."""
    entity = memory.entity.rpartition("/")[2]
    return (memory.title, memory.content, memory.type, entity, memory.status, memory.pinned)


def refused(library: Library, change: Change) -> None:
    """What is greyed out cannot be done by another way either."""
    with pytest.raises(MemtuiError) as caught:
        library.plan([change])
    assert "\n" not in str(caught.value)


class ActTests(FormatFixtures):
    """Every act that a format allows is shown, done, undone, redone and undone again (P1, P6)."""

    def acts(self, known: Format) -> Sequence[Act]:
        """The acts that are tried: all of them, here.

        Whoever proves many formats may share them out.
        """
        return tuple(Act)

    def test_an_edit_is_done_and_undone(self, known: Format, planted: Path, state: Path) -> None:
        library, readings = open_library(planted, state), FreshReadings(planted)
        readings.add(library)
        done_and_undone(known, library, planted, Act.EDIT, readings)

    def test_every_act_that_is_allowed(self, known: Format, planted: Path, state: Path) -> None:
        """One after the other on one store: each finds what the one before it has undone."""
        library, readings = open_library(planted, state), FreshReadings(planted)
        readings.add(library)
        for act in self.acts(known):
            if act is not Act.EDIT:
                done_and_undone(known, library, planted, act, readings)

    def test_an_unknown_key_is_shown(self, known: Format, place: Path) -> None:
        """Otherwise the test above would prove nothing."""
        if not plant_unknown(open_library(place)):
            return
        found = memories(open_library(place)).values()
        with_it = [memory for memory in found if UNKNOWN in memory.extra]
        assert with_it or known.database is not None
        assert with_it or unknown_rows(known, place)

    def test_what_is_refused_says_why_in_one_line(
        self, known: Format, place: Path, state: Path
    ) -> None:
        library = open_library(place, state)
        files = contents(place)
        tried: set[tuple[Act, str]] = set()
        for memory in memories(library).values():
            for act in Act:
                reason = library.refusal(act, memory)
                assert len(reason) <= LONGEST_REASON
                assert not reason or reason.isprintable()
                if reason and (act, reason) not in tried:
                    tried.add((act, reason))
                    refused(library, Change(act, memory.store, memory.ref, {"content": "x"}))
        assert tried
        assert contents(place) == files


MAX_EDITS = 500
"""Maximum number of edits before it stops by itself."""
LONGEST_WAIT = 30.0
"""Maximum time for one edit, in seconds: another writer may be in the way, and be paused."""


def keep_editing(library: Library, ref: str, text: str) -> None:
    """Give the memory this text, whoever else writes meanwhile. Raises the last SaveError.

    Where an id is made from the text, the sidecar keeps the former one. Between the two writes of
    an edit elsewhere the memory has none of its ids for a moment.
    """
    until = time.monotonic() + LONGEST_WAIT
    while True:
        library.refresh()
        change = Change(Act.EDIT, library.stores[0].label, ref, {"content": text})
        try:
            library.apply(library.plan([change]))
        except (Conflict, RefError, SaveError):
            if time.monotonic() > until:
                raise
            time.sleep(0.002)
        else:
            return


def edit_until_told(connection: Connection, place: Path, state: Path, ref: str) -> None:
    """Edit one memory over and over until something is sent; answer with the last number."""
    library = open_library(place, state)
    text = library.get(ref).content.rstrip()
    connection.send("ready")
    for number in range(MAX_EDITS):
        last = f"{text} neighbour {number}"
        keep_editing(library, ref, last)
        if connection.poll():
            break
    connection.send(number)


EDITS = 12


def two_neighbours(library: Library) -> tuple[Memory, Memory]:
    """Two memories that can be edited, out of one file where a file holds several."""
    kinds = allowed(library, Act.EDIT)
    among = max(kinds.values(), key=len)
    by_file: dict[str, list[Memory]] = {}
    for memory in among:
        by_file.setdefault(memory.origin.file, []).append(memory)
    together = max(by_file.values(), key=len)
    first, second = together[:2] if len(together) > 1 else among[:2]
    return first, second


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
            message = neighbour.recv()
        now = memories(open_library(place))
        assert now[ours.ref].content.rstrip() == f"{ours.content.rstrip()} ours {EDITS - 1}"
        assert now[theirs.ref].content.rstrip() == f"{theirs.content.rstrip()} neighbour {message}"
        others = before.keys() - {ours.ref, theirs.ref} - holders(library, ours, theirs)
        assert {ref: now[ref].content for ref in others} == {
            ref: before[ref].content for ref in others
        }
        assert now.keys() >= before.keys()
        done = [
            action
            for action in library.log(EDITS * 3, void=False)
            if action.state is ActionState.DONE
        ]
        assert len(done) == EDITS, "every edit of ours is in our log, once"
        record_property(
            "figure", f"beside a neighbour: {known.name}, {EDITS} + {message + 1} edits, 0 lost"
        )
