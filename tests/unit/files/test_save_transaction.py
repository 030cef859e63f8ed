"""A save changes what was asked, keeps everything else, and says no when it cannot."""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from memtui.changes import (
    Edit,
    Kind,
    invert_edits,
    record_edit,
    row_edit,
    sidecar_edit,
    text_edit,
    value_edit,
)
from memtui.errors import Conflict, Refused, SaveError, UnreadableFile
from memtui.files import atomic_replace, backups, save_hooks, save_transaction
from memtui.files.json.editing import set_member
from memtui.files.json.locating import load_records
from memtui.files.locking import locked
from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit, group_by_file, preview
from memtui.files.sidecar_lines import sidecar_path
from memtui.journal import recovery
from memtui.progress import Cancelled


@pytest.fixture
def recorder(tmp_path: Path) -> NullRecorder:
    return NullRecorder(tmp_path / "state")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    found = folder / "items.json"
    records = [{"id": f"r{i}", "content": f"fact {i}", "n": 1} for i in range(4)]
    found.write_text(json.dumps(records, indent=2) + "\n")
    return found


def edit(path: Path, index: int, content: str | None) -> Edit:
    record = load_records(path.read_text())[index]
    after = None if content is None else set_member(record.raw, "content", content)
    return record_edit(str(path), (), "id", record.value["id"], record.raw, after, index)


def test_the_preview_is_what_is_saved(path: Path, recorder: NullRecorder) -> None:
    note = path.parent / "note.md"
    edits = [edit(path, 1, "new"), text_edit(str(note), None, "# hi\n"), edit(path, 2, None)]
    before = path.read_text()
    diffs = preview(edits)
    assert (path.read_text(), note.exists()) == (before, False)
    commit(edits, recorder)
    assert [(d.path, d.before, d.after) for d in diffs] == [
        (str(path), before, path.read_text()),
        (str(note), None, note.read_text()),
    ]


def test_other_programs_records_are_kept_and_the_edit_finds_its_own(
    path: Path, recorder: NullRecorder
) -> None:
    mine = edit(path, 2, "mine")
    records = json.loads(path.read_text())
    records[0]["content"] = "theirs"
    records.insert(0, {"id": "new", "content": "theirs too"})
    path.write_text(json.dumps(records))  # and it wrote the file out in another layout
    commit([mine], recorder)
    records[3]["content"] = "mine"
    assert path.read_text() == json.dumps(records)


def test_a_conflict_shows_all_three_and_writes_nothing(path: Path, recorder: NullRecorder) -> None:
    mine, gone, new = edit(path, 0, "mine"), edit(path, 1, "mine"), edit(path, 2, "x")
    path.write_text(path.read_text().replace("fact 0", "theirs").replace('"r1"', '"r9"'))
    before = path.read_bytes()
    with pytest.raises(Conflict, match="changed by another program") as caught:
        commit([mine], recorder)
    shown = (caught.value.base, caught.value.theirs, caught.value.yours)
    assert ["fact 0" in (shown[0] or ""), "theirs" in (shown[1] or "")] == [True, True]
    assert "mine" in (shown[2] or "")
    with pytest.raises(Conflict, match="gone"):
        commit([gone], recorder)
    with pytest.raises(Conflict, match="already"):
        commit([record_edit(str(path), (), "id", "r2", None, '{"id": "r2"}')], recorder)
    with pytest.raises(Conflict):
        commit([new, mine], recorder)
    assert path.read_bytes() == before


def test_an_edit_that_stands_there_already_writes_nothing(
    path: Path, recorder: NullRecorder
) -> None:
    mine = edit(path, 0, "mine")
    commit([mine], recorder)
    seen = path.stat()
    commit([mine], recorder)
    assert path.stat().st_ino == seen.st_ino


def test_many_edits_of_one_file_are_one_save_and_one_undo(
    path: Path, recorder: NullRecorder
) -> None:
    before = path.read_bytes()
    edits = tuple(edit(path, index, None if index % 2 else f"n{index}") for index in range(4))
    commit(edits, recorder)
    assert [r["content"] for r in json.loads(path.read_text())] == ["n0", "n2"]
    commit(invert_edits(edits), recorder)
    assert path.read_bytes() == before


