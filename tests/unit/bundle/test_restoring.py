"""A store brought into an empty place: taken back whole, done again whole, or not at all."""

from __future__ import annotations

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
from memtui.bundle.restoring import plan_restore
from memtui.changes import Act, Change
from memtui.errors import Refused
from memtui.files import save_hooks
from memtui.files.staging import FAILPOINTS, clear_leftovers, new_stage
from memtui.journal import ActionState, Journal
from memtui.library import Library
from memtui.stores.engram.rebuild import dump
from tests.torture.processes import KILLED, in_child

SAMPLES = Path(__file__).parents[3] / "sample-data"
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


def filled(folder: Path, *names: str) -> tuple[Path, int]:
    """The same into an empty folder that is there; also its inode."""
    place = folder / "there"
    place.mkdir(mode=0o750)
    inode = place.stat().st_ino
    return restored(folder, *names), inode


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


def test_an_empty_folder_is_filled_and_emptied_and_stays_the_same_folder(tmp_path: Path) -> None:
    place, inode = filled(tmp_path, *MIXED)
    first = held(place)
    for _ in range(2):
        journal(tmp_path).undo(anywhere=True)
        assert list(place.iterdir()) == []
        journal(tmp_path).redo(anywhere=True)
        assert held(place) == first
    assert (place.stat().st_ino, place.stat().st_mode & 0o777) == (inode, 0o750)
    assert {path.name for path in place.iterdir()} == set(MIXED)
    assert beside(tmp_path) == {"there"}


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
    place = filled(tmp_path, *MIXED)[0] if there else restored(tmp_path, *MIXED)
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
@pytest.mark.parametrize("point", ["fill", "put", "move:1", "move:2"])
def test_a_killed_filling_is_finished_or_leaves_nothing(tmp_path: Path, point: str) -> None:
    bundle(tmp_path, *MIXED)
    place = tmp_path / "there"
    place.mkdir()
    killed(tmp_path, point, bring)
    (action,) = journal(tmp_path).log(anywhere=True)  # the next start
    whole = point.startswith("move")
    assert (action.state, action.note) == (ActionState.DONE if whole else ActionState.VOID, "")
    assert {path.name for path in place.iterdir()} == (set(MIXED) if whole else set())
    if whole:
        journal(tmp_path).undo(anywhere=True)
        assert list(place.iterdir()) == []
    assert beside(tmp_path) == {"there"}


@pytest.mark.slow
@pytest.mark.parametrize("point", ["put", "move:1", "move:2", "clear"])
def test_a_killed_emptying_has_taken_out_all_or_nothing(tmp_path: Path, point: str) -> None:
    place, _ = filled(tmp_path, *MIXED)
    first = held(place)
    killed(tmp_path, point, undo)
    (action,) = journal(tmp_path).log(anywhere=True)
    gone = point == "clear"
    assert (action.state, action.note) == (ActionState.UNDONE if gone else ActionState.DONE, "")
    assert held(place) == ({} if gone else first)
    if not gone:
        journal(tmp_path).undo(anywhere=True)
    assert list(place.iterdir()) == []
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
