"""What the journal lists, in which order, how much it keeps, and what it says when it cannot."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from memtui.changes import (
    Edit,
    Kind,
    StoreEdits,
    record_edit,
    row_edit,
    sidecar_edit,
    text_edit,
    value_edit,
)
from memtui.errors import RefError, Refused, SaveError
from memtui.files.save_transaction import commit
from memtui.journal import ActionState, Journal, JournalAction, database, journal
from memtui.journal.action import StoredEdit, changed_memories
from memtui.journal.database import FILE
from memtui.model import Memory
from memtui.progress import Progress
from tests.unit.journal.test_journal import do, leftover_of, mark_of, redo, undo


def recorded(one: Journal, title: str, *edits: Edit) -> JournalAction:
    """An action that is recorded as done; no file is written."""
    with one.begin(title, [StoreEdits("/s", edits)]) as recording:
        pass
    found = one.get(recording.action)
    assert found is not None
    return found


def titles(actions: list[JournalAction]) -> list[str]:
    return [action.title for action in actions]


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Journal]:
    """A journal with the actions 0 to 4; nothing of 2 is on disk, and 3 is undone."""
    one = Journal(tmp_path / "state")
    for number in range(5):
        if number == 2:
            with pytest.raises(KeyError), one.begin("2", []):
                raise KeyError
        else:
            recorded(one, f"{number}")
    with one.undoing(4):
        pass
    yield one
    one.close()


def test_the_log_is_newest_first_and_limited(filled: Journal) -> None:
    assert titles(filled.log()) == ["4", "3", "2", "1", "0"]
    assert titles(filled.log(2)) == ["4", "3"]
    assert titles(filled.log(void=False)) == ["4", "3", "1", "0"]
    assert titles(filled.undoable()) == ["4"]
    assert titles(filled.undoable(9)) == ["4", "1", "0"]
    assert titles(filled.redoable()) == ["3"]
    assert filled.get(99) is None
    for _ in range(100):
        recorded(filled, "more")
    assert len(filled.log()) == 100


def test_what_was_undone_is_redone_in_the_opposite_order(filled: Journal) -> None:
    for action in (1, 5, 2):
        with filled.undoing(action):
            pass
    assert titles(filled.redoable(9)) == ["1", "4", "0", "3"]
    assert titles(filled.redoable()) == ["1"]
    with pytest.raises(KeyError), filled.redoing(2):
        raise KeyError
    assert titles(filled.redoable(9)) == ["1", "4", "0", "3"], "a redo that failed moves nothing"
    with filled.redoing(1):
        pass
    assert titles(filled.redoable(9)) == ["1", "4", "3"]


@pytest.mark.parametrize(
    ("step", "action"),
    [("undoing", 3), ("undoing", 4), ("undoing", 99), ("redoing", 1), ("redoing", 3)],
)
def test_a_step_is_refused_where_the_action_is_in_another_state(
    filled: Journal, step: str, action: int
) -> None:
    before = [(entry.state, entry.changed) for entry in filled.log()]
    with pytest.raises(Refused, match=r"not in a state to do this \(look at the log\)"):
        getattr(filled, step)(action)
    assert [(entry.state, entry.changed) for entry in filled.log()] == before


def test_the_mark_changes_with_every_action_and_not_else(filled: Journal, tmp_path: Path) -> None:
    marks = [Journal(tmp_path / "none").mark, filled.mark]
    filled.log()
    assert filled.mark == marks[-1] != marks[0] == ()
    with Journal(filled.state).undoing(1):
        marks.append(filled.mark)
    marks.append(filled.mark)
    recorded(filled, "new")
    marks.append(filled.mark)
    filled.forget([6])
    marks.append(filled.mark)
    assert all(first != second for first, second in pairwise(marks))


def test_steps_are_those_that_left_something_since_a_time_in_these_files(tmp_path: Path) -> None:
    one = Journal(tmp_path)
    first = recorded(one, "a", text_edit("/a", None, "1"), text_edit("/b", None, "2"))
    recorded(one, "b", text_edit("/a", "1", "3"), row_edit("/db", "t", {"id": 1}, None, {"x": 1}))
    with (
        pytest.raises(KeyError),
        one.begin("void", [StoreEdits("/s", (text_edit("/a", "3", ""),))]),
    ):
        raise KeyError

    def found(**asked: object) -> list[tuple[str, str]]:
        steps = one.steps(**asked)  # type: ignore[arg-type]
        return [(step.action.title, str(getattr(step.edit, "path", ""))) for step in steps]

    assert found() == [("b", "/db"), ("b", "/a"), ("a", "/b"), ("a", "/a")]
    assert found(files=["/a", "/none"]) == [("b", "/a"), ("a", "/a")]
    assert found(since=first.changed) == [("b", "/db"), ("b", "/a")]
    assert found(choose=lambda steps: steps[1:2]) == [("b", "/a")]
    with one.undoing(2):
        pass
    texts = [(step.edit.before, step.edit.after) for step in one.steps(files=["/a"])]
    assert texts == [("3", "1"), (None, "1")], "what is undone is inverted"
    assert [step.store for step in one.steps()] == ["/s"] * 4


def test_recent_edits_come_by_target_the_last_changed_first(tmp_path: Path) -> None:
    """Each follows the one before; an edit that does not ends the history, up to the creation."""

    def record(id: str, before: str | None, after: str | None) -> Edit:
        return record_edit("/r.json", (), "id", id, before, after)

    def row(id: int, before: object, after: object) -> Edit:
        return row_edit("/db", "t", {"id": id}, before, after)  # type: ignore[arg-type]

    targets: dict[str, list[Edit]] = {
        "record": [record("a", None, '{"n": 1}'), record("a", '{ "n":1 }', '{"n": 2}')],
        "interrupted": [record("b", '"0"', '"1"'), record("b", '"2"', '"3"')],
        "created": [record("c", None, '"1"'), record("c", '"2"', '"3"')],
        "value": [value_edit("/v", ("a",), "", "1"), value_edit("/v", ("a",), "1", "2")],
        "value created": [value_edit("/v", ("b",), "", "1"), value_edit("/v", ("b",), "3", "2")],
        "value interrupted": [value_edit("/v", ("c",), "0", "1"),
                              value_edit("/v", ("c",), "3", "2")],
        "row": [row(1, {"x": 1, "y": 1}, {"x": 2, "y": 1}), row(1, {"x": 2}, {"x": 3})],
        "row interrupted": [row(2, {"x": 1}, {"x": 2}), row(2, {"x": 5}, {"x": 3})],
        "row made twice": [row(3, {"x": 1}, None), row(3, None, {"x": 3})],
        "row gone": [row(4, {"x": 1}, {"x": 2}), row(4, None, {"x": 3})],
        "row of two columns": [row_edit("/db", "t", {"id": 5, "b": 1}, {"x": 1}, {"x": 2}),
                               row_edit("/db", "t", {"b": 1, "id": 5}, {"x": 2}, {"x": 3})],
        "note": [sidecar_edit("/s", "m", None, {"a": 1}), sidecar_edit("/s", "m", {"a": 1}, None)],
        "other note": [sidecar_edit("/t", "m", None, {"a": 1}), sidecar_edit("/t", "m", {}, None)],
        "items": [text_edit("/i", None, "1", Kind.ENTRIES),
                  text_edit("/i", "1", "2", Kind.ENTRIES)],
        "lines": [text_edit("/l", None, "1", Kind.LINES), text_edit("/l", "1", "2", Kind.LINES),
                  text_edit("/l", "3", "4", Kind.LINES)],
    }  # fmt: skip
    one = Journal(tmp_path)
    for name, edits in targets.items():
        for number, edit in enumerate(edits):
            recorded(one, f"{name} {number}", edit)
    found = [[step.action.title for step in history.steps] for history in one.recent(0)]
    assert found == [
        ["lines 2"],
        ["lines 1", "lines 0"],
        ["items 1"],
        ["items 0"],
        ["other note 1"],
        ["note 1", "note 0"],
        ["row of two columns 1", "row of two columns 0"],
        ["row gone 1"],
        ["row made twice 1", "row made twice 0"],
        ["row interrupted 1"],
        ["row 1", "row 0"],
        ["value interrupted 1"],
        ["value created 1", "value created 0"],
        ["value 1", "value 0"],
        ["created 1", "created 0"],
        ["interrupted 1"],
        ["record 1", "record 0"],
    ]
    with one.undoing(1):
        pass
    assert titles([history.steps[0].action for history in one.recent(0)])[0] == "record 0"
    assert one.recent(time.time() + 60) == []


def test_the_memories_of_an_action_are_those_of_its_open_stores_that_exist() -> None:
    edits: list[tuple[int, Edit]] = [
        (0, record_edit("/s/a.json", (), "id", "r", None, "{}")),
        (0, sidecar_edit("/s", "m", None, {"pinned": True})),
        (0, sidecar_edit("/s", "m", {"pinned": True}, None)),
        (0, text_edit("/s/notes/n.md", "", "x")),
        (1, text_edit("/closed/x.md", "", "x")),
        (0, text_edit("/s/gone.md", "x", None)),
    ]
    stored = [
        StoredEdit(1, at, part, edit, in_effect=True) for at, (part, edit) in enumerate(edits)
    ]
    asked = []

    def get(ref: str) -> Memory:
        asked.append(ref)
        if ref.endswith((".md", "gone")):
            raise RefError("none")
        return Memory(ref=ref, store="s", id=ref.partition(":")[2], kind="fact", content="")

    action = JournalAction(1, "x", 0, 0, ActionState.DONE, ("/s", "/closed"), lambda: stored)
    found = changed_memories(action, {"/s": "s"}, get)
    assert [memory.id for memory in found] == ["r", "m", "notes/n"]
    assert asked == ["s:r", "s:m", "s:m", "s:notes/n.md", "s:notes/n", "s:gone.md", "s:gone"]


def test_files_are_reported_while_they_are_saved(tmp_path: Path) -> None:
    one, said = Journal(tmp_path / "state"), list[Progress]()
    for names in (["a", "b", "c"], ["alone"]):
        edits = tuple(text_edit(str(tmp_path / name), None, "x\n") for name in names)
        parts = [StoreEdits("/s", edits), StoreEdits("/t", edits[:1])]
        with one.begin("x", parts) as recording:
            recording.report_to(said.append, parts)
            commit(edits, recording)
    assert said == [Progress("saving", number, 3) for number in (1, 2, 3)]


# ---- bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bound", "kept"), [(3, 3), (5, 5), (6, 5)])
def test_older_actions_than_the_newest_so_many_go_at_start(
    filled: Journal, monkeypatch: pytest.MonkeyPatch, bound: int, kept: int
) -> None:
    monkeypatch.setattr(journal, "MAX_ACTIONS", bound)
    assert filled.recover() == []
    assert titles(filled.log()) == ["4", "3", "2", "1", "0"][:kept]


@pytest.mark.parametrize("bound", [1, 2])
def test_only_files_of_the_newest_actions_are_cleaned_and_their_writes_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: int
) -> None:
    """A power cut may bring back a temporary file; what another program wrote is none of them."""
    monkeypatch.setattr(journal, "MAX_RECHECKED", bound)
    one, paths = Journal(tmp_path / "state"), [tmp_path / f"{n}.md" for n in range(3)]
    at_work = one.begin("at work", [StoreEdits("/s", (text_edit("/w", None, "w"),))])
    at_work.intend("/w", "", mark_of("w"))
    leftovers = []
    for path in paths:
        path.write_text("old\n")
        do(one, path.name, text_edit(str(path), "old\n", "new\n"))
        leftovers.append(leftover_of(path, "old\n"))
    one.recover()
    assert [file.exists() for file in leftovers] == [n < 3 - bound for n in range(3)]
    assert [bool(one.writes(n)) for n in (2, 3, 4)] == [n >= 3 - bound for n in range(3)]
    assert [write.path for write in one.writes(at_work.action)] == ["/w"]
    assert [path.read_text() for path in paths] == ["new\n"] * 3


def test_times_go_on_where_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But not after a time that a wrong clock has set far ahead."""
    one, now = Journal(tmp_path), 1_800_000_000.0
    changed = []
    day = 24 * 3600
    for moment in (now, now - 60, now + 1, now - 2 * day + 60, now + 40 * day, now + 2):
        monkeypatch.setattr(time, "time", lambda moment=moment: moment)
        changed.append(recorded(one, "x").changed)
    assert changed[:4] == sorted(set(changed[:4]))
    assert changed[3] == pytest.approx(now + 1, abs=0.01)
    assert changed[4] == pytest.approx(now + 40 * day, abs=0.01)
    assert changed[5] == pytest.approx(now + 2, abs=0.01)