def test_records_with_one_id_are_told_apart_by_their_text(
    path: Path, recorder: NullRecorder
) -> None:
    path.write_text('[{"id": 7, "content": "a"}, {"id": 7, "content": "b"}]')
    mine = edit(path, 1, "c")
    commit([record_edit(mine.path, (), "id", "7", mine.before, mine.after)], recorder)
    assert path.read_text() == '[{"id": 7, "content": "a"}, {"id": 7, "content": "c"}]'


def test_values_are_set_where_they_are_and_made_where_they_are_not(
    path: Path, recorder: NullRecorder
) -> None:
    path.write_text('{\n  "lastActive": 1,\n  "events": []\n}')
    for key, before, after in (("lastActive", "1", "2"), ("archived", "", "true")):
        commit([value_edit(str(path), (key,), before, after)], recorder)
    assert path.read_text() == '{\n  "lastActive": 2,\n  "events": [],\n  "archived": true\n}'


def test_a_value_that_another_program_has_changed_is_not_overwritten(
    path: Path, recorder: NullRecorder
) -> None:
    path.write_text('{"types": {"a.md": "lesson"}}')
    mine = value_edit(str(path), ("types", "a.md"), '"task"', '"decision"')
    with pytest.raises(Conflict) as raised:
        commit([mine], recorder)
    assert (raised.value.base, raised.value.theirs) == ('"task"', '"lesson"')
    assert path.read_text() == '{"types": {"a.md": "lesson"}}'


def test_a_record_whose_keys_stand_in_another_order_is_the_same_record(
    path: Path, recorder: NullRecorder
) -> None:
    mine = edit(path, 0, "mine")
    records = [dict(reversed(record.items())) for record in json.loads(path.read_text())]
    path.write_text(json.dumps(records))
    commit([mine], recorder)
    assert path.read_text().startswith('[{"n": 1, "content": "mine", "id": "r0"}, {"n"')
    commit(invert_edits((mine,)), recorder)
    assert json.loads(path.read_text()) == records


def test_what_a_program_has_written_of_its_own_book_keeping_stands(
    path: Path, recorder: NullRecorder
) -> None:
    """Taking back an edit must not make a file look idle that its program has just written."""
    path.write_text('{"lastActive": 1, "events": []}')
    added = record_edit(str(path), ("events",), "id", "a", None, '{"id": "a"}')
    edits = (added, value_edit(str(path), ("lastActive",), "1", "2", kind=Kind.COUNTER))
    commit(edits, recorder)
    commit(invert_edits(edits), recorder)
    assert json.loads(path.read_text()) == {"lastActive": 1, "events": []}
    commit(edits, recorder)
    path.write_text(path.read_text().replace('"lastActive": 2', '"lastActive": 3'))
    commit(invert_edits(edits), recorder)
    assert json.loads(path.read_text()) == {"lastActive": 3, "events": []}
    path.unlink()
    commit(invert_edits(edits), recorder)
    assert not path.exists()


@pytest.mark.parametrize("data", [b"", b"\0\0\0", b'[{"id": "r0"', b"[] []", b'{"a": 1}'])
def test_a_broken_file_is_never_written(path: Path, recorder: NullRecorder, data: bytes) -> None:
    mine = edit(path, 0, "mine")
    path.write_bytes(data)
    with pytest.raises((UnreadableFile, Conflict)):
        commit([mine], recorder)
    assert path.read_bytes() == data


def test_lines_that_an_agent_appends_meanwhile_stay(path: Path, recorder: NullRecorder) -> None:
    note = path.parent / "note.md"
    note.write_text("# a\nbody\n")
    mine = text_edit(str(note), "# a\nbody\n", "# b\nbody\n")
    note.write_text("# a\nbody\n- theirs\n")
    commit([mine], recorder)
    assert note.read_text() == "# b\nbody\n- theirs\n"
    commit(invert_edits((mine,)), recorder)
    assert note.read_text() == "# a\nbody\n- theirs\n"
    note.write_text("# c\nbody\n")
    with pytest.raises(Conflict):
        commit([mine], recorder)


