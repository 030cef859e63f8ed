"""Every act that a format allows is planned, shown, done, undone, redone and undone again (P1, P6).

Nothing that memtui does not understand is lost on the way (P5): the stores hold a key that no
format knows. An act that a format has no way to do says so in one line.
Two programs of ours on one store, each with its own journal, lose nothing (P3).
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime
from multiprocessing.connection import Connection
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memtui import paths
from memtui.changes import Act, Change, Kind, Outcome
from memtui.errors import Conflict, MemtuiError, RefError, Refused, SaveError
from memtui.files.permissions import replacing_protected
from memtui.files.sidecar_lines import ASKED_FOLDER, FOLDER, parts_of, read_entries
from memtui.journal.action import ActionState
from memtui.library import Library
from memtui.library.planning import Planned
from memtui.model import CURRENT, Memory
from memtui.query import parse_query
from memtui.stores.format import Format
from memtui.stores.sidecar import is_kept
from memtui.testing.acting import BEFOREHAND, MARK, RELATION, allowed, effect, first_plan, holders
from memtui.testing.fixtures import (
    UNKNOWN,
    FormatFixtures,
    contents,
    differences,
    forked,
    memories,
    open_library,
    opened_files,
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


def unknown_rows(known: Format, place: Path) -> int:
    """How often a database holds what no format knows."""
    if known.database is None:
        return 0
    return known.database.read(root_of(known, place)).count(UNKNOWN.encode())


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

    def test_two_changes_of_one_memory(self, known: Format, place: Path, state: Path) -> None:
        """In one action both take effect, or the action is refused; none is dropped."""
        library = open_library(place, state)
        files = contents(place)
        for memory in max(allowed(library, Act.EDIT).values(), key=len)[:1]:
            edit = _edit_of(memory)
            for act in (Act.DELETE, Act.RETIRE, Act.SUPERSEDE):
                end = Change(act, memory.store, memory.ref, _text_for(act, memory), force=True)
                if not library.refusal(act, memory):
                    for changes in ([edit, end], [end, edit]):
                        with pytest.raises(Refused, match="twice"):
                            library.plan(changes)
            other = Change(Act.EDIT, memory.store, memory.ref, {"content": f"{MARK} {MARK}"})
            with pytest.raises(Refused, match="twice"):
                library.plan([edit, other])
            for act in (Act.PIN, Act.TAG, Act.RATE, Act.RETYPE):
                _both_take_effect(library, edit, act)
        for among in allowed(library, Act.LINK).values():
            linked = max(among, key=lambda memory: len(memory.links))  # by its record, if any is
            _both_links_are_made(library, linked)
        assert known.database is not None or contents(place) == files

    def test_beside_the_store_lies_only_what_a_person_asked_for(
        self, known: Format, place: Path, state: Path
    ) -> None:
        """No text that was taken out lies there, and no file that memtui only needs itself; nor in
        the data folder, where what is asked for of a single file lies."""
        library = open_library(place, state)
        folders, before = _folders(place), _files_asked_for(place)
        for act in (Act.EDIT, Act.ADD, Act.MERGE, Act.SUPERSEDE, Act.RETIRE):
            for among in allowed(library, act if act is not Act.ADD else Act.EDIT).values():
                plain_ones = [one for one in among if not one.pinned and not one.tags]
                try:
                    change, planned, _ = first_plan(library, act, plain_ones)
                except LookupError:
                    continue
                library.apply(planned)
                assert entries_beside(place) == {}, change
                if act is Act.EDIT:
                    assert _folders(place) == folders
                    assert _files_asked_for(place) == before
                library.undo()

    def test_files_without_write_permission_are_replaced_only_if_that_is_said(
        self, known: Format, place: Path, state: Path
    ) -> None:
        """Whoever runs it, root too: the mode of the file counts."""
        library = open_library(place, state)
        for act in (Act.EDIT, Act.ADD, Act.MERGE, Act.SUPERSEDE, Act.RETIRE, Act.DELETE):
            for among in allowed(library, act if act is not Act.ADD else Act.EDIT).values():
                try:
                    change, planned, _ = first_plan(library, act, among)
                except LookupError:
                    continue
                before = contents(place)
                changed = _changed_files(planned)
                modes = {path: stat.S_IMODE(path.stat().st_mode) for path in changed}
                for path in changed:
                    path.chmod(0o444)
                if changed:
                    with pytest.raises(Refused, match="no write permission") as caught:
                        library.apply(library.plan([change]))
                    assert caught.value.where in {str(place), *map(str, changed)}
                    assert contents(place) == before
                if known.database is None:
                    with replacing_protected():
                        library.apply(planned)
                        assert {stat.S_IMODE(p.stat().st_mode) for p in changed if p.exists()} <= {
                            0o444
                        }
                        library.undo()
                    assert contents(place) == before
                for path, mode in modes.items():
                    path.chmod(mode)

    def test_an_edit_is_planned_from_one_reading(
        self, known: Format, place: Path, state: Path
    ) -> None:
        """The file of a memory is opened once, so that all of the plan is of one moment."""
        library = open_library(place, state)
        for among in allowed(library, Act.EDIT).values():
            library.plan([_edit_of(among[0])])  # the first plan may look whose folder it is
            os.utime(among[0].origin.file)
            with opened_files() as opened:
                library.plan([_edit_of(among[0])])
            assert opened.count(among[0].origin.file) <= 1

    def test_a_repeated_change_is_made_once(self, known: Format, place: Path, state: Path) -> None:
        library = open_library(place, state)
        edit = _edit_of(max(allowed(library, Act.EDIT).values(), key=len)[0])
        once, twice = library.plan([edit]), library.plan([edit, edit])
        assert len(twice.parts[0].edits) == len(once.parts[0].edits)
        assert twice.plans[1].outcome is Outcome.NOTHING

    def test_a_successor_takes_pin_and_tags_over(
        self, known: Format, place: Path, state: Path
    ) -> None:
        library = open_library(place, state)
        for among in allowed(library, Act.SUPERSEDE).values():
            try:
                change, _, _ = first_plan(library, Act.SUPERSEDE, among)
            except LookupError:
                continue
            old = library.get(change.ref)
            for act, fields in ((Act.PIN, {}), (Act.TAG, {"tags": [*old.tags, MARK]})):
                if not library.refusal(act, old):
                    library.apply(library.plan([Change(act, old.store, old.ref, fields)]))
            old = library.get(change.ref)
            planned = library.plan([change])
            library.apply(planned)
            library = open_library(place, state)
            new, former = library.get(planned.refs[0]), memories(library).get(old.ref)
            assert new.pinned == old.pinned
            assert set(old.tags) <= set(new.tags)
            assert former is None or not former.pinned
            library.undo()
            assert library.get(old.ref).pinned == old.pinned
            assert planned.refs[0] not in memories(library)

    def test_lineage_is_no_circle(self, known: Format, place: Path, state: Path) -> None:
        """Also where a memory gets the text of one that it has followed, or such a text is added
        again."""
        library = open_library(place, state)
        for among in allowed(library, Act.SUPERSEDE).values():
            try:
                change, planned, _ = first_plan(library, Act.SUPERSEDE, among)
            except LookupError:
                continue
            text = {"content": library.get(change.ref).content}
            library.apply(planned)
            first = library.get(planned.refs[0])
            back = Change(Act.SUPERSEDE, first.store, first.ref, text, force=True)
            again = Change(Act.ADD, first.store, "", {**text, "entity": first.entity}, force=True)
            for attempt in (again, back):
                with suppress(Refused):
                    library.apply(library.plan([attempt]))
                found = memories(open_library(place, state))
                assert _circles(found) == []
                assert [
                    one.ref for one in found.values() if one.superseded_by and one.status in CURRENT
                ] == []
                if attempt is again:
                    library.undo()

    def test_a_merge_leads_nowhere_back(self, known: Format, place: Path, state: Path) -> None:
        """What names one that goes names the one that stays, which does not name itself."""
        library = open_library(place, state)
        for among in allowed(library, Act.MERGE).values():
            try:
                change, _, _ = first_plan(library, Act.MERGE, among)
            except LookupError:
                continue
            gone = str(change.fields["others"][0])
            for ref, relation in ((change.ref, RELATION), (change.ref, "other")):
                if not library.refusal(Act.LINK, library.get(ref)):
                    link = {"relation": relation, "target": gone}
                    library.apply(library.plan([Change(Act.LINK, change.store, ref, link)]))
            library.apply(library.plan([change]))
            found = memories(open_library(place, state))
            stays, other = found[change.ref], found.get(f"{change.store}:{gone}")
            nowhere = {stays.id} if other is not None and not is_kept(other) else {stays.id, gone}
            assert not nowhere & {link.target for link in stays.links}

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


def entries_beside(place: Path) -> dict[str, Any]:
    """The entries of sidecars in this folder that hold nothing a person asked for, or a text that
    was taken out of the store."""
    found = [read_entries(file.read_text()) for file in _files_asked_for(place)]
    entries = {id: entry for each in found for id, entry in each.items() if entry}
    return {id: entry for id, entry in entries.items() if parts_of(entry)[0] is not None}


def _files_asked_for(place: Path) -> list[Path]:
    """The files for what a person asked for: beside the stores of this folder, or in memtui's own
    data."""
    own = paths.data_folder() / ASKED_FOLDER
    return [*sorted(place.glob(f"**/{FOLDER}/*.jsonl")), *sorted(own.glob("*.jsonl"))]


def _changed_files(planned: Planned) -> list[Path]:
    """The files of the store that a plan changes or deletes."""
    edits = [edit for part in planned.parts for edit in part.edits]
    names = {edit.path for edit in edits if edit.kind is not Kind.SIDECAR}
    return [path for path in map(Path, sorted(names)) if path.exists()]


def _folders(place: Path) -> set[str]:
    return {os.path.join(top, name) for top, names, _ in os.walk(place) for name in names}


def _edit_of(memory: Memory) -> Change:
    text = {"content": f"{memory.content.rstrip()} {MARK}"}
    return Change(Act.EDIT, memory.store, memory.ref, text, force=True)


def _text_for(act: Act, memory: Memory) -> dict[str, str]:
    return {"content": f"{memory.content.rstrip()} anew"} if act is Act.SUPERSEDE else {}


def _both_take_effect(library: Library, edit: Change, act: Act) -> None:
    """An edit and another act on the same memory, in both orders; undone after each."""
    memory = library.get(edit.ref)
    if library.refusal(act, memory):
        return
    try:
        second, alone, _ = first_plan(library, act, [memory])
    except LookupError:
        return
    for changes in ([edit, second], [second, edit]):
        try:
            planned = library.plan(changes)
        except Refused:
            continue
        library.apply(planned)
        assert effect(library, edit, planned, memory) == ""
        if act is Act.TAG:  # a text may have tags of its own, which go with it
            assert MARK in library.get(edit.ref).tags
        else:
            assert effect(library, second, alone, memory) == ""
        library.undo()


def _both_links_are_made(library: Library, memory: Memory) -> None:
    """Two links of one memory in one action."""
    every = list(memories(library).values())
    ids = [other.id for other in every if other.kind == memory.kind and other.ref != memory.ref]
    new = [id for id in ids if id not in {link.target for link in memory.links}][:2]
    if new:
        links = [{"relation": RELATION, "target": id} for id in new]
        library.apply(
            library.plan([Change(Act.LINK, memory.store, memory.ref, link) for link in links])
        )
        assert {link.target for link in library.get(memory.ref).links} >= set(new)
        library.undo()


def _circles(found: Mapping[str, Memory]) -> list[str]:
    """Refs of the memories that have, by others, taken their own place."""
    circles = []
    for memory in found.values():
        seen, left = set[str](), [*memory.superseded_by]
        while left:
            id = left.pop()
            other = found.get(f"{memory.store}:{id}")
            if id not in seen and other is not None:
                seen.add(id)
                left += other.superseded_by
        circles += [memory.ref] if memory.id in seen else []
    return circles


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
