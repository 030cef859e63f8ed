"""A folder is put in place or taken away whole; what others write meanwhile is never deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.bundle import restoring
from memtui.changes import TreeEdit
from memtui.errors import MemtuiError
from memtui.files import save_hooks, staging
from memtui.files.save_hooks import NullRecorder

FILES = {"MEMORY.md": ["- one\n", None], "daily/2026-11-21.md": ["- two\n", None]}
TREE = {"files": FILES, "databases": {}}
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
    """Restores a store into `place`, or takes it away, with faults at chosen passes of points."""

    def __init__(self, folder: Path, *, existed: bool, removes: bool) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.place = folder / "place"
        self.passed: list[str] = []
        self.said = ""
        self.written = False
        before, after = (TREE, None) if removes else (None, TREE)
        self._edit = TreeEdit(str(self.place), before, after, existed)
        if existed:
            self.place.mkdir()
        if removes:
            restoring.apply_tree_edit(
                TreeEdit(str(self.place), None, TREE, existed), NullRecorder(folder / "state")
            )

    def make(
        self, write: Callable[[Path], None], written_at: int, refused_at: int, state: Path
    ) -> None:
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
            restoring.apply_tree_edit(self._edit, NullRecorder(state))
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
        if self.said and self._edit.before and not beside and held != sorted(FILES):
            return f"it is said to be there still: {held}"
        if not self.said and self._edit.after and held != sorted(FILES):
            return f"it is said to be there: {held}"
        if self.said and self._edit.after and held and not self.written:
            return f"it is said not to be there: {held}"
        return ""


@pytest.mark.slow
@pytest.mark.parametrize("existed", [False, True], ids=["made", "filled"])
@pytest.mark.parametrize("removes", [False, True], ids=["restored", "taken away"])
def test_a_write_of_another_program_and_an_error_at_every_point(
    tmp_path: Path, figures: Callable[[str], None], *, existed: bool, removes: bool
) -> None:
    plain = Run(tmp_path / "run", existed=existed, removes=removes)
    plain.make(_append, -1, -1, tmp_path / "state")
    assert not plain.problem
    assert not plain.said
    count, points = 0, range(len(plain.passed))
    for write in WRITES:
        for written_at in (-1, *points):
            for refused_at in (-1, *points):
                run = Run(tmp_path / "run", existed=existed, removes=removes)
                run.make(write, written_at, refused_at, tmp_path / "state")
                what = f"{write.__name__} at {written_at}, refused at {refused_at}"
                assert not run.problem, f"{what}: {run.problem}; {run.passed}; {run.said}"
                count += 1
    figures(f"pairs of faults of a folder: {count:,} runs, nothing lost, nothing left behind")


def test_a_stage_beside_the_files_of_a_folder_is_not_moved_along(tmp_path: Path) -> None:
    """Emptying a folder hides its entries in a folder inside it."""
    place = tmp_path / "place"
    place.mkdir()
    (place / "a").write_text("a")
    with staging.emptying_folder(place) as hidden:
        assert [path.name for path in hidden.iterdir()] == ["a"]
        assert list(place.iterdir()) == [hidden]
    assert list(place.iterdir()) == []


def test_a_folder_hidden_by_a_killed_process_comes_back(tmp_path: Path) -> None:
    place = tmp_path / "place"
    for hidden in (
        tmp_path / ".place.memtui-0123abcd-moving",
        place / ".place.memtui-0123abcd-moving",
    ):
        hidden.mkdir(parents=True)
        (hidden / "a").write_text("a")
        staging.clear_leftovers(place)
        assert [path.name for path in place.iterdir()] == ["a"]
        (place / "a").unlink()
    (tmp_path / ".place.memtui-0123abcd-moving").mkdir()
    staging.clear_leftovers(place)  # the place is taken: it stays as it is, to be looked at
    assert len(list(tmp_path.iterdir())) == 2
