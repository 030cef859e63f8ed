"""A journal that an earlier memtui wrote is read, recovered, undone and redone by this one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from memtui.errors import Refused
from memtui.journal import ActionState
from tests.long_run import count
from tests.record_journal import opened, state_of, unpack


def test_the_recorded_journal_holds_every_kind_of_edit(tmp_path: Path) -> None:
    """Read as it lies in the file, whatever the edits are called by now."""
    unpack(tmp_path)
    kinds = set()
    with closing(sqlite3.connect(tmp_path / "state" / "journal.sqlite")) as db:
        for key, packed, before, after in db.execute(
            "SELECT key, fields, before, after FROM edits JOIN targets ON targets.id = target"
        ):
            fields = json.loads(packed)
            how = [name for name in ("items", "by_lines", "book_keeping") if fields.get(name)]
            did = "insert" if before is None else "remove" if after is None else "change"
            kinds.add(" ".join([json.loads(key)["edit"], *how[:1], did]))
    assert sorted(kinds) == [
        "RecordEdit change",
        "RecordEdit insert",
        "RecordEdit remove",
        "RowEdit change",
        "RowEdit insert",
        "RowEdit remove",
        "SidecarEdit change",
        "SidecarEdit insert",
        "SidecarEdit remove",
        "TextEdit by_lines change",
        "TextEdit change",
        "TextEdit insert",
        "TextEdit items change",
        "TextEdit items insert",
        "TextEdit items remove",
        "TextEdit remove",
        "TreeEdit insert",
        "ValueEdit book_keeping change",
        "ValueEdit change",
    ]


def _without(state: Mapping[str, str]) -> dict[str, str]:
    """A state without the folder that was restored, which is not taken back any more."""
    return {name: mark for name, mark in state.items() if not name.startswith("restored/")}


def _without_restored(states: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """The states after the actions that can be undone."""
    at = next(n for n, state in enumerate(states) if _without(state) != state)
    return [_without(state) for state in (*states[:at], *states[at + 1 :])]


@pytest.mark.slow
def test_a_folder_that_was_restored_is_left_to_the_person(tmp_path: Path) -> None:
    unpack(tmp_path)
    with opened(tmp_path) as library:
        folder = tmp_path / "stores" / "restored"
        (action,) = (a for a in library.log(anywhere=True) if str(folder) in a.stores)
        with pytest.raises(Refused, match="delete the folder yourself") as caught:
            library.undo(action.id)
        assert caught.value.where == str(folder)
        assert folder.is_dir()
        assert library.undo(anywhere=True).id != action.id


@pytest.mark.slow
def test_each_recorded_action_is_undone_and_redone_byte_for_byte(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    states = _without_restored(unpack(tmp_path))
    with opened(tmp_path) as library:
        killed = library.log(anywhere=True)[0]
        assert killed.state is ActionState.DONE
        assert killed.note == "only a part of it reached the disk; undo takes that part back"
        every = count(6, 1)  # what is undone or redone wrongly is still there a few actions later
        for number in reversed(range(len(states))):
            library.undo(anywhere=True)
            if number % every == 0 or number == len(states) - 1:
                assert _without(state_of(tmp_path)) == states[number], (
                    f"undone down to state {number}"
                )
        redone = len(states) // count(8, 1)  # that they can be redone is said by what is undone too
        for number, state in enumerate(states[1:redone], 1):
            library.redo(anywhere=True)
            if number % every == 0 or number == redone - 1:
                assert _without(state_of(tmp_path)) == state, f"redone up to state {number}"
        again = count(3, redone - 1)
        for _ in range(again):
            library.undo(anywhere=True)
        assert _without(state_of(tmp_path)) == states[redone - 1 - again]
    record_property("figure", f"recorded journals: {len(states)} actions undone and redone")