def test_mode_owner_attributes_and_links_survive(path: Path, recorder: NullRecorder) -> None:
    path.chmod(0o640)
    os.setxattr(path, "user.note", b"kept")
    link = path.parent / "link.json"
    link.symlink_to("items.json")
    owner = (os.geteuid(), os.getegid())
    if owner[0] == 0:
        owner = (12345, 54321)
        os.chown(path, *owner)
    commit([replace(edit(path, 0, "x"), path=str(link))], recorder)
    status = path.stat()
    assert stat.S_IMODE(status.st_mode) == 0o640
    assert (status.st_uid, status.st_gid) == owner
    assert os.getxattr(path, "user.note") == b"kept"
    assert link.is_symlink()
    assert '"x"' in path.read_text()


def test_a_file_with_two_names_is_refused_with_the_reason(
    path: Path, recorder: NullRecorder
) -> None:
    os.link(path, path.parent / "other.json")
    before = path.read_bytes()
    with pytest.raises(Refused, match="hard links"):
        commit([edit(path, 0, "x")], recorder)
    assert (path.read_bytes(), path.stat().st_nlink) == (before, 2)


def test_new_files_are_private_and_their_undo_takes_them_away(
    path: Path, recorder: NullRecorder
) -> None:
    new = path.parent / "entities" / "bob" / "items.json"
    made = text_edit(str(new), None, "[]\n")
    old = os.umask(0)
    try:
        commit([made], recorder)
    finally:
        os.umask(old)
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (new, new.parent, new.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]
    with pytest.raises(Conflict, match="already"):
        commit([text_edit(str(new), None, "[1]\n")], recorder)
    commit(invert_edits((made,)), recorder)
    assert not new.exists()


def test_the_longest_and_oddest_names_can_be_saved(path: Path, recorder: NullRecorder) -> None:
    for name in ("x" * 250 + ".json", "é" * 120, "a\udcffb.md", " -rf\n"):
        file = path.parent / name
        commit([text_edit(str(file), None, "a\n")], recorder)
        commit([text_edit(str(file), "a\n", "b\n")], recorder)
        assert file.read_text() == "b\n"
    assert len(os.listdir(path.parent)) == 5


def test_when_the_second_file_fails_the_first_is_taken_back(
    path: Path, recorder: NullRecorder
) -> None:
    other = path.parent / "other.json"
    other.write_text(path.read_text())
    os.link(other, path.parent / "second-name.json")
    before = path.read_bytes()
    with pytest.raises(Refused):
        commit([edit(path, 0, "x"), edit(other, 0, "x")], recorder)
    assert (path.read_bytes(), other.read_bytes()) == (before, before)


def test_a_lock_held_elsewhere_is_waited_for_then_reported(
    path: Path, recorder: NullRecorder
) -> None:
    with (
        locked(path, recorder.state),
        pytest.raises(SaveError, match="another memtui"),
        locked(path, recorder.state, patience=0.05),
    ):
        pass
    commit([edit(path, 0, "x")], recorder)


def test_table_rows_and_half_characters_are_not_saved_as_files(
    path: Path, recorder: NullRecorder
) -> None:
    with pytest.raises(Refused, match="row"):
        commit([row_edit(str(path), "t", {"id": 1}, None, {})], recorder)
    for text in ("\ud83d", "\udcc3\udca9"):
        with pytest.raises(Refused):
            commit([text_edit(str(path.parent / "n.md"), None, text)], recorder)
    assert os.listdir(path.parent) == ["items.json"]


@pytest.mark.parametrize("name", ["folder", "memory.json"])
def test_a_note_makes_nothing_in_place_of_a_store_that_is_gone(
    tmp_path: Path, recorder: NullRecorder, name: str
) -> None:
    """A folder made there would stand in the way of the store that comes back, or of a file."""
    store = tmp_path / "stores" / name
    store.parent.mkdir()
    with pytest.raises(Refused, match="the store is gone"):
        commit([sidecar_edit(str(store), "m", None, {"pinned": True})], recorder)
    assert not list(store.parent.iterdir())


