"""A change of rows and of the sidecar beside them is whole or not there at all.

A link that Engram's relations cannot hold is kept in memtui's sidecar; planned together with an
edit of a row it is one action.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.changes import Act, Change, Kind
from memtui.errors import MemtuiError
from memtui.files import save_hooks
from memtui.files.sidecar_lines import sidecar_path
from memtui.journal import ActionState
from memtui.library import Library
from memtui.library.planning import Planned
from memtui.stores.sqlite import connection
from tests.long_run import share
from tests.torture.processes import KILLED, in_child

from .invented import build, sql

EDITED = "Stays are ash since 1921"
POINTS = tuple(dict.fromkeys((*connection.FAILPOINTS, *save_hooks.FAILPOINTS)))
FAULTS = [(step, point) for point in POINTS for step in ("apply", "undo", "redo")]
"""The usual run takes a part of them: the points of files and of rows have tests of their own."""


def opened(tmp_path: Path) -> Library:
    library = Library.open([tmp_path / ".engram"], state=tmp_path / "state", cache=None)
    library.load()
    return library


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return build(tmp_path / ".engram", "july")


def mixed(library: Library) -> Planned:
    """A link kept beside the database, and an edit of a row."""
    (store,) = library.stores
    label = store.label
    link = Change(Act.LINK, label, f"{label}:1", {"relation": "explains", "target": f"{label}:2"})
    edit = Change(Act.EDIT, label, f"{label}:2", {"content": EDITED})
    planned = library.plan([link, edit])
    edits = [edit for part in planned.parts for edit in part.edits]
    assert {edit.kind is Kind.SIDECAR for edit in edits} == {True, False}
    return planned


def is_linked(folder: Path) -> bool:
    file = sidecar_path(folder)
    return file.exists() and "explains" in file.read_text()


def is_edited(folder: Path) -> bool:
    return sql(folder, "SELECT content FROM observations WHERE id = 2") == [(EDITED,)]


def states(folder: Path) -> tuple[bool, bool]:
    return is_linked(folder), is_edited(folder)


def test_rows_that_conflict_leave_no_sidecar_behind(tmp_path: Path, folder: Path) -> None:
    library = opened(tmp_path)
    planned = mixed(library)
    sql(folder, "UPDATE observations SET content = 'Stays of oak' WHERE id = 2")
    with pytest.raises(MemtuiError, match="changed since"):
        library.apply(planned)
    assert states(folder) == (False, False)
    assert [action.state for action in library.log()] in ([], [ActionState.VOID])


def test_a_sidecar_that_cannot_be_saved_leaves_the_rows(tmp_path: Path, folder: Path) -> None:
    library = opened(tmp_path)
    planned = mixed(library)
    sidecar_path(folder).mkdir(parents=True)
    with pytest.raises(MemtuiError):
        library.apply(planned)
    assert not is_edited(folder)
    assert [action.state for action in library.log()] in ([], [ActionState.VOID])


def test_an_undo_that_conflicts_in_a_row_keeps_the_sidecar(tmp_path: Path, folder: Path) -> None:
    library = opened(tmp_path)
    library.apply(mixed(library))
    assert states(folder) == (True, True)
    sql(folder, "UPDATE observations SET content = 'Stays of oak' WHERE id = 2")
    with pytest.raises(MemtuiError):
        library.undo()
    assert is_linked(folder)
    assert [action.state for action in library.log()] == [ActionState.DONE]
    sql(folder, f"UPDATE observations SET content = '{EDITED}' WHERE id = 2")
    library.undo()
    assert states(folder) == (False, False)
    library.redo()
    assert states(folder) == (True, True)


def steps_of(step: str) -> tuple[Callable[[Library], object], bool]:
    """The step to take, and whether the change is there before it."""
    if step == "apply":
        return lambda library: library.apply(mixed(library)), False
    return (lambda library: library.undo()) if step == "undo" else (
        lambda library: library.redo()
    ), step == "undo"


def prepare(tmp_path: Path, step: str) -> None:
    if step != "apply":
        library = opened(tmp_path)
        library.apply(mixed(library))
        if step == "redo":
            library.undo()
        library.close()


@pytest.mark.parametrize(("step", "point"), share(FAULTS, 0, 4))
def test_an_error_at_any_point_leaves_all_or_nothing(
    tmp_path: Path, folder: Path, step: str, point: str
) -> None:
    prepare(tmp_path, step)
    work, was_there = steps_of(step)
    before = tmp_path / "before"
    for path in (folder, tmp_path / "state"):
        if path.exists():
            shutil.copytree(path, before / path.name)
    for count in (1, 2, 3):
        library, passed = opened(tmp_path), 0

        def fail(name: str) -> None:
            nonlocal passed
            passed += name == point
            if name == point and passed == count:  # noqa: B023
                raise OSError(28, "planted")

        save_hooks.install(fail)
        error: BaseException | None = None
        try:
            work(library)
        except (MemtuiError, OSError) as raised:
            error = raised
        finally:
            save_hooks.install(None)
        linked, edited = states(folder)
        assert linked == edited, f"half of it, after {error!r}"
        assert error is not None or linked is not was_there
        library.close()
        for path in (folder, tmp_path / "state"):
            shutil.rmtree(path, ignore_errors=True)
            if (before / path.name).exists():
                shutil.copytree(before / path.name, path)


@pytest.mark.parametrize(
    ("step", "point", "count"),
    share([(*fault, count) for count in (1, 2) for fault in FAULTS], 1, 7),
)
def test_after_a_kill_at_any_point_all_is_there_or_can_be_taken_back(
    tmp_path: Path, folder: Path, step: str, point: str, count: int
) -> None:
    prepare(tmp_path, step)
    work, _ = steps_of(step)

    def killed() -> None:
        library = opened(tmp_path)
        save_hooks.install(save_hooks.kill_at(f"{point}:{count}"))
        work(library)

    status = in_child(killed)
    library = opened(tmp_path)
    linked, edited = states(folder)
    if status != KILLED:
        assert linked == edited
        return
    if linked != edited:
        # The journal must know which of the edits are in effect.
        library.undo()
        assert states(folder) == (False, False)
