"""A store brought into an empty place: whole, or not at all."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memtui.bundle import archive
from memtui.bundle.bundle_reader import read_document
from memtui.bundle.bundle_writer import pack_stores
from memtui.bundle.restoring import Restoration, is_empty, plan_restore, restore
from memtui.errors import BundleError, Refused, SaveError
from memtui.files import save_hooks
from memtui.files.staging import FAILPOINTS, clear_leftovers, new_stage
from memtui.library import Library
from memtui.model import Memory, to_record
from memtui.progress import Cancelled, Progress
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
    restore(plan_restore(read_document(bundle(folder, *names)), place))
    return place


def content(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        return list(connection.iterdump())


def held(folder: Path) -> dict[str, tuple[object, int]]:
    """All files with their times; of a database the content."""
    found: dict[str, tuple[object, int]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.name.endswith(("-wal", "-shm")):
            name = str(path.relative_to(folder))
            if path.suffix == ".db":
                found[name] = content(path), 0
            else:
                found[name] = path.read_bytes(), path.stat().st_mtime_ns
    return found


def beside(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"a.zip", "state"}


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
    restore(plan_restore(read_document(file), tmp_path / "there"))
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["workspace"]
    library = Library([store for store in library.stores if store.format == "simple-memory"])
    file.write_bytes(b"".join(archive.encode_archive(pack_stores(library, None).archive)))
    with pytest.raises(Refused, match="no store to restore"):
        plan_restore(read_document(file), tmp_path / "nowhere")


def test_an_empty_folder_is_replaced(tmp_path: Path) -> None:
    place = filled(tmp_path, *MIXED)
    assert place.stat().st_mode & 0o777 == 0o750
    assert {path.name for path in place.iterdir()} == set(MIXED)
    assert beside(tmp_path) == {"there"}
    original = shutil.copytree(SAMPLES / "engram", tmp_path / "copy")
    assert content(place / "engram" / "engram.db") == content(original / "engram.db")


def test_the_folder_in_which_memtui_was_started_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = read_document(bundle(tmp_path, "simple-memory"))
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    with pytest.raises(Refused, match="memtui was started in this folder"):
        plan_restore(document, Path())


# ---- killed in the middle -------------------------------------------------------------------


def killed(folder: Path, point: str) -> None:
    """Restoring in a process that is killed."""

    def to_the_point() -> None:
        save_hooks.install(save_hooks.kill_at(point))
        restore(plan_restore(read_document(folder / "a.zip"), folder / "there"))

    assert in_child(to_the_point) == KILLED


@pytest.mark.slow
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("point", ["stage", "fill", "put"])
def test_a_killed_restore_leaves_nothing_and_the_next_one_clears_up(
    tmp_path: Path, point: str, there: bool
) -> None:
    bundle(tmp_path, *MIXED)
    if there:
        (tmp_path / "there").mkdir()
    killed(tmp_path, point)
    assert is_empty(tmp_path / "there")
    restored(tmp_path, *MIXED)
    assert beside(tmp_path) == {"there"}
    assert {path.name for path in (tmp_path / "there").iterdir()} == set(MIXED)


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
    restore(plan)
    assert (tmp_path / "there" / "a").read_bytes() == data


def test_rows_are_restored_only_where_the_format_is_a_database(tmp_path: Path) -> None:
    rows = {"rows/agent-memory.jsonl": b"1\n"}
    for number, data in enumerate((sealed(more=rows), sealed(format="engram"))):
        plan = made(tmp_path, data, f"{number}")
        assert plan.files == 1
        restore(plan)
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
        restore(plan)
    assert caught.value.what.startswith("nothing was imported: ")
    assert caught.value.where == str(tmp_path / "file" / "there")


@pytest.mark.parametrize("existed", [False, True])
def test_a_plan_says_what_it_would_make(tmp_path: Path, existed: bool) -> None:
    if existed:
        (tmp_path / "there").mkdir()
    file = bundle(tmp_path, *MIXED)
    document = read_document(file)
    plan = plan_restore(document, tmp_path / "there")
    assert plan.files == len(list((SAMPLES / "simple-memory").glob("*.json"))) + 1
    roots = [tmp_path / "there" / name for name in MIXED]
    assert [placed.root for placed in plan.stores] == roots
    assert str(tmp_path / "there") in plan.taken_back_by
    with pytest.raises(Cancelled, match="nothing was imported"):
        plan_restore(document, tmp_path / "there", lambda: True)


def test_a_store_in_a_folder_of_its_own_gets_it_again(tmp_path: Path) -> None:
    data = sealed(files={"home/a": "x", "b": "y"}, root="home")
    plan = made(tmp_path, data)
    assert [placed.root for placed in plan.stores] == [tmp_path / "there" / "home"]
    restore(plan)
    assert sorted(held(tmp_path / "there")) == ["b", "home/a"]


def test_progress_is_reported_every_fifty_files(tmp_path: Path) -> None:
    reports: list[Progress] = []
    plan = made(tmp_path, sealed(files={f"{n:03}": "x" for n in range(101)}))
    restore(plan, reports.append)
    assert [r for r in reports if r.what == "restoring"] == [
        Progress("restoring", done, 101) for done in (0, 50, 100)
    ]


def test_files_get_their_times_whatever_these_are(tmp_path: Path) -> None:
    times = {"a": 0, "b": -1_000_000_000, "c": 1_700_000_000_123_456_789, "d": (1 << 62) * 10**9}
    listed = {name: {"mtime_ns": time} for name, time in times.items()}
    restore(made(tmp_path, sealed(files=dict.fromkeys(times, "x"), listed=listed)))
    found = {path.name: path.stat() for path in (tmp_path / "there").iterdir()}
    assert {name: found[name].st_mtime_ns for name in "abc"} == {n: times[n] for n in "abc"}
    assert all(status.st_mode & 0o777 == 0o600 for status in found.values())
    assert (tmp_path / "there").stat().st_mode & 0o777 == 0o700
