"""Everything memtui did can be taken back, also after a restart, and the log says so."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memtui.changes import (
    Edit,
    StoreEdits,
    record_edit,
    row_edit,
    sidecar_edit,
    text_edit,
    value_edit,
)
from memtui.errors import Conflict, RefError, Refused, SaveError
from memtui.files import backups, save_hooks
from memtui.files.json.editing import set_member
from memtui.files.json.locating import load_records
from memtui.files.reading import TEMPORARY_MARK
from memtui.files.revert_detection import EditState, find_statuses
from memtui.files.save_transaction import commit
from memtui.journal import ActionState, Journal, JournalAction
from memtui.journal.action import StoredEdit, changed_memories
from memtui.model import Memory


def write_store(folder: Path, count: int = 3) -> Path:
    path = folder / "items.json"
    records = [{"id": f"r{i}", "content": f"fact {i}"} for i in range(count)]
    path.write_text(json.dumps(records, indent=2) + "\n")
    return path


def edit_of(path: Path, index: int, content: str) -> Edit:
    record = load_records(path.read_text())[index]
    after = set_member(record.raw, "content", content)
    return record_edit(str(path), (), "id", record.value["id"], record.raw, after)


def do(journal: Journal, title: str, *edits: Edit) -> JournalAction:
    with journal.begin(title, [StoreEdits("store", edits)]) as recording:
        commit(edits, recording)
    found = journal.get(recording.action)
    assert found is not None
    return found


def undo(journal: Journal) -> None:
    action = journal.undoable()[0]
    with journal.undoing(action.id) as recording:
        for part in action.inverted():
            commit(part.edits, recording)


def redo(journal: Journal) -> None:
    action = journal.redoable()[0]
    with journal.redoing(action.id) as recording:
        for part in action.parts:
            commit(part.edits, recording)


def test_undo_and_redo_walk_back_and_forth_through_the_same_bytes(tmp_path: Path) -> None:
    path, state = write_store(tmp_path), tmp_path / "state"
    journal, seen = Journal(state), [path.read_bytes()]
    for number in range(4):
        do(journal, f"edit {number}", edit_of(path, number % 3, f"new {number}"))
        seen.append(path.read_bytes())
        journal.close()
        journal = Journal(state)
    for before in reversed(seen[:-1]):
        undo(journal)
        assert path.read_bytes() == before
        journal.close()
        journal = Journal(state)
    assert journal.undoable() == []
    for after in seen[1:]:
        redo(journal)
        assert path.read_bytes() == after
    assert [action.state for action in journal.log()] == [ActionState.DONE] * 4
    assert [action.title for action in journal.undoable(9)] == [f"edit {n}" for n in (3, 2, 1, 0)]


def test_folders_that_a_change_made_go_with_it_and_no_others(tmp_path: Path) -> None:
    """Undone in the order they were made; an empty folder of the person and a used one stay."""
    journal, mine, used = Journal(tmp_path / "state"), tmp_path / "mine", tmp_path / "new" / "used"
    mine.mkdir()
    edits = [
        text_edit(str(tmp_path / name), None, "text\n")
        for name in ("new/deep/er/a.md", "new/deep/b.md", "new/used/c.md", "mine/d.md")
    ]
    actions = [do(journal, edit.path, edit) for edit in edits]
    for _ in range(2):
        for action in actions:
            with journal.undoing(action.id) as recording:
                commit(action.inverted()[0].edits, recording)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "state"]
        for _ in actions:
            redo(journal)
    (used / "theirs.md").write_text("of another program")
    for _ in actions:
        undo(journal)
    assert [path.name for path in (tmp_path / "new").rglob("*")] == ["used", "theirs.md"]
    assert list(mine.iterdir()) == []


def test_folders_of_a_change_that_was_killed_go_too(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "state")
    edits = (text_edit(str(tmp_path / "new" / "er" / "a.md"), None, "text\n"),)
    journal.begin("cut short", [StoreEdits("store", edits)])
    (tmp_path / "new" / "er").mkdir(parents=True)
    journal.close()
    assert [action.state for action in Journal(tmp_path / "state").recover()] == [ActionState.VOID]
    assert not (tmp_path / "new").exists()


def test_a_new_action_ends_what_can_be_redone_but_not_the_log(tmp_path: Path) -> None:
    path, journal = write_store(tmp_path), Journal(tmp_path / "state")
    do(journal, "one", edit_of(path, 0, "a"))
    undo(journal)
    do(journal, "two", edit_of(path, 1, "b"))
    assert journal.redoable() == []
    assert [(a.title, a.state) for a in journal.log()] == [
        ("two", ActionState.DONE),
        ("one", ActionState.UNDONE),
    ]


def test_an_action_that_fails_leaves_what_can_be_redone(tmp_path: Path) -> None:
    path, journal = write_store(tmp_path), Journal(tmp_path / "state")
    do(journal, "one", edit_of(path, 0, "a"))
    undo(journal)
    with pytest.raises(Conflict):
        do(journal, "no", text_edit(str(path), "something else", "x"))
    assert [a.title for a in journal.redoable()] == ["one"]
    redo(journal)
    assert '"a"' in path.read_text()


def test_what_was_taken_back_because_a_later_file_failed_is_void(tmp_path: Path) -> None:
    path, journal = write_store(tmp_path), Journal(tmp_path / "state")
    other = tmp_path / "other.json"
    other.write_text(path.read_text())
    os.link(other, tmp_path / "second-name.json")
    before = path.read_bytes()
    with pytest.raises(Refused, match="hard links"):
        do(journal, "both", edit_of(path, 0, "x"), edit_of(other, 0, "x"))
    assert (path.read_bytes(), journal.log()[0].state) == (before, ActionState.VOID)


def test_undo_of_what_an_agent_changed_since_is_a_conflict_and_changes_nothing(
    tmp_path: Path,
) -> None:
    path, journal = write_store(tmp_path), Journal(tmp_path / "state")
    do(journal, "mine", edit_of(path, 0, "mine"))
    theirs = path.read_text().replace('"mine"', '"theirs"')
    path.write_text(theirs)
    with pytest.raises(Conflict) as caught:
        undo(journal)
    assert ("theirs" in (caught.value.theirs or ""), path.read_text()) == (True, theirs)
    assert journal.log()[0].state is ActionState.DONE


def test_undo_fits_a_file_that_a_program_has_written_out_anew(tmp_path: Path) -> None:
    path, journal = write_store(tmp_path), Journal(tmp_path / "state")
    before = json.loads(path.read_text())
    do(journal, "mine", edit_of(path, 0, "mine"))
    path.write_text(json.dumps(json.loads(path.read_text())))
    undo(journal)
    assert json.loads(path.read_text()) == before
    assert "\n" not in path.read_text()


def test_an_action_that_fails_is_void_and_its_files_are_as_they_were(tmp_path: Path) -> None:
    path, journal = write_store(tmp_path), Journal(tmp_path / "state")
    note = tmp_path / "note.md"
    note.write_text("changed meanwhile")
    before = path.read_bytes()
    edits = (edit_of(path, 0, "x"), text_edit(str(note), "as it was", "new"))
    with pytest.raises(Conflict):
        do(journal, "both", *edits)
    assert (path.read_bytes(), journal.log()[0].state) == (before, ActionState.VOID)
    assert (journal.undoable(), journal.redoable()) == ([], [])


def test_every_kind_of_edit_survives_the_journal(tmp_path: Path) -> None:
    odd = 'half \ud83d, byte \udcff, nul \0, quote ", \u2028'
    edits: tuple[Edit, ...] = (
        record_edit("/a/\udcff.json", ("events", odd), "id", odd, odd, None, 3),
        value_edit("/a", ("lastActive",), "1", "2"),
        text_edit("/b", None, odd),
        sidecar_edit("/s", "m", None, {"pinned": True, "tags": [odd]}),
        row_edit("/db", "t", {"id": 7}, {"x": None, "y": 1.5}, None),
    )
    journal = Journal(tmp_path)
    with pytest.raises(KeyError), journal.begin(odd, [StoreEdits("s", edits)]):
        raise KeyError
    (action,) = Journal(tmp_path).log()
    assert (action.edits, action.title, action.state) == (edits, odd, ActionState.VOID)


def test_looking_at_an_empty_journal_makes_no_file(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "state")
    assert journal.log() == journal.undoable() == journal.redoable() == journal.recent(0) == []
    assert journal.recover() == []
    assert not (tmp_path / "state").exists()


def test_files_and_folders_are_private_whatever_the_umask(tmp_path: Path) -> None:
    path = write_store(tmp_path)
    for umask in (0o000, 0o077):
        old = os.umask(umask)
        try:
            state = tmp_path / f"deep-{umask}" / "state"
            journal = Journal(state)  # kept, so that its open files stay to be looked at
            do(journal, "x", edit_of(path, 0, f"{umask}"))
        finally:
            os.umask(old)
        for found in [state, *state.rglob("*")]:
            assert stat.S_IMODE(found.stat().st_mode) & 0o077 == 0


def test_two_journals_share_one_file_and_one_action_is_undone_once(tmp_path: Path) -> None:
    path, state = write_store(tmp_path), tmp_path / "state"
    one, two = Journal(state), Journal(state)
    do(one, "a", edit_of(path, 0, "a"))
    do(two, "b", edit_of(path, 1, "b"))
    assert [a.title for a in one.log()] == [a.title for a in two.log()] == ["b", "a"]
    action = one.undoable()[0]
    undo(one)
    with pytest.raises(Refused, match="state"):
        two.undoing(action.id)
    assert one.recover() == two.recover() == []


def test_what_a_living_memtui_is_doing_is_not_judged(tmp_path: Path) -> None:
    state = tmp_path / "state"
    one, two = Journal(state), Journal(state)
    recording = one.begin("at work", [])
    assert two.recover() == []
    one.close()
    assert [a.state for a in two.recover()] == [ActionState.VOID]
    assert recording.action == two.log()[0].id


@pytest.mark.parametrize("intact", [0, 4096])
def test_a_damaged_journal_is_renamed_once_no_other_memtui_has_it_open(
    tmp_path: Path, intact: int
) -> None:
    """No file of SQLite, or one whose first page is whole; else what the other does next is lost"""
    path, state = write_store(tmp_path), tmp_path / "state"
    file, other, journal = state / "journal.sqlite", Journal(state), Journal(state)
    for number in range(5):
        do(other, f"x{number}" * 2000, edit_of(path, 0, f"x{number}"))
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    file.write_bytes(file.read_bytes()[:intact] + b"garbage!" * 5000)
    with pytest.raises(SaveError, match="another memtui has it open"):
        journal.log()
    assert not list(state.glob("*damaged*"))
    other.close()
    assert journal.log() == []
    assert "was damaged and is now" in journal.fault
    do(journal, "y", edit_of(path, 0, "y"))
    assert [action.title for action in journal.log()] == ["y"]
    assert any(b"garbage!" * 9 in file.read_bytes() for file in state.glob("*damaged-*"))


def test_a_newer_journal_is_left_alone(tmp_path: Path) -> None:
    path, state = write_store(tmp_path), tmp_path / "state"
    journal = Journal(state)
    do(journal, "y", edit_of(path, 0, "y"))
    journal.close()
    with sqlite3.connect(state / "journal.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(SaveError, match="newer"):
        do(Journal(state), "z", edit_of(path, 0, "z"))
    assert '"y"' in path.read_text()


def test_forgetting_leaves_no_trace_of_the_secret(tmp_path: Path) -> None:
    path, state = write_store(tmp_path), tmp_path / "state"
    secret = "hunter2-" * 40
    journal = Journal(state)
    do(journal, "oops", edit_of(path, 0, secret))
    do(journal, "mend", edit_of(path, 0, "harmless"))
    assert backups.last_good(path, state) is not None
    journal.forget([action.id for action in journal.log()])
    held = [found for found in state.rglob("*") if found.is_file()]
    assert not [found for found in held if b"hunter2-hunter2" in found.read_bytes()]
    assert journal.log() == []


def test_recent_writes_are_known_until_the_library_has_checked_them(tmp_path: Path) -> None:
    path, journal = write_store(tmp_path), Journal(tmp_path / "state")
    agent_has_read = path.read_text()
    do(journal, "one", edit_of(path, 0, "a"))
    do(journal, "two", edit_of(path, 0, "b"))
    do(journal, "three", edit_of(path, 1, "c"))
    recent = journal.recent(0)
    assert [[(s.action.title, s.edit.id) for s in trail.steps] for trail in recent] == [
        [("three", "r1")],
        [("two", "r0"), ("one", "r0")],
    ]
    trails = [trail.edits for trail in recent]
    assert {stand.state for _, stand in find_statuses(trails)} == {EditState.HELD}
    path.write_text(agent_has_read.replace("fact 0", "b"))
    assert [(t[0].id, stand.state) for t, stand in find_statuses(trails)] == [
        ("r1", EditState.REVERTED),
        ("r0", EditState.HELD),
    ]
    undo(journal)
    back, forth = journal.recent(0)[0].edits[0], trails[0][0]
    assert (back.before, back.after) == (forth.after, forth.before)


def test_a_write_of_another_program_in_between_ends_what_is_ours(tmp_path: Path) -> None:
    path, journal = write_store(tmp_path), Journal(tmp_path / "state")
    do(journal, "one", edit_of(path, 0, "a"))
    path.write_text(path.read_text().replace('"a"', '"theirs"'))
    do(journal, "two", edit_of(path, 0, "b"))
    (trail,) = journal.recent(0)
    assert [step.action.title for step in trail.steps] == ["two"]


# ---- a save that failed and was tried again -------------------------------------------------


def writes_when(point: str, path: Path, text: str) -> None:
    """Another program writes the file once, at this point of our save."""

    def hook(reached: str) -> None:
        if reached == point:
            save_hooks.install(None)
            path.write_text(text)

    save_hooks.install(hook)


@pytest.mark.parametrize("point", ["temp", "check", "exchange"])
def test_a_save_that_met_a_conflict_leaves_nothing_to_undo(tmp_path: Path, point: str) -> None:
    path, journal = write_store(tmp_path), Journal(tmp_path / "state")
    theirs = path.read_text().replace("fact 0", "theirs")
    writes_when(point, path, theirs)
    with pytest.raises(Conflict):
        do(journal, "edit", edit_of(path, 0, "mine"))
    assert path.read_text() == theirs
    assert [action.state for action in journal.log()] == [ActionState.VOID]
    assert journal.undoable() == journal.log(void=False) == []
    do(journal, "edit", edit_of(path, 0, "mine"))
    (action,) = journal.log(void=False)
    undo(journal)
    assert (path.read_text(), journal.undoable()) == (theirs, [])
    assert journal.log(void=False)[0].id == action.id


def test_a_failed_second_file_takes_the_first_back_and_leaves_nothing_to_undo(
    tmp_path: Path,
) -> None:
    path, journal = write_store(tmp_path), Journal(tmp_path / "state")
    other = tmp_path / "other"
    other.mkdir()
    second = write_store(other)
    before = path.read_bytes(), second.read_bytes()
    edits = edit_of(path, 0, "mine"), edit_of(second, 0, "mine")
    passes: list[str] = []

    def hook(reached: str) -> None:
        passes.append(reached)
        if passes.count("exchange") == 2:
            save_hooks.install(None)
            raise OSError(errno.EIO, "the disk is full of holes")

    save_hooks.install(hook)
    with pytest.raises(SaveError):
        do(journal, "edit both", *edits)
    assert (path.read_bytes(), second.read_bytes()) == before
    assert [action.state for action in journal.log()] == [ActionState.VOID]
    assert journal.undoable() == []


@pytest.mark.slow
def test_a_second_look_at_the_journal_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """Another process that ends would else delete the log that this one goes on writing to."""
    path, state = write_store(tmp_path), tmp_path / "state"

    def titles() -> list[str]:  # not by a fork, which would inherit SQLite's list of locks
        code = (
            "import sys; from pathlib import Path; from memtui.journal import Journal;"
            "journal = Journal(Path(sys.argv[1]));"
            "print(*(action.title for action in journal.log())); journal.close()"
        )
        command = [sys.executable, "-c", code, str(state)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    journal = Journal(state)
    do(journal, "one", edit_of(path, 0, "first"))
    second = Journal(state)
    second.log()
    second.close()
    assert titles() == ["one"]
    do(journal, "two", edit_of(path, 1, "second"))
    assert titles() == ["two", "one"]
    assert [action.title for action in journal.log()] == ["two", "one"]
    journal.close()


# ---- what a kill leaves beside a file ----------------------------------------------------------


def killed_while(
    tmp_path: Path, edits: tuple[Edit, ...], written: bytes | None, *writes: tuple[Path, str, str]
) -> JournalAction:
    """The action after the next start, where its process was killed between these writes."""
    dead = Journal(tmp_path / "state")
    recording = dead.begin("cut short", [StoreEdits(str(tmp_path), edits)])
    for path, pre, post in writes:
        recording.intend(str(path), pre, post)
    dead.close()
    if written is not None:
        writes[0][0].write_bytes(written)
    (found,) = Journal(tmp_path / "state").recover()
    return found


def mark_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def leftover_of(path: Path, text: str) -> Path:
    leftover = path.parent / f".{path.name}{TEMPORARY_MARK}{'0' * 16}"
    leftover.write_text(text)
    return leftover


@pytest.mark.parametrize(
    ("disk", "leftover", "state", "after", "kept"),
    [
        ("old\n", "new", ActionState.VOID, "old\n", []),  # half of ours
        ("new\n", "old\n", ActionState.DONE, "new\n", []),  # what ours displaced
        ("new\n", "old\ntheirs\n", ActionState.DONE, "new\ntheirs\n", ["old\n", "new\n"]),
    ],
)
def test_only_a_version_of_another_program_is_kept_and_merged(
    tmp_path: Path, disk: str, leftover: str, state: ActionState, after: str, kept: list[str]
) -> None:
    path = tmp_path / "note.md"
    path.write_text(disk)
    temporary = leftover_of(path, leftover)
    edit = text_edit(str(path), "old\n", "new\n")
    action = killed_while(tmp_path, (edit,), None, (path, mark_of("old\n"), mark_of("new\n")))
    assert (action.state, path.read_text(), temporary.exists()) == (state, after, False)
    found = [backup.read().decode() for backup in backups.list_backups(path, tmp_path / "state")]
    assert (leftover in found) == bool(kept)


@pytest.mark.parametrize("name", ["notes #1.md", "engram.db#observations{}.md"])
def test_a_file_with_a_number_sign_in_its_name_is_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    temporary = leftover_of(path, "half of")
    edit = text_edit(str(path), None, "new\n")
    action = killed_while(tmp_path, (edit,), None, (path, "", mark_of("new\n")))
    assert (action.state, temporary.exists()) == (ActionState.VOID, False)


def test_a_write_by_another_program_after_the_kill_makes_nothing_unsure(tmp_path: Path) -> None:
    """Where what the edits change is as they leave it or as they found it, that decides."""
    path = write_store(tmp_path)
    edit = edit_of(path, 0, "mine")
    before = path.read_text()
    writes = (path, mark_of(before), mark_of("after"))
    theirs = before.replace("fact 2", "theirs")
    assert killed_while(tmp_path, (edit,), theirs.encode(), writes).state is ActionState.VOID
    both = theirs.replace("fact 0", "mine")
    assert killed_while(tmp_path, (edit,), both.encode(), writes).state is ActionState.DONE
    other = theirs.replace("fact 0", "also theirs")
    assert killed_while(tmp_path, (edit,), other.encode(), writes).state is ActionState.UNSURE


def test_the_edits_that_a_store_made_take_the_place_of_the_planned_ones(tmp_path: Path) -> None:
    path, journal = write_store(tmp_path), Journal(tmp_path / "state")
    planned, made = edit_of(path, 0, "planned"), edit_of(path, 1, "made")
    with journal.begin("x", [StoreEdits("store", (planned,))]) as recording:
        commit([made], recording)
        recording.made([StoreEdits("store", (made,))])
    journal.close()
    before = path.read_text()
    (action,) = Journal(tmp_path / "state").log()
    assert action.edits == (made,)
    undo(Journal(tmp_path / "state"))
    assert path.read_text() == before.replace("made", "fact 1")


def test_the_memory_of_a_row_is_found_by_each_name_of_its_number() -> None:
    def found(edit: Edit) -> list[str]:
        asked: list[str] = []

        def get(ref: str) -> Memory:
            asked.append(ref)
            raise RefError("none")

        stored = StoredEdit(1, 0, 0, edit, in_effect=True)
        action = JournalAction(1, "x", 0, 0, ActionState.DONE, ("/s",), lambda: [stored])
        assert changed_memories(action, {"/s": "s"}, get) == []
        return asked

    assert found(row_edit("/db", "t", {"id": 7}, None, None)) == ["s:7", "s:t/7"]
    assert found(row_edit("/db", "t", {"sync_id": "a"}, {"rowid": 8}, None)) == ["s:8", "s:t/8"]
    assert found(row_edit("/db", "t", {"sync_id": "a"}, None, {"id": 9})) == ["s:9", "s:t/9"]
    assert found(row_edit("/db", "t", {"id": 1}, {"id": 2}, {"id": 3})) == [
        "s:1",
        "s:t/1",
        "s:3",
        "s:t/3",
        "s:2",
        "s:t/2",
    ]