def test_the_sidecar_is_made_when_needed_and_undo_leaves_it_as_it_was(
    path: Path, recorder: NullRecorder
) -> None:
    root, odd = path.parent, "half \ud83d"
    first = sidecar_edit(str(root), "m", None, {"pinned": True, "tags": [odd]})
    commit([first], recorder)
    file = sidecar_path(root)
    made = file.read_bytes()
    file.write_bytes(made + b'{"torn')
    second = sidecar_edit(str(root), "n", None, {"rating": 3})
    commit([second], recorder)
    assert file.read_bytes().startswith(made + b'{"torn\n')
    with pytest.raises(Conflict):
        commit([sidecar_edit(str(root), "n", {"rating": 1}, {"rating": 2})], recorder)
    other = sidecar_edit(str(root), "m", first.after, None)
    commit([other], recorder)  # a change that removes the entry appends a line like any other
    lines = file.read_bytes()[len(made) :].splitlines()
    assert [json.loads(line)["set"] for line in lines[1:]] == [{"rating": 3}, None]
    for edit in (second, other):  # in another order than they were made
        commit(invert_edits((edit,)), recorder)
    assert file.read_bytes() == made + b'{"torn'
    commit(invert_edits((first,)), recorder)
    assert file.read_bytes() == b'{"torn'