def test_the_files_of_dead_processes_go_at_start(tmp_path: Path) -> None:
    one, two = Journal(tmp_path), Journal(tmp_path)
    for each in (one, two):
        recorded(each, "x")
    (tmp_path / "owners" / "0123456789abcdef").write_text("")
    assert len(os.listdir(tmp_path / "owners")) == 3
    one.recover()
    assert len(os.listdir(tmp_path / "owners")) == 2, "both live"
    two.close()
    one.close()
    assert os.listdir(tmp_path / "owners") == []


# ---- what is said -------------------------------------------------------------------------------


def test_another_memtui_that_writes_for_long_is_waited_for_and_then_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.01)
    one = Journal(tmp_path)
    recorded(one, "x")
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SaveError) as caught:
            one.begin("y", [])
        assert str(caught.value) == (
            f"{tmp_path / FILE}: the journal cannot be written: database is locked"
            " (nothing was changed)"
        )
        assert titles(one.log()) == ["x"], "reading goes on"
        other.execute("ROLLBACK")
    recorded(one, "y")
    assert (titles(one.log()), one.fault) == (["y", "x"], "")
    assert not list(tmp_path.glob("*damaged*"))


def test_a_link_in_place_of_the_journal_is_not_followed(tmp_path: Path) -> None:
    target, state = tmp_path / "target", tmp_path / "state"
    state.mkdir()
    (state / FILE).symlink_to(target)
    with pytest.raises(SaveError, match="the journal cannot be written: File exists"):
        Journal(state).begin("x", [])
    assert not target.exists()


