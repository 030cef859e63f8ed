"""An export appears whole and on disk; what a killed one left, the next one removes."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memtui.files.staging import write_file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


KILLED = """
import os, signal, sys
from pathlib import Path
from memtui.files.staging import write_file

def pieces():
    yield b"half"
    os.kill(os.getpid(), signal.SIGKILL)

write_file(Path(sys.argv[1]), pieces())
"""


def _killed(target: Path) -> None:
    """An export whose process is killed in the middle."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert done.returncode == -signal.SIGKILL


def test_the_next_export_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    _killed(tmp_path / "x.zip")
    (left,) = names(tmp_path)
    assert left.startswith(".x.zip.memtui-")
    write_file(tmp_path / "x.zip", [b"whole"])
    assert names(tmp_path) == ["x.zip"]


def test_only_temporary_files_of_exports_that_ended_are_removed(tmp_path: Path) -> None:
    """Not that of an export which is still at work, nor that of a save, nor a person's file."""
    mine = [".x.zip.memtui-0123456789abcdef", "x.memtui-01234567", ".x.memtui-0123456"]
    for name in mine:
        (tmp_path / name).touch()
    (tmp_path / ".x.memtui-0123abcd").mkdir()
    os.mkfifo(tmp_path / ".x.memtui-0123abce")
    before = names(tmp_path)

    def pieces() -> Iterator[bytes]:
        yield b"begun, "
        during = names(tmp_path)
        write_file(tmp_path / "inner", [b"whole"])
        assert names(tmp_path) == sorted([*during, "inner"])
        yield b"ended"

    write_file(tmp_path / "outer", pieces())
    assert names(tmp_path) == sorted([*before, "inner", "outer"])
    assert (tmp_path / "outer").read_bytes() == b"begun, ended"


def test_an_export_is_on_disk_before_it_is_named_and_its_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def watched_fsync(descriptor: int) -> None:
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        steps.append("folder" if folder else "file")
        fsync(descriptor)

    def watched_replace(old: Path, new: Path) -> None:
        steps.append("rename")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    write_file(tmp_path / "x.zip", [b"whole"])
    assert steps == ["file", "rename", "folder"]