def test_the_last_good_copy_is_whole_whatever_the_clock_says(
    path: Path, recorder: NullRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    for number, jump in enumerate((0, 86_400, -86_400, 3)):
        monkeypatch.setattr(time, "time", lambda jump=jump: now + jump)
        monkeypatch.setattr(time, "time_ns", lambda jump=jump: int((now + jump) * 1e9))
        os.utime(path, (now + jump * 1000, now + jump * 1000))
        commit([edit(path, 0, f"n{number}")], recorder)
    expected = path.read_bytes()
    copy = backups.last_good(path, recorder.state)
    assert copy is not None
    assert copy.read() == expected
    copies = backups.list_backups(path, recorder.state)
    copy.file.write_bytes(b"")
    assert backups.last_good(path, recorder.state) == copies[0]
    copies[0].file.write_bytes(b"")
    assert backups.last_good(path, recorder.state) == copies[1]
    backups.delete_backups(path, recorder.state)
    assert backups.last_good(path, recorder.state) is None


def test_copies_are_capped_by_number_and_age(
    path: Path, recorder: NullRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        commit([edit(path, 0, f"n{number}")], recorder)
    assert (
        len(backups.list_backups(path, recorder.state)) == 12
    )  # a program may still have them open
    later = time.time() + backups.RECENT + 1
    monkeypatch.setattr(time, "time", lambda: later)
    commit([edit(path, 0, "last")], recorder)
    assert len(backups.list_backups(path, recorder.state)) == backups.MAX_BACKUPS
    backups.prune(recorder.state, later + backups.LONGEST)
    assert backups.list_backups(path, recorder.state) == [], "the copy of the last write is enough"
    assert backups.save_copy(path, path.read_bytes(), recorder.state) is None
    assert backups.save_copy(path, b"[]", recorder.state) is not None
    assert backups.save_copy(path, b"[]", recorder.state) is None
    assert [copy.read() for copy in backups.list_backups(path, recorder.state)] == [b"[]"]


def test_the_last_good_copy_after_an_undo_is_what_the_undo_wrote(
    path: Path, recorder: NullRecorder
) -> None:
    before, change = path.read_bytes(), edit(path, 0, "Leipzig")
    commit([change], recorder)
    after = path.read_bytes()
    assert last_good_text(path, recorder) == after
    commit(invert_edits((change,)), recorder)
    assert last_good_text(path, recorder) == before, "not what was undone"
    commit([edit(path, 0, "Ghent")], recorder)
    seen = path.read_bytes().replace(b"Ghent", b"Bruges")
    backups.save_copy(path, seen, recorder.state)
    assert last_good_text(path, recorder) == seen, "what was seen later is newer"


def last_good_text(path: Path, recorder: NullRecorder) -> bytes:
    copy = backups.last_good(path, recorder.state)
    assert copy is not None
    return copy.read()


def test_copies_are_made_on_another_file_system_too(
    path: Path, recorder: NullRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other_device(old: object, new: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    before = path.read_bytes()
    monkeypatch.setattr(os, "rename", other_device)
    commit([edit(path, 0, "x")], recorder)
    (copy,) = backups.list_backups(path, recorder.state)
    assert (copy.read(), copy.is_intact) == (before, True)
    assert os.listdir(path.parent) == ["items.json"]


def test_what_is_written_into_a_replaced_file_is_found_and_brought_back(
    path: Path, recorder: NullRecorder
) -> None:
    note = path.parent / "note.md"
    note.write_text("# a\n")
    with note.open("a") as agent, path.open("r+") as other:
        commit([text_edit(str(note), "# a\n", "# b\n"), edit(path, 0, "mine")], recorder)
        agent.write("- late\n")
        other.write("[]      ")
    assert [one.is_recovered for one in recovery.recover_late_writes(note, recorder)] == [True]
    assert note.read_text() == "# b\n- late\n"
    assert recovery.recover_late_writes(note, recorder) == []
    assert [one.is_recovered for one in recovery.recover_late_writes(path, recorder)] == [False]
    assert '"mine"' in path.read_text()


def test_leftovers_are_only_those_of_the_file(path: Path) -> None:
    (path.parent / ".items.json.memtui-1f").write_text("")
    (path.parent / ".items.json2.memtui-1f").write_text("")
    (path.parent / "items.json.tmp").write_text("")
    assert [found.name for found in atomic_replace.find_leftovers(path)] == [
        ".items.json.memtui-1f"
    ]


# ---- what happens in the middle of a save --------------------------------------------------------

Steps = dict[str, Callable[[], None]]


@pytest.fixture
def at() -> Iterator[Callable[[Steps], None]]:
    """Do something at the first pass of a point of the save."""

    def install(steps: Steps) -> None:
        left = dict(steps)

        def hook(point: str) -> None:
            left.pop(point, lambda: None)()

        save_hooks.install(hook)

    yield install
    save_hooks.install(None)


@pytest.fixture
def note(path: Path) -> Path:
    path.unlink()
    found = path.with_name("note.md")
    found.write_text("old\n")
    return found


def failing() -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def put(path: Path, text: str) -> None:
    path.with_name("theirs").write_text(text)
    os.replace(path.with_name("theirs"), path)


def only(path: Path) -> str:
    """The text of the file, which is all that is in its folder."""
    assert os.listdir(path.parent) == [path.name]
    return path.read_text()


def test_a_check_sees_what_would_be_written_and_may_refuse_it(
    note: Path, recorder: NullRecorder
) -> None:
    seen = []

    def check(path: Path, before: str | None, after: str | None) -> None:
        seen.append((path, before, after))
        if len(seen) == 2:
            raise Refused("not that")

    edits = [text_edit(str(note), "old\n", "new\n")]
    commit(edits, recorder, check)
    with pytest.raises(Refused, match="not that"):
        commit(invert_edits(tuple(edits)), recorder, check)
    assert seen == [(note, "old\n", "new\n"), (note, "new\n", "old\n")]
    commit(edits, recorder, check)  # nothing would change
    assert (len(seen), only(note)) == (2, "new\n")


@pytest.mark.parametrize(
    "point", ["intent", "temp", "write", "fsync", "check", "exchange", "look", "folder"]
)
@pytest.mark.parametrize("after", ["new\n", None])
def test_a_file_is_as_it_was_after_an_error_at_any_point(
    note: Path, recorder: NullRecorder, at: Callable[[Steps], None], point: str, after: str | None
) -> None:
    at({point: failing})
    edit = text_edit(str(note), "old\n", after)
    if after is None and point in ("temp", "write", "fsync"):
        commit([edit], recorder)  # a removal writes nothing
        return
    with pytest.raises((SaveError, OSError), match=r"disk reports an error|Input/output") as caught:
        commit([edit], recorder)
    if isinstance(caught.value, SaveError):
        assert (caught.value.where, caught.value.do) == (str(note), "the file is as it was")
    assert only(note) == "old\n"
    commit([edit], recorder)
    assert os.listdir(note.parent) == ([note.name] if after else [])


class Told(NullRecorder):
    """Notes what it is told, in order."""

    def __init__(self, state: Path) -> None:
        super().__init__(state)
        self.calls: list[tuple[str, ...]] = []

    def intend(self, path: str, pre: str, post: str) -> None:
        self.calls.append(("intend", Path(path).name, pre, post))

    def done(self, path: str) -> None:
        self.calls.append(("done", Path(path).name))

    def failed(self, path: str) -> None:
        self.calls.append(("failed", Path(path).name))


def test_the_recorder_is_told_of_each_write_and_whether_it_is_in_the_file(
    note: Path, tmp_path: Path, at: Callable[[Steps], None]
) -> None:
    told = Told(tmp_path / "state")
    old, new = (backups.digest(data) for data in (b"old\n", b"new\n"))
    edit = text_edit(str(note), "old\n", "new\n")
    with pytest.raises(Conflict):
        commit([text_edit(str(note), "else\n", "new\n")], told)
    assert told.calls == [("failed", "note.md")]
    for point in ("check", "folder"):
        told.calls.clear()
        at({point: failing})
        with pytest.raises(SaveError):
            commit([edit], told)
        assert told.calls == [("intend", "note.md", old, new), ("failed", "note.md")]
    told.calls.clear()
    commit([edit], told)
    commit([edit], told)  # nothing to do, and nothing to record
    commit([text_edit(str(note), "new\n", None)], told)
    commit([text_edit(str(note), None, "new\n")], told)
    assert told.calls == [
        ("intend", "note.md", old, new),
        ("done", "note.md"),
        ("intend", "note.md", new, ""),
        ("done", "note.md"),
        ("intend", "note.md", "", new),
        ("done", "note.md"),
    ]


def test_the_recorder_is_told_of_each_exchange_of_a_save(
    path: Path, tmp_path: Path, at: Callable[[Steps], None]
) -> None:
    told, edits, old = Told(tmp_path / "state"), [edit(path, 1, "mine")], path.read_text()
    theirs = old.replace("fact 3", "theirs")
    at({"exchange": lambda: put(path, theirs)})
    commit(edits, told)
    mine, both = (text.replace("fact 1", "mine") for text in (old, theirs))
    marks = [backups.digest(text.encode()) for text in (old, mine, both)]
    assert path.read_text() == both
    assert told.calls == [
        ("intend", path.name, marks[0], marks[1]),
        ("intend", path.name, marks[1], marks[2]),
        ("done", path.name),
    ]


def test_a_displaced_version_that_is_being_written_is_waited_for(
    path: Path,
    recorder: NullRecorder,
    at: Callable[[Steps], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edits, theirs = [edit(path, 1, "mine")], path.read_text().replace("fact 3", "theirs")
    left = [theirs[:20], theirs[20:]]
    with path.open("r+", buffering=1) as opened:

        def write(_: object = None) -> None:
            if left:
                opened.write(left.pop(0))
                opened.truncate()
                opened.flush()

        monkeypatch.setattr(save_transaction.time, "sleep", write)
        at({"exchange": write})
        commit(edits, recorder)
    assert only(path) == theirs.replace("fact 1", "mine")


def test_a_version_that_is_never_finished_is_kept_and_not_merged(
    path: Path, recorder: NullRecorder, at: Callable[[Steps], None]
) -> None:
    """Whether its program still writes it or has died: it is in the backups, or beside the file."""
    old, edits = path.read_text(), [edit(path, 1, "mine")]
    at({"exchange": lambda: path.write_text('[{"id": "half')})
    commit(edits, recorder)
    assert only(path) == old.replace("fact 1", "mine")
    assert backups.list_backups(path, recorder.state)[0].read() == b'[{"id": "half'
    (recorder.state / "kept").rename(recorder.state / "elsewhere")
    (recorder.state / "kept").write_text("a file where the folder should be")
    at({"exchange": lambda: path.write_text('[{"id": "half')})
    commit([edit(path, 2, "mine too")], recorder)
    (kept,) = (file for file in path.parent.iterdir() if file != path)
    assert kept.read_text() == '[{"id": "half'
    assert kept.name.startswith("items.json.memtui-kept-")
    assert "mine too" in path.read_text()


@pytest.mark.parametrize("point", ["temp", "write", "fsync", "exchange", "folder"])
def test_a_new_file_and_its_folders_are_not_left_after_an_error(
    path: Path, recorder: NullRecorder, at: Callable[[Steps], None], point: str
) -> None:
    at({point: failing})
    new = path.parent / "new" / "deep" / "note.md"
    with pytest.raises(SaveError, match="the disk reports an error") as caught:
        commit([text_edit(str(new), None, "new\n")], recorder)
    assert caught.value.do in ("nothing was made", "the file is as it was")
    assert os.listdir(path.parent) == [path.name]


def test_a_version_of_another_program_is_what_stays_after_an_error(
    note: Path, recorder: NullRecorder, at: Callable[[Steps], None]
) -> None:
    at({"exchange": lambda: put(note, "theirs\n"), "folder": failing})
    with pytest.raises(SaveError, match="the disk reports an error") as caught:
        commit([text_edit(str(note), "old\n", "new\n")], recorder)
    assert only(note) == "theirs\n"
    assert caught.value.where == str(note)


def test_a_write_after_the_exchange_stays_and_the_old_text_is_kept_and_named(
    note: Path, recorder: NullRecorder, at: Callable[[Steps], None]
) -> None:
    def write() -> None:
        put(note, "theirs\n")
        failing()

    at({"folder": write})
    with pytest.raises(SaveError) as caught:
        commit([text_edit(str(note), "old\n", "new\n")], recorder)
    assert only(note) == "theirs\n"
    (kept,) = backups.list_backups(note, recorder.state)
    assert kept.read() == b"old\n"
    assert caught.value.do == (
        f"another program has written the file since; what it held before is kept in {kept.file}"
    )


def test_where_no_backup_can_be_kept_what_is_needed_stays_beside_the_file(
    note: Path, recorder: NullRecorder, at: Callable[[Steps], None]
) -> None:
    recorder.state.mkdir()
    (recorder.state / "kept").write_text("a file where the folder should be")
    commit([text_edit(str(note), "old\n", "mine\n")], recorder)
    assert only(note) == "mine\n"

    def write() -> None:
        put(note, "theirs\n")
        failing()

    at({"folder": write})
    with pytest.raises(SaveError) as caught:
        commit([text_edit(str(note), "mine\n", "new\n")], recorder)
    (kept,) = (file for file in note.parent.iterdir() if file != note)
    assert str(kept) in (caught.value.do or "")
    assert (kept.read_text(), note.read_text()) == ("mine\n", "theirs\n")
    assert kept.name.startswith("note.md.memtui-kept-")


@pytest.mark.parametrize("point", ["check", "exchange"])
def test_what_appears_goes_or_changes_just_before_the_write_is_a_conflict(
    note: Path, recorder: NullRecorder, at: Callable[[Steps], None], point: str
) -> None:
    at({point: lambda: put(note, "theirs\n")})
    with pytest.raises(Conflict, match="changed by another program"):
        commit([text_edit(str(note), "old\n", None)], recorder)
    assert only(note) == "theirs\n"
    at({point: note.unlink})
    with pytest.raises(Conflict, match="gone"):
        commit([text_edit(str(note), "theirs\n", "new\n")], recorder)
    at({"exchange": lambda: put(note, "theirs\n")})
    with pytest.raises(Conflict, match="already exists"):
        commit([text_edit(str(note), None, "new\n")], recorder)
    assert only(note) == "theirs\n"


def test_a_program_that_never_stops_writing_ends_the_save(
    note: Path, recorder: NullRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(save_transaction, "MAX_ATTEMPTS", 3)
    tries: list[str] = []

    def hook(point: str) -> None:
        if point == "check":
            tries.append(point)
            with note.open("a") as file:
                file.write("- more\n")

    save_hooks.install(hook)
    try:
        with pytest.raises(SaveError, match="keeps writing to it") as caught:
            commit([text_edit(str(note), "old\n", "new\n")], recorder)
    finally:
        save_hooks.install(None)
    assert (caught.value.do, len(tries)) == ("try again later", 3)
    assert only(note) == "old\n" + "- more\n" * 3


def test_a_file_caught_half_written_is_waited_for(
    path: Path, recorder: NullRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, whole = edit(path, 0, "mine"), path.read_text()
    path.write_text(whole[:20])
    monkeypatch.setattr(save_transaction.time, "sleep", lambda _: path.write_text(whole))
    commit([mine], recorder)
    assert '"mine"' in path.read_text()


def test_a_preview_reports_how_far_it_is_and_can_be_cancelled(path: Path) -> None:
    files = [path.with_name(f"{number}.md") for number in range(65)]
    edits = [text_edit(str(file), None, "new\n") for file in files]
    told: list[tuple[int, int | None]] = []
    diffs = preview(edits, lambda progress: told.append((progress.done, progress.total)))
    assert [diff.path for diff in diffs] == [str(file) for file in files]
    assert told == [(32, 65), (64, 65)]
    with pytest.raises(Cancelled):
        preview(edits, cancelled=lambda: True)
    assert os.listdir(path.parent) == [path.name]


def test_edits_are_grouped_by_the_file_that_a_link_leads_to(path: Path) -> None:
    link = path.with_name("link.json")
    link.symlink_to(path.name)
    edits = [text_edit(str(name), None, "x") for name in (link, path.with_name("b"), path)]
    assert [(group.path, group.edits) for group in group_by_file(edits)] == [
        (path, (edits[0], edits[2])),
        (path.with_name("b"), (edits[1],)),
    ]


def test_notes_are_not_written_through_a_link_out_of_the_store(
    path: Path, tmp_path: Path, recorder: NullRecorder
) -> None:
    (tmp_path / "outside").mkdir()
    (path.parent / ".memtui").symlink_to(tmp_path / "outside")
    for root in (path.parent, path):
        with pytest.raises(Refused, match="outside the store"):
            commit([sidecar_edit(str(root), "m", None, {"pinned": True})], recorder)
    assert not list((tmp_path / "outside").iterdir())


@pytest.mark.parametrize("has_links", [True, False])
def test_where_the_system_cannot_exchange_names_a_save_does_the_same(
    note: Path, recorder: NullRecorder, monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    monkeypatch.setattr(atomic_replace, "_rename_call", lambda: None)
    if not has_links:

        def refused(old: object, new: object) -> None:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))

        monkeypatch.setattr(os, "link", refused)
    commit([text_edit(str(note), "old\n", "new\n")], recorder)
    assert only(note) == "new\n"
    assert [backup.read() for backup in backups.list_backups(note, recorder.state)] == [b"old\n"]
    other = note.with_name("other.md")
    if has_links:
        commit([text_edit(str(other), None, "other\n")], recorder)
        assert other.read_text() == "other\n"
        with pytest.raises(FileExistsError):
            atomic_replace.rename_to_free(other, note)


def test_a_temporary_file_is_marked_until_it_is_on_disk(path: Path, recorder: NullRecorder) -> None:
    long = path.with_name("x" * 255)
    long.write_text("old\n")
    seen: dict[str, list[bool]] = {}

    def look(point: str) -> None:
        left = atomic_replace.find_leftovers(long)
        seen[point] = [each.name.endswith(atomic_replace.UNWRITTEN) for each in left]

    save_hooks.install(look)
    try:
        commit([text_edit(str(long), "old\n", "new\n")], recorder)
    finally:
        save_hooks.install(None)
    points = ("temp", "write", "fsync", "check", "exchange", "look", "done")
    assert [seen[point] for point in points] == [[], [True], [True], [False], [False], [False], []]


def test_the_longest_name_leaves_room_for_that_of_its_temporary_file(path: Path) -> None:
    long = path.with_name("x" * 255)
    long.write_text("x")
    kept = atomic_replace.keep_beside(long, long)
    assert (len(kept.name), kept.read_text()) == (255 - 30 + len("kept-") + 16, "x")
    assert atomic_replace.keep_beside(path, path.with_name("gone")) == path.with_name("gone")
    leftover = path.with_name("." + "x" * 229 + ".memtui-" + "0" * 16)
    leftover.write_text("")
    assert len(leftover.name) <= 255
    assert atomic_replace.find_leftovers(long) == [leftover]
    assert atomic_replace.find_leftovers(path.parent / "none" / "x") == []
