"""What becomes unreadable or vanishes while a store is open is reported, once and only then."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.changes import Act, Change
from memtui.library import Library
from memtui.library.broken_files import NOT_THERE, LossDetector, StoreLosses
from tests.bench.corpus import write_facts
from tests.samples import SAMPLES

PLACES = 4
STORES = sorted(
    path.name
    for path in SAMPLES.iterdir()
    if path.is_dir() and path.name != "test-tower"  # four stores in one folder
)


class Watched:
    """An open library and what was reported of it."""

    def __init__(self, root: Path, state: Path | None = None) -> None:
        self.library = Library.open([root], state=state)
        self.library.load()
        self.detector = LossDetector()
        self.detector.accept(self.library)

    def look(self) -> list[StoreLosses]:
        self.library.refresh()
        return self.detector.check(self.library)

    def losses(self) -> list[tuple[str, str]]:
        """What two looks report, and nothing by the third."""
        reports = [report for _ in range(2) for report in self.look()]
        assert not self.look()
        return [(loss.path, loss.reason) for report in reports for loss in report.losses]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "memory"
    write_facts(home, [f"fact {number}" for number in range(PLACES * 2)], each=2)
    return home


def file_of(home: Path, place: int) -> Path:
    return home / "entities" / f"place-{place:04}" / "items.json"


def _break(home: Path) -> Path:
    file_of(home, 1).write_text("[{")
    return file_of(home, 1)


def _make_a_folder(home: Path) -> Path:
    file_of(home, 1).unlink()
    file_of(home, 1).mkdir()
    return file_of(home, 1)


def _delete(home: Path) -> Path:
    file_of(home, 1).unlink()
    return file_of(home, 1)


def _delete_folder(home: Path) -> Path:
    shutil.rmtree(file_of(home, 1).parent)
    return file_of(home, 1).parent


def _delete_store(home: Path) -> Path:
    shutil.rmtree(home)
    return home


@pytest.mark.parametrize(
    ("harm", "fewer"),
    [(_break, 2), (_make_a_folder, 2), (_delete, 2), (_delete_folder, 2), (_delete_store, 8)],
)
def test_a_loss_is_reported_once_and_what_comes_back_is_none(
    home: Path, tmp_path: Path, harm: Callable[[Path], Path], fewer: int
) -> None:
    watched = Watched(home)
    shutil.copytree(home, tmp_path / "whole")
    where = harm(home)
    assert not watched.look(), "a program may be just writing it"
    (report,) = watched.look()
    assert [loss.path for loss in report.losses] == [str(where)]
    assert all(loss.reason for loss in report.losses)
    assert report.memories == fewer
    assert not watched.look()
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(tmp_path / "whole", home)
    assert not watched.losses()
    harm(home)
    assert [path for path, _ in watched.losses()] == [str(where)], "it can be lost again"


def test_a_file_that_is_just_being_written_is_none(home: Path) -> None:
    watched = Watched(home)
    whole = file_of(home, 1).read_bytes()
    for harm in (_break, _delete, _delete_folder):
        harm(home)
        assert not watched.look()
        file_of(home, 1).parent.mkdir(exist_ok=True)
        file_of(home, 1).write_bytes(whole)
        assert not watched.losses()


def test_a_second_loss_between_two_looks_is_reported_after_the_first(home: Path) -> None:
    watched = Watched(home)
    _break(home)
    assert not watched.look()
    file_of(home, 2).unlink()
    (first,) = watched.look()
    assert [loss.path for loss in first.losses] == [str(file_of(home, 1))]
    (second,) = watched.look()
    assert [(loss.path, loss.reason) for loss in second.losses] == [
        (str(file_of(home, 2)), NOT_THERE)
    ]
    assert (first.memories, second.memories) == (2, 2), "each says its own"
    assert not watched.look()


def test_what_was_renamed_or_deleted_by_memtui_is_none(home: Path, tmp_path: Path) -> None:
    watched = Watched(home, tmp_path / "state")
    file_of(home, 1).parent.rename(home / "entities" / "renamed")
    assert not watched.losses()
    memories = list(watched.library.memories(watched.library.stores[0].label))
    changes = [Change(Act.RETIRE, memory.store, memory.ref) for memory in memories[:3]]
    watched.library.apply(watched.library.plan(changes))
    watched.detector.accept(watched.library)
    assert not watched.losses()


def test_many_memories_that_are_missing_from_files_are_one_loss(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    write_facts(home, [f"fact {number}" for number in range(12)], each=6)
    watched = Watched(home)
    whole = json.loads(file_of(home, 1).read_text())
    for left, missing in ((whole[:1], 5), (whole, 0), (whole[:2], 0)):
        file_of(home, 1).write_text(json.dumps(left))
        assert not watched.look(), "a program may be just writing it"
        assert [report.memories for report in watched.look()] == [missing] * bool(missing)
        assert not watched.look()


@pytest.mark.parametrize("is_deleted", [False, True])
def test_what_went_since_the_last_session_is_reported(tmp_path: Path, *, is_deleted: bool) -> None:
    home = tmp_path / "memory"
    write_facts(home, [f"fact {number}" for number in range(12)], each=6)
    library = Library.open([home], state=tmp_path / "state", cache=tmp_path / "cache")
    library.load()
    library.index()  # which keeps the rows for the next session
    library.close()
    if is_deleted:
        file_of(home, 1).unlink()
    else:
        file_of(home, 1).write_text("[{")
    library = Library.open([home], state=tmp_path / "state", cache=tmp_path / "cache")
    library.load()
    detector = LossDetector()
    detector.begin(library)
    reports = [report for _ in range(3) for report in detector.check(library)]
    assert [report.memories for report in reports] == [6] * is_deleted, "the other is listed"


@pytest.mark.parametrize("store", STORES)
def test_a_store_that_is_gone_is_unreadable_in_every_format(store: str, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / store, tmp_path / "there")
    watched = Watched(tmp_path / "there")
    (tmp_path / "there").rename(tmp_path / "away")
    root = watched.library.stores[0].root
    reported = [path for path, _ in watched.losses()]
    (state,) = watched.library.snapshot.stores
    assert reported[:1] == [item.file for item in state.unreadable]
    assert Path(reported[0]).is_relative_to(root)
    (tmp_path / "away").rename(tmp_path / "there")
    assert not watched.losses()
    assert not watched.library.snapshot.stores[0].unreadable
