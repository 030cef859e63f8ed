"""Locks: beside other memtui processes, and beside programs that lock the file themselves."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

import pytest

from memtui.errors import SaveError
from memtui.files import locking
from memtui.files.locking import lock_file, locked, make_foreign_lock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "MEMORY.md"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def is_free(file: Path) -> bool:
    descriptor = os.open(file, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_a_file_is_locked_until_the_save_ends_even_if_it_fails(path: Path, state: Path) -> None:
    own = lock_file(path, state)
    with locked(path, state):
        assert not is_free(own)
        assert stat.S_IMODE(own.stat().st_mode) == 0o600
        with locked(path.with_name("other.md"), state):
            pass
    assert is_free(own)
    with pytest.raises(ZeroDivisionError), locked(path, state):
        raise ZeroDivisionError
    assert is_free(own)
    assert os.listdir(path.parent) == ["state"]


def test_the_lock_of_the_files_own_program_is_taken_too(
    path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = path.with_name("MEMORY.md.lock")
    make_foreign_lock(path)
    assert stat.S_IMODE(foreign.stat().st_mode) & 0o700 == 0o600
    with locked(path, state):
        assert not is_free(foreign)
    assert is_free(foreign)
    monkeypatch.setattr(locking, "PATIENCE_WITH_OTHERS", 0.01)
    descriptor = os.open(foreign, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(SaveError, match="another program has locked it") as caught:
        locked(path, state).__enter__()
    assert (caught.value.where, caught.value.do) == (str(path), "try again")
    assert is_free(lock_file(path, state))
    os.close(descriptor)
    with locked(path, state):
        pass


def test_a_lock_that_is_released_soon_is_waited_for(
    path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    with locked(path, state):
        pass
    descriptor = os.open(lock_file(path, state), os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 6:
            os.close(descriptor)

    monkeypatch.setattr(locking.time, "sleep", sleep)
    with locked(path, state):
        pass
    assert pauses == [0.0005, 0.001, 0.002, 0.004, 0.004, 0.004]


def test_a_lock_that_cannot_be_made_is_said_to_be_so(path: Path, state: Path) -> None:
    state.write_text("a file where the folder should be")
    with pytest.raises(SaveError, match="no lock can be made") as caught:
        locked(path, state).__enter__()
    assert (caught.value.where, caught.value.do) == (str(path), "nothing was saved")
    make_foreign_lock(path.parent / "gone" / "MEMORY.md")  # as beside programs that do not lock


def test_what_is_no_file_in_place_of_a_lock_does_not_stop_a_save(path: Path, state: Path) -> None:
    os.mkfifo(path.with_name("MEMORY.md.lock"))
    with locked(path, state):  # nobody writes into the pipe
        pass
    path.with_name("MEMORY.md.lock").unlink()
    path.with_name("MEMORY.md.lock").symlink_to("target")
    path.with_name("target").touch()
    with locked(path, state):
        assert is_free(path.with_name("target"))


def test_links_in_place_of_locks_are_not_followed(path: Path, state: Path) -> None:
    target = path.with_name("target")
    path.with_name("MEMORY.md.lock").symlink_to(target)
    make_foreign_lock(path)
    with locked(path, state):
        pass
    lock_file(path, state).unlink()
    lock_file(path, state).symlink_to(target)
    with pytest.raises(SaveError):
        locked(path, state).__enter__()
    assert not target.exists()