def test_a_state_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SaveError, match="the journal cannot be written: Not a directory"):
        Journal(tmp_path / "file" / "state").begin("x", [])


def spoil(state: Path) -> None:
    (state / FILE).write_bytes(b"this is no database\n" * 400)


def test_a_change_is_recorded_where_the_journal_is_found_damaged(tmp_path: Path) -> None:
    spoil(tmp_path)
    one = Journal(tmp_path)
    recorded(one, "x", text_edit("/a", None, "a"))
    assert titles(one.log()) == ["x"]
    assert one.fault.endswith("; what was done before cannot be undone")
    (renamed,) = tmp_path.glob("*damaged*")
    assert one.fault.startswith(f"the journal was damaged and is now {renamed.name}")


def test_a_journal_that_may_not_be_renamed_stays(tmp_path: Path) -> None:
    spoil(tmp_path)
    one = Journal(tmp_path, renames_damaged=False)
    for work in (one.log, lambda: one.begin("x", [])):
        with pytest.raises(SaveError, match="the journal is damaged"):
            work()
    assert one.fault == "the journal is damaged"
    assert os.listdir(tmp_path / "owners") == []
    assert (tmp_path / FILE).read_bytes().startswith(b"this is no database")


def test_recovery_of_a_damaged_journal_has_nothing_to_tell(tmp_path: Path) -> None:
    spoil(tmp_path)
    one = Journal(tmp_path)
    assert one.recover() == []
    assert one.fault.startswith("the journal was damaged")


