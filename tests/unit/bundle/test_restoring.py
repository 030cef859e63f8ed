"""A store brought into an empty place: taken back whole, done again whole, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memtui.bundle import archive
from memtui.bundle.bundle_reader import read_document
from memtui.bundle.bundle_writer import pack_stores
from memtui.bundle.restoring import Restoration, plan_restore
from memtui.changes import Act, Change
from memtui.errors import BundleError, Refused, SaveError
from memtui.files import save_hooks
from memtui.files.staging import FAILPOINTS, clear_leftovers, new_stage
from memtui.journal import ActionState, Journal
from memtui.library import Library
from memtui.model import Memory, to_record
from memtui.progress import Cancelled, Progress
from memtui.stores.sqlite.rebuild import dump
from tests.samples import SAMPLES
from tests.torture.processes import KILLED, in_child
from tests.unit.bundle.hostile import sealed

MIXED = ("engram", "simple-memory")


def bundle(folder: Path, *names: str) -> Path:
    library = Library.open([SAMPLES / name for name in names])
    library.load()
    file = folder / "a.zip"
    file.write_bytes(b"".join(archive.encode_archive(pack_stores(library, None).archive)))
    return file


def restored(folder: Path, *names: str) -> Path:
    place = folder / "there"
    Library((), state=folder / "state").restore(
        plan_restore(read_document(bundle(folder, *names)), place)
    )
    return place


def journal(folder: Path) -> Library:
    """As `memtui undo` has it: no store is open."""
    return Library((), state=folder / "state")


def held(folder: Path) -> dict[str, tuple[object, int]]:
    """All files with their times; of a database the rows."""
    found: dict[str, tuple[object, int]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(("-wal", "-shm")):
            name = str(path.relative_to(folder))
            if path.suffix == ".db":
                found[name] = dump(path), 0
            else:
                found[name] = path.read_bytes(), path.stat().st_mtime_ns
    return found


def beside(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"a.zip", "state"}


@pytest.mark.parametrize("names", [("engram",), ("workspace",), MIXED], ids="+".join)
def test_undo_takes_all_of_it_away_and_redo_brings_all_of_it_again(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    place = restored(tmp_path, *names)
    first = held(place)
    for _ in range(2):
        action = journal(tmp_path).undo(anywhere=True)
        assert action.state is ActionState.UNDONE
        assert beside(tmp_path) == set()
        action = journal(tmp_path).redo(anywhere=True)
        assert action.state is ActionState.DONE
        assert held(place) == first
        assert beside(tmp_path) == {"there"}


def filled(folder: Path, *names: str) -> Path:
    """The same in place of an empty folder."""
    (folder / "there").mkdir(mode=0o750)
    return restored(folder, *names)


def test_a_store_of_which_nothing_is_left_stops_no_other(tmp_path: Path) -> None:
    """Its program has deleted all of it while it was open; it is exported as it is: empty."""
    root = shutil.copytree(SAMPLES / "simple-memory", tmp_path / "open" / "simple-memory")
    library = Library.open([root, SAMPLES / "workspace"])
    library.load()
    shutil.rmtree(root)
    root.mkdir()
    file = tmp_path / "a.zip"
    file.write_bytes(b"".join(archive.encode_archive(pack_stores(library, None).archive)))
    Library((), state=tmp_path / "state").restore(
        plan_restore(read_document(file), tmp_path / "there")
    )
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["workspace"]
    library = Library([store for store in library.stores if store.format == "simple-memory"])
    file.write_bytes(b"".join(archive.encode_archive(pack_stores(library, None).archive)))
    with pytest.raises(Refused, match="no store to restore"):
        plan_restore(read_document(file), tmp_path / "nowhere")


def test_an_empty_folder_is_replaced_and_left_empty(tmp_path: Path) -> None:
    place = filled(tmp_path, *MIXED)
    first = held(place)
    assert place.stat().st_mode & 0o777 == 0o750
    for _ in range(2):
        journal(tmp_path).undo(anywhere=True)
        assert list(place.iterdir()) == []
        journal(tmp_path).redo(anywhere=True)
        assert held(place) == first
    assert {path.name for path in place.iterdir()} == set(MIXED)
    assert beside(tmp_path) == {"there"}


def test_the_folder_in_which_memtui_was_started_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = read_document(bundle(tmp_path, "simple-memory"))
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    with pytest.raises(Refused, match="memtui was started in this folder"):
        plan_restore(document, Path())


def test_what_memtui_did_later_is_undone_first_and_then_the_import(tmp_path: Path) -> None:
    place = restored(tmp_path, "workspace")
    library = Library.open([place], state=tmp_path / "state")
    library.load()
    for act, fields in ((Act.PIN, {}), (Act.EDIT, {"content": "# Mine\n"})):
        memory = next(m for m in library.memories("workspace") if m.type == "goal")
        library.apply(library.plan([Change(act, "workspace", memory.ref, fields)]))
    with pytest.raises(Refused, match="since"):
        library.undo(1)
    for _ in range(3):
        library.undo()
    assert beside(tmp_path) == set()
    for _ in range(3):
        library.redo()
    assert [m.type for m in library.memories("workspace") if m.pinned] == ["goal"]


def changed(place: Path) -> Path:
    file = place / "simple-memory" / "facts.json"
    file.write_bytes(file.read_bytes() + b"\n")
    return file


def added(place: Path) -> Path:
    file = place / "simple-memory" / "notes.txt"
    file.write_text("mine")
    return file


def linked(place: Path) -> Path:
    file = place / "elsewhere"
    file.symlink_to("/tmp")
    return file


def written(place: Path) -> Path:
    with closing(sqlite3.connect(place / "engram" / "engram.db")) as db, db:
        db.execute("UPDATE observations SET title = 'theirs' WHERE id = 1")
    return place / "engram" / "engram.db"


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("meanwhile", [changed, added, linked, written])
def test_what_others_wrote_since_is_never_taken_away(
    tmp_path: Path, meanwhile: object, there: bool
) -> None:
    place = filled(tmp_path, *MIXED) if there else restored(tmp_path, *MIXED)
    assert callable(meanwhile)
    file = meanwhile(place)
    now = held(place)
    with pytest.raises(Refused, match="nothing was removed"):
        journal(tmp_path).undo(anywhere=True)
    assert held(place) == now
    assert os.path.lexists(file)
    (action,) = journal(tmp_path).log(anywhere=True)
    assert action.state is ActionState.DONE
    assert beside(tmp_path) == {"there"}


@pytest.mark.slow
def test_a_database_that_a_program_has_open_is_left_to_it(tmp_path: Path) -> None:
    place = restored(tmp_path, "engram")
    code = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
        "db.execute('SELECT count(*) FROM observations').fetchone(); print(flush=True); input()"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", code, str(place / "engram.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert program.stdin
    assert program.stdout
    with program:
        program.stdout.readline()
        with pytest.raises(Refused, match="another program has the database open"):
            journal(tmp_path).undo(anywhere=True)
        program.stdin.close()
    assert (place / "engram.db").exists()
    journal(tmp_path).undo(anywhere=True)
    assert beside(tmp_path) == set()


def test_redo_leaves_alone_what_came_into_the_place(tmp_path: Path) -> None:
    place = restored(tmp_path, "engram")
    journal(tmp_path).undo(anywhere=True)
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    with pytest.raises(Refused, match="this place is not empty"):
        journal(tmp_path).redo(anywhere=True)
    assert [path.name for path in place.iterdir()] == ["mine.txt"]
    (place / "mine.txt").unlink()
    journal(tmp_path).redo(anywhere=True)
    assert (place / "engram.db").exists()


# ---- killed in the middle -------------------------------------------------------------------


def bring(folder: Path) -> None:
    Library((), state=folder / "state").restore(
        plan_restore(read_document(folder / "a.zip"), folder / "there")
    )


def undo(folder: Path) -> None:
    journal(folder).undo(anywhere=True)


def redo(folder: Path) -> None:
    journal(folder).redo(anywhere=True)


def killed(folder: Path, point: str, work: Callable[[Path], None]) -> None:
    def to_the_point() -> None:
        save_hooks.install(save_hooks.kill_at(point))
        work(folder)

    assert in_child(to_the_point) == KILLED


@pytest.mark.parametrize("names", [("engram",), ("simple-memory",)], ids="+".join)
@pytest.mark.parametrize("point", ["stage", "fill", "put"])
def test_a_killed_restore_leaves_nothing_after_the_next_start(
    tmp_path: Path, point: str, names: tuple[str, ...]
) -> None:
    bundle(tmp_path, *names)
    killed(tmp_path, point, bring)
    assert not (tmp_path / "there").exists()
    (action,) = journal(tmp_path).log(anywhere=True)  # the next start
    assert action.state is ActionState.VOID
    assert beside(tmp_path) == set()


@pytest.mark.slow
@pytest.mark.parametrize("names", [("engram",), ("simple-memory",)], ids="+".join)
@pytest.mark.parametrize("point", ["put", "clear"])
def test_a_killed_undo_has_taken_away_all_or_nothing(
    tmp_path: Path, point: str, names: tuple[str, ...]
) -> None:
    place = restored(tmp_path, *names)
    first = held(place)
    killed(tmp_path, point, undo)
    (action,) = journal(tmp_path).log(anywhere=True)
    if point == "put":
        assert (action.state, action.note, held(place)) == (ActionState.DONE, "", first)
        journal(tmp_path).undo(anywhere=True)
    else:
        assert (action.state, action.note) == (ActionState.UNDONE, "")
    assert beside(tmp_path) == set()
    killed(tmp_path, "fill", redo)
    assert journal(tmp_path).log(anywhere=True)[0].state is ActionState.UNDONE
    journal(tmp_path).redo(anywhere=True)
    assert held(place) == first
    assert beside(tmp_path) == {"there"}


@pytest.mark.slow
@pytest.mark.parametrize("point", ["fill", "put"])
def test_a_killed_restore_leaves_an_empty_folder_empty(tmp_path: Path, point: str) -> None:
    bundle(tmp_path, *MIXED)
    (tmp_path / "there").mkdir()
    killed(tmp_path, point, bring)
    (action,) = journal(tmp_path).log(anywhere=True)  # the next start
    assert (action.state, action.note) == (ActionState.VOID, "")
    assert list((tmp_path / "there").iterdir()) == []
    assert beside(tmp_path) == {"there"}


def test_a_killed_restore_is_cleared_by_the_next_one_into_the_place(tmp_path: Path) -> None:
    bundle(tmp_path, "engram")
    killed(tmp_path, "put", bring)
    shutil.rmtree(tmp_path / "state")  # another memtui, that knows nothing of the first
    restored(tmp_path, "engram")
    assert beside(tmp_path) == {"there"}


def test_what_is_at_work_or_not_ours_is_left(tmp_path: Path) -> None:
    place = tmp_path / "there"
    for name in (".there.memtui-backup", ".there.memtui-0123456789", ".other.memtui-01234567"):
        (tmp_path / name).mkdir()
    (tmp_path / ".there.memtui-01234567").write_text("a file")
    before = {path.name for path in tmp_path.iterdir()}
    with new_stage(place) as stage:
        clear_leftovers(place)
        assert stage.is_dir()
        assert set(FAILPOINTS)
    assert {path.name for path in tmp_path.iterdir()} == before


def test_the_journal_forgets_a_restored_store_with_all_its_texts(tmp_path: Path) -> None:
    restored(tmp_path, "engram")
    forgetful = Journal(tmp_path / "state")
    forgetful.forget([1])
    assert forgetful.log() == []
    forgetful.close()
    assert b"observations" not in (tmp_path / "state" / "journal.sqlite").read_bytes()


# ---- what can be restored -----------------------------------------------------------------------


def made(folder: Path, data: bytes, place: str = "there") -> Restoration:
    file = folder / "made.zip"
    file.write_bytes(data)
    return plan_restore(read_document(file), folder / place)


RECORD = to_record(Memory("agent-memory:1", "1", "agent-memory", "fact"))
NOT_WHOLE = "the file holds memories of agent-memory, but not the whole store"
NOT_RESTORED = {
    "a part": (sealed(whole=False), NOT_WHOLE),
    "memories only": (sealed(files={}, memories=(RECORD,)), NOT_WHOLE),
    "nothing": (sealed(files={}), "the file holds no store to restore"),
    "an unknown format": (
        sealed(format="evil"),
        "it holds a store of a format memtui does not know: 'evil'",
    ),
}


@pytest.mark.parametrize("name", NOT_RESTORED)
def test_what_is_no_whole_store_is_not_restored(tmp_path: Path, name: str) -> None:
    data, why = NOT_RESTORED[name]
    with pytest.raises((Refused, BundleError)) as caught:
        made(tmp_path, data)
    assert caught.value.what == why
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("data", [b"", b"\xed\xa0\xbd\xed\xb8\x80", b"\xef\xbb\xbf\r\n\0\xff"])
def test_bytes_that_are_no_text_come_back_as_they_are(tmp_path: Path, data: bytes) -> None:
    plan = made(tmp_path, sealed(more={"files/agent-memory/a": data}))
    Library((), state=tmp_path / "state").restore(plan)
    assert (tmp_path / "there" / "a").read_bytes() == data


def test_rows_are_restored_only_where_the_format_is_a_database(tmp_path: Path) -> None:
    rows = {"rows/agent-memory.jsonl": b"1\n"}
    for number, data in enumerate((sealed(more=rows), sealed(format="engram"))):
        plan = made(tmp_path, data, f"{number}")
        assert plan.files == 1
        Library((), state=tmp_path / "state").restore(plan)
        assert [path.name for path in (tmp_path / f"{number}").iterdir()] == ["a"]


@pytest.mark.parametrize(
    "occupied", [Path.touch, lambda path: path.symlink_to("nowhere")], ids=["a file", "a link"]
)
def test_a_place_that_is_no_folder_is_left_alone(
    tmp_path: Path, occupied: Callable[[Path], None]
) -> None:
    occupied(tmp_path / "there")
    with pytest.raises(Refused, match="is not empty and holds no store"):
        made(tmp_path, sealed())


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    plan = made(tmp_path, sealed(), "file/there")
    with pytest.raises(SaveError) as caught:
        Library((), state=tmp_path / "state").restore(plan)
    assert caught.value.what.startswith("nothing was imported: ")
    assert caught.value.where == str(tmp_path / "file" / "there")
    (action,) = journal(tmp_path).log(anywhere=True)
    assert action.state is ActionState.VOID


@pytest.mark.parametrize("existed", [False, True])
def test_a_plan_says_what_it_would_make(tmp_path: Path, existed: bool) -> None:
    if existed:
        (tmp_path / "there").mkdir()
    file = bundle(tmp_path, *MIXED)
    document = read_document(file)
    plan = plan_restore(document, tmp_path / "there")
    assert plan.existed == existed
    assert plan.files == len(list((SAMPLES / "simple-memory").glob("*.json"))) + 1
    assert plan.title == f"import {document.count} memories"
    roots = [tmp_path / "there" / name for name in MIXED]
    assert [placed.root for placed in plan.stores] == roots
    assert [part.store for part in plan.parts] == [str(root) for root in roots]
    with pytest.raises(Cancelled, match="nothing was imported"):
        plan_restore(document, tmp_path / "there", lambda: True)


def test_a_store_in_a_folder_of_its_own_gets_it_again(tmp_path: Path) -> None:
    data = sealed(files={"home/a": "x", "b": "y"}, root="home")
    plan = made(tmp_path, data)
    assert [placed.root for placed in plan.stores] == [tmp_path / "there" / "home"]
    Library((), state=tmp_path / "state").restore(plan)
    assert sorted(held(tmp_path / "there")) == ["b", "home/a"]


def test_progress_is_reported_every_fifty_files(tmp_path: Path) -> None:
    reports: list[Progress] = []
    plan = made(tmp_path, sealed(files={f"{n:03}": "x" for n in range(101)}))
    Library((), state=tmp_path / "state").restore(plan, report=reports.append)
    assert [r for r in reports if r.what == "restoring"] == [
        Progress("restoring", done, 101) for done in (0, 50, 100)
    ]


def test_files_get_their_times_whatever_these_are(tmp_path: Path) -> None:
    times = {"a": 0, "b": -1_000_000_000, "c": 1_700_000_000_123_456_789, "d": (1 << 62) * 10**9}
    listed = {name: {"mtime_ns": time} for name, time in times.items()}
    Library((), state=tmp_path / "state").restore(
        made(tmp_path, sealed(files=dict.fromkeys(times, "x"), listed=listed))
    )
    found = {path.name: path.stat() for path in (tmp_path / "there").iterdir()}
    assert {name: found[name].st_mtime_ns for name in "abc"} == {n: times[n] for n in "abc"}
    assert all(status.st_mode & 0o777 == 0o600 for status in found.values())
    assert (tmp_path / "there").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (lambda place: (place / "a").write_text("y"), "a was changed since; nothing was removed"),
        (lambda place: (place / "b").touch(), "b was made there since; nothing was removed"),
        (lambda place: (place / "c.db-wal").touch(), "c.db-wal was made there since"),
    ],
)
def test_what_was_written_since_is_named(
    tmp_path: Path, write: Callable[[Path], None], why: str
) -> None:
    Library((), state=tmp_path / "state").restore(made(tmp_path, sealed()))
    write(tmp_path / "there")
    before = (tmp_path / "there").stat().st_ctime_ns
    with pytest.raises(Refused) as caught:
        journal(tmp_path).undo(anywhere=True)
    assert (tmp_path / "there").stat().st_ctime_ns == before, "it is not even moved"
    assert why in str(caught.value)
    assert "undo what came later first, or delete the folder yourself" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "is_removed"),
    [
        ('{"id": "1", "set": {"pinned": true}}\n', True),
        ('{"id": "1", "set": {"pinned": false}}\n', False),
        ('{"id": "2", "set": {"pinned": true}}\n', False),
        ('{"id": "2"}\n', True),
    ],
)
def test_of_the_sidecar_only_what_it_says_counts(
    tmp_path: Path, line: str, is_removed: bool
) -> None:
    """A change that was undone leaves more lines than there were."""
    text = '{"id": "1", "set": {"pinned": true}}\n'
    data = sealed(files={"a": "x", ".memtui/sidecar.jsonl": text})
    Library((), state=tmp_path / "state").restore(made(tmp_path, data))
    with (tmp_path / "there" / ".memtui" / "sidecar.jsonl").open("a") as file:
        file.write(line)
    if is_removed:
        journal(tmp_path).undo(anywhere=True)
    else:
        with pytest.raises(Refused, match="nothing was removed"):
            journal(tmp_path).undo(anywhere=True)
    assert (tmp_path / "there").exists() != is_removed


def test_a_folder_that_cannot_be_removed_stays(tmp_path: Path) -> None:
    place = restored(tmp_path, "simple-memory")
    first = held(place)

    def fail(point: str) -> None:
        if point == "put":
            raise OSError(errno.EBUSY, "Device or resource busy")

    save_hooks.install(fail)
    try:
        with pytest.raises(SaveError) as caught:
            journal(tmp_path).undo(anywhere=True)
    finally:
        save_hooks.install(None)
    assert caught.value.what == "nothing was removed: Device or resource busy"
    assert caught.value.where == str(place)
    assert held(place) == first
    journal(tmp_path).undo(anywhere=True)
    assert beside(tmp_path) == set()
