"""Backups: which versions of a file are kept, for how long, and which one is given back."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.files import backups
from memtui.files.backups import Backup

Clock = Callable[[float], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store" / "items.json"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets the time, in Unix seconds."""

    def to(seconds: float) -> None:
        monkeypatch.setattr(time, "time", lambda: seconds)
        monkeypatch.setattr(time, "time_ns", lambda: int(seconds * 1e9))

    return to


def displaced(path: Path, content: bytes, state: Path) -> Backup:
    """Back up this content as a save does, by moving the file that it displaced."""
    path.parent.mkdir(exist_ok=True)
    out = path.parent / ".out"
    out.write_bytes(content)
    out.chmod(0o644)
    return backups.move_in(path, out, backups.digest(content), state)


def contents(path: Path, state: Path) -> list[bytes]:
    return [backup.read() for backup in backups.list_backups(path, state)]


def test_a_backup_is_private_named_by_its_file_and_listed_with_its_time(
    path: Path, state: Path, clock: Clock
) -> None:
    clock(1_700_000_000.5)
    made = displaced(path, b"[1]", state)
    copied = backups.save_copy(path, b"[2]", state)
    assert backups.list_backups(path, state) == [copied, made]
    assert [(made.path, made.time, made.digest)] == [
        (path, 1_700_000_000.5, backups.digest(b"[1]"))
    ]
    assert os.listdir(path.parent) == []
    for file in (made.file, made.file.parent / "path"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.file.parent.stat().st_mode) == 0o700
    assert (made.file.parent / "path").read_bytes() == os.fsencode(path)
    assert backups.list_backups(path.with_name("other.json"), state) == []


def test_the_newest_is_first_after_more_than_nine(path: Path, state: Path) -> None:
    expected = [str(number).encode() for number in range(12)]
    for content in expected:
        displaced(path, content, state)
    assert contents(path, state) == expected[::-1]


def test_files_of_other_names_in_the_folder_are_no_backups(path: Path, state: Path) -> None:
    folder = displaced(path, b"[]", state).file.parent
    for name in ("x-1-a", "1-x-a", "1-1", "1-1-a-b", "notes.txt"):
        (folder / name).write_bytes(b"stray")
    assert contents(path, state) == [b"[]"]


def test_backups_of_another_time_give_way_to_newer_ones(
    path: Path, state: Path, clock: Clock
) -> None:
    clock(1000.0)
    for number in range(7):
        displaced(path, b"%d" % number, state)
    clock(1000.0 + backups.RECENT)
    displaced(path, b"7", state)
    assert len(contents(path, state)) == 8  # a program may still have them open
    clock(1000.0 + backups.RECENT + 0.1)
    displaced(path, b"8", state)
    assert contents(path, state) == [b"8", b"7", b"6", b"5", b"4"]


def test_a_file_that_is_saved_all_the_time_keeps_a_limited_number(
    path: Path, state: Path, clock: Clock
) -> None:
    clock(1000.0)
    for number in range(backups.MAX_RECENT + 2):
        displaced(path, b"%d" % number, state)
    found = contents(path, state)
    assert (len(found), found[0], found[-1]) == (backups.MAX_RECENT, b"51", b"2")


def test_what_a_program_wrote_late_is_found_and_not_deleted(
    path: Path, state: Path, clock: Clock
) -> None:
    clock(1000.0)
    late = displaced(path, b"old", state)
    late.file.write_bytes(b"old, and more")
    for number in range(6):
        clock(2000.0 + 100 * number)
        backups.save_copy(path, b"%d" % number, state)
    assert contents(path, state) == [b"5", b"4", b"3", b"2", b"1", b"old, and more"]
    assert backups.find_late_writes(path, state) == [late]
    late.file.unlink()
    assert not late.is_intact


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("items.json", b'[{"id": 1}'),
        ("items.json", b""),
        ("items.json", b"\0\0\0"),
        ("note.md", b""),
        ("note.md", b" \t\r\n\0"),
    ],
)
def test_a_broken_version_is_passed_over_for_the_last_good_one(
    path: Path, state: Path, name: str, broken: bytes
) -> None:
    path = path.with_name(name)
    assert backups.last_good(path, state) is None
    good = displaced(path, b'[{"id": 1}]', state)
    displaced(path, broken, state)
    assert _last_good(path, state) == good.file


def test_a_text_that_is_no_json_is_good_where_none_is_expected(path: Path, state: Path) -> None:
    note = path.with_name("note.md")
    displaced(note, b"[1]", state)
    newer = displaced(note, b"[1", state)
    assert _last_good(note, state) == newer.file


def _last_good(path: Path, state: Path) -> Path | None:
    found = backups.last_good(path, state)
    return found.file if found else None


def test_a_copy_of_the_newest_content_is_not_made_twice(path: Path, state: Path) -> None:
    assert backups.save_copy(path, b"a", state) is not None
    assert backups.save_copy(path, b"a", state) is None
    assert backups.save_copy(path, b"b", state) is not None
    assert backups.save_copy(path, b"a", state) is not None
    assert contents(path, state) == [b"a", b"b", b"a"]


def test_copies_beyond_the_number_are_dropped_too(path: Path, state: Path, clock: Clock) -> None:
    for number in range(backups.MAX_BACKUPS + 3):
        clock(1000.0 + 100 * number)
        backups.save_copy(path, b"%d" % number, state)
    assert len(contents(path, state)) == backups.MAX_BACKUPS


def test_old_backups_go_but_the_newest_of_each_file_stays(
    path: Path, state: Path, clock: Clock
) -> None:
    other, now = path.with_name("other.json"), 1_700_000_000.0
    clock(now - backups.LONGEST - 1)
    displaced(path, b"older", state)
    displaced(other, b"only", state)
    clock(now - backups.LONGEST)
    displaced(path, b"old", state)
    clock(now)
    displaced(path, b"new", state)
    backups.prune(state, now)
    assert contents(path, state) == [b"new", b"old"]
    assert contents(other, state) == [b"only"]


def test_the_oldest_go_where_all_together_are_too_large(
    path: Path, state: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backups, "LARGEST_TOTAL", 30)
    other = path.with_name("other.json")
    for number, (file, size) in enumerate([(path, 10), (other, 10), (path, 10), (other, 10)]):
        clock(1000.0 + number)
        displaced(file, b"x" * size, state)
    backups.prune(state, 2000.0)
    assert [len(contents(file, state)) for file in (path, other)] == [1, 2]
    backups.prune(state / "none", 2000.0)


def test_all_backups_of_a_file_are_deleted_with_it(path: Path, state: Path) -> None:
    other = path.with_name("other.json")
    displaced(path, b"secret", state)
    displaced(other, b"other", state)
    backups.delete_backups(path, state)
    assert (contents(path, state), contents(other, state)) == ([], [b"other"])
    assert not [
        file for file in state.rglob("*") if file.is_file() and b"secret" in file.read_bytes()
    ]


def test_stamps_are_read_as_they_were_noted(path: Path, state: Path) -> None:
    assert backups.read_stamps(path, state) == {}
    displaced(path, b"[]", state)
    backups.write_stamps(path, state, {"a": "1", "b": "2"})
    assert backups.read_stamps(path, state) == {"a": "1", "b": "2"}
    (file,) = state.rglob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for damaged in (b"[1]", b"{", b"\xff", b'{"a": 1}'):
        file.write_bytes(damaged)
        expected = {"a": "1"} if damaged.startswith(b'{"') else {}
        assert backups.read_stamps(path, state) == expected
