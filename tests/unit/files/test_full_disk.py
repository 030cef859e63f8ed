"""No room at any place memtui writes to: said or done without, and nothing half-made is left.

A limit on the size of files stands for the full disk: it needs no right to mount one.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from memtui.errors import SaveError
from memtui.files import atomic_replace, backups, drafts
from memtui.library import Library
from memtui.stores.sqlite import rebuild
from tests.bench import corpus
from tests.samples import SAMPLES
from tests.torture.processes import in_child

SAMPLE = SAMPLES / "engram" / "engram.db"
RECORDED = Path(__file__).parents[1] / "bundle" / "recorded_0_1.zip"
ROOM = 64
"""Bytes that a file may have."""


def without_room(work: Callable[[], None]) -> None:
    """Do this in a process whose files cannot grow."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        sys.dont_write_bytecode = True  # half a compiled module would stay for all others
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))
        work()

    assert in_child(limited) == 0


def test_a_new_file_that_has_no_room_leaves_no_folder_either(tmp_path: Path) -> None:
    theirs = tmp_path / "entities"
    theirs.mkdir()

    def work() -> None:
        with pytest.raises(SaveError, match="nothing was made"):
            atomic_replace.create(theirs / "new" / "deep" / "items.json", b"x" * 2 * ROOM)

    without_room(work)
    assert list(tmp_path.rglob("*")) == [theirs]


def test_a_cache_that_has_no_room_is_done_without_and_does_not_fill_the_disk(
    tmp_path: Path,
) -> None:
    home, cache = tmp_path / "memory", tmp_path / "cache"
    corpus.write_facts(home, ["one", "two"])

    def work() -> None:
        for _ in range(3):
            library = Library.open([home], cache=cache)
            library.load()
            library.index()
            assert library.snapshot.count == 2

    without_room(work)
    assert not [path for path in cache.rglob("*") if path.is_file()]
    assert [path.name for path in cache.rglob("*")] == ["stores", *_homes(cache)]


def _homes(cache: Path) -> list[str]:
    return [path.name for path in (cache / "stores").iterdir()]


def test_a_cache_folder_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    home, file = tmp_path / "memory", tmp_path / "file"
    corpus.write_facts(home, ["one", "two"])
    file.write_text("in the way")
    library = Library.open([home], cache=file / "cache")
    library.load()
    assert library.snapshot.count == 2


def test_a_database_that_has_no_room_is_the_fault_of_the_disk_and_not_of_the_lines(
    tmp_path: Path,
) -> None:
    with ZipFile(RECORDED) as bundle:
        lines = bundle.read("rows/engram.jsonl").decode().splitlines()

    def work() -> None:
        with pytest.raises(SaveError, match="SQLite"):
            rebuild.rebuild(lines, tmp_path / "new.db")

    without_room(work)
    assert list(tmp_path.iterdir()) == []


def test_half_a_draft_is_not_kept(tmp_path: Path) -> None:
    def work() -> None:
        with pytest.raises(SaveError, match="no draft"):
            drafts.new_draft("x" * 2 * ROOM, tmp_path)

    without_room(work)
    assert list((tmp_path / drafts.FOLDER).iterdir()) == []


def test_half_a_copy_of_a_good_file_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / ("long" * 20) / "items.json"
    path.parent.mkdir()
    without_room(lambda: _none(backups.save_copy(path, b"[]", tmp_path / "state")))
    assert not [found for found in (tmp_path / "state").rglob("*") if found.is_file()]


def _none(value: object) -> None:
    assert value is None


def test_a_displaced_file_stays_where_its_backup_has_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backups are on another file system, which is full."""

    def other_device(old: object, new: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    path, displaced, data = tmp_path / "note.md", tmp_path / "displaced", b"x" * 2 * ROOM
    displaced.write_bytes(data)
    backups.save_copy(path, b"old", tmp_path / "state")
    monkeypatch.setattr(os, "rename", other_device)

    def work() -> None:
        with pytest.raises(OSError, match="large"):
            backups.move_in(path, displaced, "digest", tmp_path / "state")

    without_room(work)
    assert displaced.read_bytes() == data
    assert len(backups.list_backups(path, tmp_path / "state")) == 1
