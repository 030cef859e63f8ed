"""What other programs write during a save, or while memtui is dead, is merged or kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memtui.changes import (
    Edit,
    Kind,
    StoreEdits,
    row_edit,
    sidecar_edit,
    text_edit,
    value_edit,
)
from memtui.files import backups
from memtui.files.atomic_replace import UNWRITTEN
from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit
from memtui.files.staging import new_stage
from memtui.journal import ActionState, Journal
from memtui.journal.recovery import recover_late_writes
from tests.unit.journal.test_journal import (
    edit_of,
    killed_while,
    leftover_of,
    mark_of,
    write_store,
)


def late(path: Path, edits: list[Edit], written: str, ours: list[Edit]) -> list[bool]:
    """Whether each late write was recovered, where another program writes the old file anew."""
    recorder = NullRecorder(path.parent / "state")
    with path.open("r+") as opened:
        commit(edits, recorder)
        opened.write(written)
        opened.truncate()
    found = [one.is_recovered for one in recover_late_writes(path, recorder, ours)]
    again = [one.is_recovered for one in recover_late_writes(path, recorder, ours)]
    assert again == [False for is_recovered in found if not is_recovered], "reported once"
    return found


def items(**contents: str) -> str:
    records = [{"id": id, "content": content} for id, content in contents.items()]
    return json.dumps(records, indent=2) + "\n"


@pytest.mark.parametrize(
    ("written", "is_recovered", "after"),
    [
        ({"r0": "fact 0", "r1": "fact 1", "r2": "fact 2", "new": "x"}, True, {"new": "x"}),
        ({"r0": "fact 0", "r2": "fact 2"}, True, {}),  # what only the file has is newer
        ({"r0": "theirs", "r1": "fact 1", "r2": "fact 2"}, True, {}),  # memtui's own record
        ({"r0": "fact 0", "r1": "theirs", "r2": "fact 2", "new": "x"}, False, {"new": "x"}),
        ({"new": "x", "other": "y"}, True, {"new": "x", "other": "y"}),
    ],
)
def test_records_that_only_a_late_version_has_are_added(
    tmp_path: Path, written: Mapping[str, str], is_recovered: bool, after: Mapping[str, str]
) -> None:
    path = write_store(tmp_path)
    edit = edit_of(path, 0, "mine")
    assert late(path, [edit], items(**written), [edit]) == [is_recovered]
    now = {record["id"]: record["content"] for record in json.loads(path.read_text())}
    assert now == {"r0": "mine", "r1": "fact 1", "r2": "fact 2", **after}


def test_a_late_version_in_another_layout_says_nothing_new(tmp_path: Path) -> None:
    path = write_store(tmp_path)
    edit, records = edit_of(path, 0, "mine"), json.loads(path.read_text())
    assert late(path, [edit], json.dumps(records), [edit]) == [True]
    assert '"mine"' in path.read_text()


def test_a_late_version_that_cannot_be_read_or_of_which_nothing_is_known_is_kept(
    tmp_path: Path,
) -> None:
    for name, written, is_known in (("a", '[{"id": ', True), ("b", items(new="x"), False)):
        folder = tmp_path / name
        folder.mkdir()
        path = write_store(folder)
        edit = edit_of(path, 0, "mine")
        assert late(path, [edit], written, [edit] if is_known else []) == [False]
        assert [record["id"] for record in json.loads(path.read_text())] == ["r0", "r1", "r2"]
        (kept,) = backups.list_backups(path, folder / "state")
        assert kept.read().decode() == written


@pytest.mark.parametrize(
    ("now", "written", "is_recovered", "after"),
    [
        ("# b\n", "# a\n- late\n", True, "# b\n- late\n"),
        ("# b\n", "# a\n- late", True, "# b\n- late"),
        ("# b", "# a\n- late\n", False, "# b"),  # it would continue our last line
        ("# b\n", "# other\n", False, "# b\n"),
        ("# b\n", "", False, "# b\n"),
        (None, "# a\n- late\n", False, None),
    ],
)
def test_lines_that_were_appended_late_are_appended(
    tmp_path: Path, now: str | None, written: str, is_recovered: bool, after: str | None
) -> None:
    path = tmp_path / "note.md"
    path.write_text("# a\n")
    edit = text_edit(str(path), "# a\n", now)
    assert late(path, [edit], written, [edit]) == [is_recovered]
    assert (path.read_text() if path.exists() else None) == after


ENTRIES = "Bo has a boat\n§\nIt is blue"


@pytest.mark.parametrize(
    ("written", "after"),
    [
        (f"{ENTRIES}\n§\nIt floats", "Bo has a ship\n§\nIt is blue\n§\nIt floats"),
        ("Bo has a boat", "Bo has a ship\n§\nIt is blue"),
        (ENTRIES.replace("a boat", "a ship"), "Bo has a ship\n§\nIt is blue"),
    ],
)
def test_entries_that_only_a_late_version_has_are_added(
    tmp_path: Path, written: str, after: str
) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text(ENTRIES)
    edit = text_edit(str(path), ENTRIES, ENTRIES.replace("a boat", "a ship"), Kind.ENTRIES)
    assert late(path, [edit], written, [edit]) == [True]
    assert path.read_text() == after


def test_half_a_graph_that_is_written_late_is_not_read(tmp_path: Path) -> None:
    lines = [
        json.dumps({"type": "entity", "name": name, "entityType": "x", "observations": []})
        for name in ("Ada", "Bo", "Cy")
    ]
    text = "\n".join(lines[:2])
    edit = text_edit("", text, text.replace("[]}", '["sails"]}', 1), Kind.GRAPH)
    for written, is_recovered in (("\n".join(lines)[:-9], False), ("\n".join(lines), True)):
        path = tmp_path / str(is_recovered) / "memory.jsonl"
        path.parent.mkdir()
        path.write_text(text)
        made = text_edit(str(path), edit.before, edit.after, Kind.GRAPH)
        assert late(path, [made], written, [made]) == [is_recovered]
        assert ("Cy" in path.read_text(), "sails" in path.read_text()) == (is_recovered, True)


# ---- a killed save that had displaced the version of another program ---------------------------


def killed_over(
    folder: Path, edit: Edit, before: str, displaced: str
) -> tuple[ActionState, str, str, bool]:
    """State, note and file, where the killed save had displaced this; and whether that is kept."""
    path = Path(edit.path)
    now = path.read_text()
    leftover_of(path, displaced)
    action = killed_while(folder, (edit,), None, (path, mark_of(before), mark_of(now)))
    kept = [backup.read().decode() for backup in backups.list_backups(path, folder / "state")]
    return action.state, action.note, path.read_text(), displaced in kept


KEPT = "another program wrote this file at the same moment; its version was kept"


@pytest.mark.parametrize(
    ("replaced", "by", "note", "now"),
    [
        ("fact 1", "theirs", "", ["mine", "theirs"]),
        ("fact 0", "theirs", "", ["mine", "fact 1"]),  # ours is newer
        ("[", "", KEPT, ["mine", "fact 1"]),
    ],
)
def test_records_of_a_displaced_version_are_merged(
    tmp_path: Path, replaced: str, by: str, note: str, now: list[str]
) -> None:
    path = write_store(tmp_path, 2)
    edit, before = edit_of(path, 0, "mine"), path.read_text()
    path.write_text(before.replace("fact 0", "mine"))
    state, said, text, is_kept = killed_over(
        tmp_path, edit, before, before.replace(replaced, by, 1)
    )
    assert (state, said, is_kept) == (ActionState.DONE, note, True)
    assert [record["content"] for record in json.loads(text)] == now


@pytest.mark.parametrize(
    ("before", "displaced", "note", "after"),
    [
        ("old\n", "old\ntheirs\n", "", "new\ntheirs\n"),
        ("old\n", "theirs\n", KEPT, "new\n"),
        ("old", "old theirs", KEPT, "new\n"),  # no whole line was added
    ],
)
def test_a_displaced_text_is_merged_where_lines_were_added(
    tmp_path: Path, before: str, displaced: str, note: str, after: str
) -> None:
    path = tmp_path / "note.md"
    path.write_text("new\n")
    edit = text_edit(str(path), before, "new\n")
    assert killed_over(tmp_path, edit, before, displaced) == (ActionState.DONE, note, after, True)


@pytest.mark.parametrize(
    ("later", "note", "now"),
    [
        ({}, "", {"r1": "theirs"}),
        ({"late": "x"}, KEPT, {"r1": "fact 1", "late": "x"}),  # either text of r1 may be newer
        ({"r1": "theirs", "late": "x"}, "", {"r1": "theirs", "late": "x"}),
    ],
)
def test_what_is_written_after_the_kill_stays(
    tmp_path: Path, later: Mapping[str, str], note: str, now: Mapping[str, str]
) -> None:
    path = write_store(tmp_path, 2)
    edit, before = edit_of(path, 0, "mine"), path.read_text()
    written = items(r0="mine", r1="fact 1")
    path.write_text(items(r0="mine", **{"r1": "fact 1", **later}))
    leftover_of(path, items(r0="fact 0", r1="theirs", new="y"))
    action = killed_while(tmp_path, (edit,), None, (path, mark_of(before), mark_of(written)))
    assert (action.state, action.note) == (ActionState.DONE, note)
    found = {record["id"]: record["content"] for record in json.loads(path.read_text())}
    assert found == {"r0": "mine", **now, "new": "y"}


def test_a_file_that_memtui_had_not_written_whole_is_no_version(tmp_path: Path) -> None:
    """Killed while it wrote what another program's version was merged into: what was on disk of it
    lacks entries, which nobody has removed."""
    path, hers = tmp_path / "MEMORY.md", f"{ENTRIES}\n§\nIt floats"
    ours = ENTRIES.replace("a boat", "a ship")
    path.write_text(ours)
    leftover_of(path, hers)
    half = leftover_of(path.with_name("other"), "Bo has")
    half = half.rename(path.with_name(f".{path.name}.memtui-{'1' * 16}{UNWRITTEN}"))
    edit = text_edit(str(path), ENTRIES, ours, Kind.ENTRIES)
    whole = hers.replace("a boat", "a ship")
    writes = (path, mark_of(ENTRIES), mark_of(ours)), (path, mark_of(ours), mark_of(whole))
    action = killed_while(tmp_path, (edit,), None, *writes)
    assert (action.state, path.read_text(), half.exists()) == (ActionState.DONE, whole, False)


def test_a_displaced_version_stays_where_the_save_was_overwritten_since(tmp_path: Path) -> None:
    path = write_store(tmp_path, 1)
    edit, before = edit_of(path, 0, "mine"), path.read_text()
    path.write_text(items(r0="fact 0", later="x"))  # by a program that had read the first text
    leftover_of(path, items(r0="fact 0", new="y"))
    writes = path, mark_of(before), mark_of(items(r0="mine"))
    assert killed_while(tmp_path, (edit,), None, writes).state is ActionState.VOID
    found = {record["id"]: record["content"] for record in json.loads(path.read_text())}
    assert found == {"r0": "fact 0", "later": "x", "new": "y"}


@pytest.mark.parametrize(
    ("displaced", "note", "after"),
    [
        (f"{ENTRIES}\n§\nIt floats", "", f"{ENTRIES}\n§\nIt floats"),
        ("Bo has a boat", "", "Bo has a boat"),
        ("Bo has a raft\n§\nIt is blue", KEPT, ENTRIES),
    ],
)
def test_entries_of_a_displaced_version_are_merged(
    tmp_path: Path, displaced: str, note: str, after: str
) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text(ENTRIES.replace("a boat", "a ship"))
    edit = text_edit(str(path), ENTRIES, path.read_text(), Kind.ENTRIES)
    found = killed_over(tmp_path, edit, ENTRIES, displaced)
    assert found == (ActionState.DONE, note, after.replace("a boat", "a ship"), True)


def test_a_file_that_is_gone_takes_no_displaced_version(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    leftover = leftover_of(path, "theirs\n")
    edit = text_edit(str(path), "old\n", None)
    action = killed_while(tmp_path, (edit,), None, (path, mark_of("old\n"), ""))
    assert (action.state, action.note) == (ActionState.DONE, KEPT)
    assert [path.exists(), leftover.exists()] == [False, False]
    assert backups.list_backups(path, tmp_path / "state")[0].read() == b"theirs\n"


@pytest.mark.parametrize(
    ("now", "state"),
    [("old\n", ActionState.VOID), ("new\n", ActionState.DONE), ("x\n", ActionState.UNSURE)],
)
def test_a_killed_save_is_judged_by_its_file(tmp_path: Path, now: str, state: ActionState) -> None:
    path = tmp_path / "note.md"
    edit = text_edit(str(path), "old\n", "new\n")
    writes = (path, mark_of("old\n"), mark_of("new\n"))
    action = killed_while(tmp_path, (edit,), now.encode(), writes)
    expected = "it was cut short, and a file has been changed since" if now == "x\n" else ""
    assert (action.state, action.note, path.read_text()) == (state, expected, now)


def test_a_merge_that_was_not_made_is_made_at_the_next_start(tmp_path: Path) -> None:
    """The save had been written, and what it displaced was moved to the backups."""
    state = tmp_path / "state"
    for name, theirs, after in (
        ("note.md", "old\ntheirs\n", "new\ntheirs\n"),
        ("known.md", "old\n", "new\n"),
    ):
        path = tmp_path / name
        path.write_text("new\n")
        displaced = leftover_of(path, theirs)
        backups.move_in(path, displaced, mark_of(theirs), state)
        edit = text_edit(str(path), "old\n", "new\n")
        action = killed_while(
            tmp_path,
            (edit,),
            None,
            (path, mark_of("old\n"), mark_of("new\n")),
            (path, mark_of("new\n"), mark_of("new\ntheirs\n")),
        )
        assert (action.state, action.note, path.read_text()) == (ActionState.DONE, "", after)


def test_a_backup_from_before_is_not_merged(tmp_path: Path) -> None:
    """What another program wrote once, and has taken out again since."""
    path = tmp_path / "note.md"
    path.write_text("new\n")
    backups.save_copy(path, b"old\nlong ago\n", tmp_path / "state")
    edit = text_edit(str(path), "old\n", "new\n")
    for writes in (
        [("old\n", "new\n")],
        [("old\n", "else\n"), ("else\n", "new\n")],
    ):
        marks = [(path, mark_of(pre), mark_of(post)) for pre, post in writes]
        action = killed_while(tmp_path, (edit,), None, *marks)
        assert (action.state, action.note) == (ActionState.DONE, "")
        assert path.read_text() == "new\n"


def test_a_note_and_a_folder_that_were_cut_short_are_told(tmp_path: Path) -> None:
    """Without any write nothing of them is on disk."""
    tree: Mapping[str, Any] = {"files": {"a.md": ["a\n", None]}, "databases": {}}
    edits: tuple[Edit, ...] = (
        sidecar_edit(str(tmp_path / "s"), "m", None, {"pinned": True}),
        Edit(Kind.FOLDER, str(tmp_path / "t"), (), None, tree),
        value_edit(str(tmp_path / "v.json"), ("a",), "1", "2"),
        text_edit(str(tmp_path / "only-required.md"), "same", "same"),
    )
    action = killed_while(tmp_path, edits, None)
    assert (action.state, action.note) == (ActionState.VOID, "")


# ---- rows and folders ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("digest", "state"),
    [("pre", ActionState.VOID), ("post", ActionState.DONE), (None, ActionState.UNSURE)],
)
def test_rows_are_judged_by_their_present_digest(
    tmp_path: Path, digest: str | None, state: ActionState
) -> None:
    place = tmp_path / "new"
    edit, name = row_edit(str(place), "t", {"id": 1}, None, {"x": 1}), f"{place}#t{{}}"
    dead, asked = Journal(tmp_path / "state"), []
    recording = dead.begin("cut short", [StoreEdits(str(tmp_path), (edit,))])
    recording.intend(f"{place}-other", "pre", "post")
    recording.intend(name, "pre", "post")
    dead.close()

    def row_digest(name: str) -> str | None:
        asked.append(name)
        return digest

    (found,) = Journal(tmp_path / "state").recover(row_digest)
    assert (found.state, asked) == (state, [name])


@pytest.mark.parametrize(
    ("texts", "state"),
    [
        ({"a#.md": "a\n", "b.md": "b\n"}, ActionState.DONE),
        ({"a#.md": "a\n"}, ActionState.UNSURE),
        ({"a#.md": "a\n", "b.md": "theirs\n"}, ActionState.UNSURE),
        ({}, ActionState.VOID),
    ],
)
def test_a_folder_that_was_cut_short_is_judged_by_its_files(
    tmp_path: Path, texts: Mapping[str, str], state: ActionState
) -> None:
    place = tmp_path / "new"
    wanted = {"a#.md": "a\n", "b.md": "b\n"}
    files = {name: {"text": text, "time": None} for name, text in wanted.items()}
    edit = Edit(Kind.FOLDER, str(place), (), None, {"files": files, "databases": {}})
    place.mkdir()
    for name, text in texts.items():
        (place / name).write_text(text)
    writes = [(place / name, "", mark_of(text)) for name, text in wanted.items()]
    assert killed_while(tmp_path, (edit,), None, *writes).state is state


@pytest.mark.parametrize("is_undo", [False, True])
@pytest.mark.parametrize("is_made", [False, True])
def test_several_edits_of_a_record_are_judged_as_one_where_another_program_wrote_since(
    tmp_path: Path, is_undo: bool, is_made: bool
) -> None:
    path, state = write_store(tmp_path), tmp_path / "state"
    first, before = edit_of(path, 0, "one"), path.read_text()
    path.write_text(before.replace("fact 0", "one"))
    second, last = edit_of(path, 0, "two"), before.replace("fact 0", "two")
    path.write_text(before)
    dead = Journal(state)
    recording, marks = dead.begin("x", [StoreEdits("/s", (first, second))]), (before, last)
    if is_undo:
        with recording:
            commit([first, second], recording)
        recording, marks = dead.undoing(recording.action), (last, before)
    recording.intend(str(path), *map(mark_of, marks))
    dead.close()
    path.write_text(marks[is_made].replace("fact 2", "theirs"))
    (action,) = Journal(state).recover()
    made, not_made = (
        (ActionState.UNDONE, ActionState.DONE) if is_undo else (ActionState.DONE, ActionState.VOID)
    )
    assert action.state is (made if is_made else not_made)


def test_the_staging_folder_of_a_killed_process_goes(tmp_path: Path) -> None:
    place = tmp_path / "new"
    with new_stage(place) as stage:
        name = stage.name
    stage = place.parent / name
    stage.mkdir(exist_ok=True)
    (stage / "half.md").write_text("half")
    edit = Edit(Kind.FOLDER, str(place), (), None, {"files": {"half.md": {}}, "databases": {}})
    action = killed_while(tmp_path, (edit,), None)
    assert (action.state, stage.exists(), place.exists()) == (ActionState.VOID, False, False)


def test_the_edits_that_a_store_made_are_those_that_are_recovered(tmp_path: Path) -> None:
    path, other = tmp_path / "a.md", tmp_path / "b.md"
    dead = Journal(tmp_path / "state")
    planned = [StoreEdits("/s", (text_edit(str(path), None, "planned\n"),))]
    made = text_edit(str(other), None, "made\n")
    recording = dead.begin("cut short", planned)
    recording.intend(str(other), "", mark_of("made\n"))
    other.write_text("made\n")
    recording.made([StoreEdits("/s", (made,))])
    dead.close()
    (action,) = Journal(tmp_path / "state").recover()
    assert (action.state, action.edits) == (ActionState.DONE, (made,))


# ---- an act of several files -----------------------------------------------------------------


def test_of_an_act_that_was_made_in_part_undo_takes_back_that_part(tmp_path: Path) -> None:
    one, two, state = tmp_path / "one.md", tmp_path / "two.md", tmp_path / "state"
    one.write_text("new\n")
    two.write_text("old\n")
    edits = tuple(text_edit(str(path), "old\n", "new\n") for path in (one, two))
    marks = mark_of("old\n"), mark_of("new\n")
    action = killed_while(tmp_path, edits, None, (one, *marks), (two, *marks))
    assert (action.state, action.note) == (
        ActionState.DONE,
        "only a part of it reached the disk; undo takes that part back",
    )
    journal = Journal(state)
    (found,) = journal.undoable()
    assert [edit.path for part in found.inverted() for edit in part.edits] == [str(one)]
    with journal.undoing(found.id) as recording:
        for part in found.inverted():
            commit(part.edits, recording)
    assert [path.read_text() for path in (one, two)] == ["old\n", "old\n"]
    assert [entry.state for entry in journal.log()] == [ActionState.UNDONE]


def test_of_an_undo_that_was_made_in_part_undo_takes_back_the_rest(tmp_path: Path) -> None:
    one, two, state = tmp_path / "one.md", tmp_path / "two.md", tmp_path / "state"
    edits = tuple(text_edit(str(path), None, "new\n") for path in (one, two))
    journal = Journal(state)
    with journal.begin("both", [StoreEdits("store", edits)]) as recording:
        commit(edits, recording)
    undoing = journal.undoing(journal.log()[0].id)
    for path in (two, one):
        undoing.intend(str(path), mark_of("new\n"), "")
    two.unlink()
    journal.close()
    journal = Journal(state)
    (action,) = journal.recover()
    assert (action.state, action.note) == (
        ActionState.DONE,
        "only a part of it was taken back; undo takes back the rest",
    )
    with journal.undoing(action.id) as recording:
        for part in action.inverted():
            commit(part.edits, recording)
    assert not one.exists()
    assert [(entry.state, entry.note) for entry in journal.log()] == [(ActionState.UNDONE, "")]


def test_an_undo_of_which_nothing_was_made_leaves_the_action_as_it_was(tmp_path: Path) -> None:
    path, state = tmp_path / "one.md", tmp_path / "state"
    journal, edit = Journal(state), text_edit(str(path), None, "new\n")
    with journal.begin("it", [StoreEdits("store", (edit,))]) as recording:
        commit([edit], recording)
    journal.undoing(journal.log()[0].id)
    journal.close()
    (action,) = Journal(state).recover()
    assert (action.state, action.note, path.read_text()) == (ActionState.DONE, "", "new\n")
    assert [entry.id for entry in Journal(state).undoable()] == [action.id]
    with Journal(state).undoing(action.id) as recording:
        commit(action.inverted()[0].edits, recording)
    redoing = Journal(state)
    redoing.redoing(action.id)
    redoing.close()
    (action,) = Journal(state).recover()
    assert (action.state, path.exists()) == (ActionState.UNDONE, False)
    assert [entry.id for entry in Journal(state).redoable()] == [action.id]
