"""Refs are what was written: another program may take a number between the plan and the write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memtui.changes import Act, Change, Kind, invert_edits
from memtui.errors import Conflict
from memtui.library import Library

from .invented import (
    SCHEMAS,
    Told,
    build,
    change,
    connect,
    everything,
    observation,
    open_store,
    sql,
)

THEIRS = "What another program says"


@pytest.fixture(params=SCHEMAS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return build(tmp_path / ".engram", request.param)


@pytest.fixture
def library(folder: Path, tmp_path: Path) -> Iterator[Library]:
    opened = Library.open([folder], state=tmp_path / "state", labels=["bells"])
    opened.load()
    yield opened
    opened.close()


def add(content: str) -> Change:
    return Change(Act.ADD, "bells", "", {"content": content, "entity": "belfry"})


def racing(folder: Path, number: int) -> None:
    """Another program saves between our plan and our write."""
    with closing(connect(folder)) as connection:
        observation(connection, number, content=THEIRS)


def content(folder: Path, number: int) -> str:
    return str(sql(folder, "SELECT content FROM observations WHERE id = ?", number)[0][0])


@pytest.mark.parametrize("act", ["add", "supersede"])
def test_the_ref_is_that_of_the_row_that_was_written(
    folder: Path, library: Library, act: str
) -> None:
    wanted = (
        add("Ropes are hemp")
        if act == "add"
        else change(Act.SUPERSEDE, 1, content="Ropes are hemp")
    )
    planned = library.plan([wanted])
    racing(folder, 9)
    written = planned.with_written_refs(library.apply(planned).refs)
    assert (planned.refs[0], written.refs[0]) == ("bells:9", "bells:10")
    assert library.get(written.refs[0]).content == "Ropes are hemp"
    assert written.refs[1:] == planned.refs[1:]


def test_the_journal_keeps_what_was_written(folder: Path, library: Library) -> None:
    planned = library.plan([add("Ropes are hemp")])
    racing(folder, 9)
    action = library.apply(planned)
    (made,) = (edit for edit in action.edits if getattr(edit, "table", "") == "observations")
    assert made.kind is Kind.ROW
    assert made.after is not None
    assert made.after["id"] == 10
    library.undo()
    assert sql(folder, "SELECT id FROM observations WHERE id > 8") == [(9,)]
    library.redo()
    assert content(folder, 10) == "Ropes are hemp"
    assert content(folder, 9) == THEIRS


def test_a_redo_that_finds_its_number_taken_says_which_it_got(
    folder: Path, library: Library
) -> None:
    library.apply(library.plan([add("Ropes are hemp")]))
    library.undo()
    racing(folder, 9)
    action = library.redo()
    assert action.refs == {"bells:9": "bells:10"}
    library.undo()
    assert sql(folder, "SELECT id, content FROM observations WHERE id > 8") == [(9, THEIRS)]


def test_several_additions_of_one_action_get_the_refs_they_were_promised(
    folder: Path, library: Library
) -> None:
    planned = library.plan([add("Ropes are hemp"), add("Sallies are wool")])
    assert planned.refs == ("bells:9", "bells:10")
    assert library.apply(planned).refs == {}
    again = library.plan([add("Bells are bronze"), add("Wheels are ash")])
    racing(folder, 11)
    written = again.with_written_refs(library.apply(again).refs)
    assert [library.get(ref).content for ref in written.refs] == [
        "Bells are bronze",
        "Wheels are ash",
    ]


_EDITS = {
    "edit": change(Act.EDIT, 8, type="learning"),
    "pin": change(Act.PIN, 8),
    "retype": change(Act.RETYPE, 8, type="policy"),
    "delete": change(Act.DELETE, 8, force=True),
    "retire": change(Act.RETIRE, 8),
    "overwrite": change(Act.ADD, content="Pears", entity="orchard", topic_key="fruit/pears"),
}


@pytest.mark.parametrize("name", _EDITS)
def test_an_edit_refuses_a_row_that_has_only_the_number(folder: Path, name: str) -> None:
    """The row was removed and another one, equal in all but its identity, has its number."""
    sql(folder, "UPDATE observations SET topic_key = 'fruit/pears' WHERE id = 8")
    store = open_store(folder)
    edits = store.plan(_EDITS[name], everything(store)).edits
    sql(folder, "UPDATE observations SET sync_id = 'obs-theirs' WHERE id = 8")
    before = sql(folder, "SELECT * FROM observations")
    with pytest.raises(Conflict, match="another one's now"):
        store.apply(edits, Told())
    assert sql(folder, "SELECT * FROM observations") == before


def test_what_comes_back_takes_no_other_number(folder: Path) -> None:
    store = open_store(folder)
    edits = store.plan(change(Act.DELETE, 8, force=True), everything(store)).edits
    store.apply(edits, Told())
    racing(folder, 8)
    sql(folder, "UPDATE observations SET sync_id = 'obs-theirs' WHERE id = 8")
    with pytest.raises(Conflict):
        store.apply(invert_edits(edits), Told())
    assert content(folder, 8) == THEIRS