def test_the_journal_that_another_memtui_began_anew_is_not_renamed(tmp_path: Path) -> None:
    one = Journal(tmp_path)
    recorded(one, "x")
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        db.execute("DROP TABLE edits")
    for suffix in ("", "-wal", "-shm"):
        os.rename(f"{tmp_path / FILE}{suffix}", f"{tmp_path / FILE}.damaged{suffix}")
    recorded(Journal(tmp_path), "of another")
    with pytest.raises(SaveError, match="another memtui has begun a new one; try again"):
        one.begin("y", [])
    assert titles(one.log()) == ["of another"]


@pytest.mark.slow
def test_an_action_that_was_recovered_meanwhile_stays_as_it_was_judged(tmp_path: Path) -> None:
    one, path = Journal(tmp_path / "state"), tmp_path / "a.md"
    do(one, "x", text_edit(str(path), None, "a\n"))
    assert one.judge(1) is ActionState.DONE
    assert one.judge(99) is ActionState.VOID
    undo(one)
    redo(one)
    assert (path.read_text(), one.judge(1)) == ("a\n", ActionState.DONE)


def test_a_save_goes_on_where_the_journal_can_not_be_written_any_more(tmp_path: Path) -> None:
    """What was announced is on disk; a start after it judges the action by its files."""
    state, path = tmp_path / "state", tmp_path / "a.md"
    one = Journal(state)
    with one.begin("x", [StoreEdits("/s", (text_edit(str(path), None, "a\n"),))]) as recording:
        recording.intend(str(path), "", mark_of("a\n"))
        path.write_text("a\n")
        with closing(sqlite3.connect(state / FILE)) as db, db:
            db.execute(
                "CREATE TRIGGER t BEFORE UPDATE ON writes BEGIN SELECT RAISE(FAIL, 'x'); END"
            )
            db.execute(
                "CREATE TRIGGER u BEFORE UPDATE ON actions BEGIN SELECT RAISE(FAIL, 'x');END"
            )
        recording.done(str(path))
    assert path.read_text() == "a\n"
