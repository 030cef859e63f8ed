"""A folder is put in place whole; what others write meanwhile is never deleted."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memtui.bundle.restoring import PlacedFile, Restoration, restore
from memtui.errors import MemtuiError, SaveError
from memtui.files import atomic_replace, save_hooks, staging

FILES = {"MEMORY.md": "- one\n", "daily/2026-11-21.md": "- two\n"}
THEIRS = "written by them"


def _append(place: Path) -> None:
    path = place / "MEMORY.md"
    if path.exists():
        with path.open("a") as file:
            file.write(THEIRS)


def _put_beside(place: Path) -> None:
    place.mkdir(exist_ok=True)
    (place / "theirs.md").write_text(THEIRS)


def _put_again(place: Path) -> None:
    place.mkdir(exist_ok=True)
    if not (place / "MEMORY.md").exists():
        (place / "MEMORY.md").write_text(THEIRS)


WRITES = (_append, _put_beside, _put_again)


class Run:
    """Restores a store into `place`, with faults at chosen passes of points."""

    def __init__(self, folder: Path, *, existed: bool) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.place = folder / "place"
        self.passed: list[str] = []
        self.said = ""
        self.written = False
        if existed:
            self.place.mkdir()
        contents = (PlacedFile(name, text.encode, None) for name, text in FILES.items())
        self._plan = Restoration(self.place, (), tuple(contents))

    def make(self, write: Callable[[Path], None], written_at: int, refused_at: int) -> None:
        def hook(point: str) -> None:
            number = len(self.passed)
            self.passed.append(point)
            if number == written_at:
                write(self.place)
                self.written = THEIRS in self._texts(self.place)
            if number == refused_at:
                raise OSError(28, os.strerror(28))

        fsync = os.fsync

        def watched(descriptor: int) -> None:
            hook("fsync")
            fsync(descriptor)

        save_hooks.install(hook)
        os.fsync = watched
        try:
            restore(self._plan)
        except MemtuiError as error:
            self.said = str(error)
        finally:
            os.fsync = fsync
            save_hooks.install(None)
        staging.clear_leftovers(self.place)  # as the next start does

    def _texts(self, *folders: Path) -> str:
        found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        return "".join(path.read_text() for path in found)

    @property
    def problem(self) -> str:
        hidden = [path.name for path in self.place.parent.rglob(".*")]
        if hidden:
            return f"left behind: {hidden}"
        beside = [path for path in self.place.parent.iterdir() if path != self.place]
        if any(str(path) not in self.said for path in beside if path.name != "state"):
            return f"left behind: {beside}"
        if self.written and THEIRS not in self._texts(self.place, *beside):
            return "the other program's text is lost"
        held = sorted(name for name in FILES if (self.place / name).exists())
        if not self.said and held != sorted(FILES):
            return f"it is said to be there: {held}"
        if self.said and held and not self.written:
            return f"it is said not to be there: {held}"
        return ""


@pytest.mark.slow
@pytest.mark.parametrize("existed", [False, True], ids=["made", "filled"])
def test_a_write_of_another_program_and_an_error_at_every_point(
    tmp_path: Path, figures: Callable[[str], None], *, existed: bool
) -> None:
    plain = Run(tmp_path / "run", existed=existed)
    plain.make(_append, -1, -1)
    assert not plain.problem
    assert not plain.said
    count, points = 0, range(len(plain.passed))
    for write in WRITES:
        for written_at in (-1, *points):
            for refused_at in (-1, *points):
                run = Run(tmp_path / "run", existed=existed)
                run.make(write, written_at, refused_at)
                what = f"{write.__name__} at {written_at}, refused at {refused_at}"
                assert not run.problem, f"{what}: {run.problem}; {run.passed}; {run.said}"
                count += 1
    figures(f"pairs of faults of a folder: {count:,} runs, nothing lost, nothing left behind")


def test_a_folder_hidden_by_a_killed_process_comes_back(tmp_path: Path) -> None:
    place, hidden = tmp_path / "place", tmp_path / ".place.memtui-0123abcd-moving"
    hidden.mkdir()
    (hidden / "a").write_text("a")
    staging.clear_leftovers(place)
    assert [path.name for path in place.iterdir()] == ["a"]
    hidden.mkdir()
    staging.clear_leftovers(place)  # the place is taken: it stays as it is, to be looked at
    assert len(list(tmp_path.iterdir())) == 2


# ---- one fault at each step ----------------------------------------------------------------------

Refuse = Callable[[Path], None]


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """Makes a folder impossible to sync."""

    def install(folder: Path) -> None:
        fsync = os.fsync

        def refused(descriptor: int) -> None:
            if os.path.samestat(os.fstat(descriptor), os.stat(folder)):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", refused)

    return install


def filled(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(name)
    return folder


def names_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("existed", [False, True])
def test_a_stage_is_private_and_becomes_the_folder(tmp_path: Path, existed: bool) -> None:
    place = tmp_path / "parent" / "place"
    if existed:
        place.mkdir(parents=True)
    with staging.new_stage(place) as stage:
        assert stat.S_IMODE(stage.stat().st_mode) == 0o700
        assert stage.parent == place.parent
        filled(stage, "b", "a")
        filled(stage / "folder", "c")
        staging.clear_leftovers(place)  # another memtui: the stage is locked
        staging.move_into_place(stage, place)
    assert names_in(place) == ["a", "b", "folder"]
    assert names_in(place.parent) == ["place"]
    with staging.new_stage(tmp_path / "other"):
        pass
    assert names_in(tmp_path) == ["parent"]


@pytest.mark.parametrize("existed", [False, True])
def test_a_stage_that_cannot_be_put_in_place_is_as_it_was(
    tmp_path: Path, refuse: Refuse, existed: bool
) -> None:
    place = tmp_path / "parent" / "place"
    if existed:
        place.mkdir(parents=True)
    with staging.new_stage(place) as stage:
        filled(stage, "a", "b")
        refuse(place.parent)
        with pytest.raises(OSError, match="Input/output"):
            staging.move_into_place(stage, place)
        assert names_in(stage) == ["a", "b"]
        assert names_in(stage.parent) == [stage.name, *["place"] * existed]
    assert place.exists() == existed


def test_nothing_is_put_into_a_folder_that_holds_something(tmp_path: Path) -> None:
    place = filled(tmp_path / "place")
    with staging.new_stage(place) as stage:
        filled(stage, "a")
        filled(place, "theirs")
        with pytest.raises(OSError, match="not empty") as caught:
            staging.move_into_place(stage, place)
        assert caught.value.errno == errno.ENOTEMPTY
        assert names_in(stage) == ["a"]
        kept = atomic_replace.keep_beside(place, stage)
        assert names_in(kept) == ["a"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["place", kept.name])
    assert names_in(place) == ["theirs"]


def test_only_leftovers_of_the_folder_itself_are_removed(tmp_path: Path) -> None:
    place = filled(tmp_path / "place")
    theirs = [
        ".place.memtui-0123abc",
        ".place.memtui-0123abcde",
        ".other.memtui-0123abcd",
        "place2",
    ]
    for name in theirs:
        filled(tmp_path / name, "x")
    (tmp_path / ".place.memtui-0123abcf").write_text("a file")
    filled(tmp_path / ".place.memtui-0123abcd", "x")
    filled(place / ".place.memtui-0123abce", "x")
    assert staging.is_hidden(".place.memtui-0123abcd-moving", place)
    staging.clear_leftovers(place)
    assert names_in(tmp_path) == sorted([*theirs, ".place.memtui-0123abcf", "place"])
    assert names_in(place) == []


# ---- files ---------------------------------------------------------------------------------------


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path, link = tmp_path / "x.zip", tmp_path / "link"
    link.symlink_to("x.zip")
    staging.write_file(link, [b"one ", b"two"])
    assert (path.read_bytes(), link.is_symlink()) == (b"one two", True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(SaveError, match="not written: the disk is full") as caught:
        staging.write_file(path, pieces())
    assert caught.value.where == str(path)
    assert path.read_bytes() == b"one two"
    assert names_in(tmp_path) == ["link", "x.zip"]


def test_a_pipe_gets_the_bytes_and_says_when_nobody_reads(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    staging.write_file(pipe, [b"one ", b"two"])
    assert os.read(reader, 100) == b"one two"

    def pieces() -> Iterator[bytes]:
        os.close(reader)
        yield b"nobody"

    with pytest.raises(BrokenPipeError):
        staging.write_file(pipe, pieces())
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    ("code", "is_told"),
    [(errno.EACCES, False), (errno.EINVAL, False), (errno.ENOTSUP, False), (errno.EIO, True)],
)
def test_a_file_system_that_cannot_sync_folders_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, is_told: bool
) -> None:
    fsync = os.fsync

    def refused(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refused)
    path = tmp_path / "x.zip"
    if is_told:
        with pytest.raises(SaveError, match="the disk reports an error"):
            staging.write_file(path, [b"whole"])
    else:
        staging.write_file(path, [b"whole"])
    assert path.read_bytes() == b"whole"


def test_standard_output_gets_all_pieces() -> None:
    script = "print('first', end=' '); write_standard_output([b'one ', b'two'])"
    script = f"from memtui.files.staging import write_standard_output; {script}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"first one two"
