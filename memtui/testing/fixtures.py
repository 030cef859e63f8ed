"""What the conformance tests work on: the format, a copy of its sample, and folder contents."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

import pytest

from memtui.stores import registry
from memtui.stores.format import Format

Limit = Callable[[float], AbstractContextManager[None]]


class FormatFixtures:
    """The fixtures of all conformance tests; a subclass names the format and its sample."""

    format: ClassVar[Format]
    sample_store: ClassVar[Path]
    """A folder that holds a small store: memories of every kind, at least 15 that can be edited
    where the store is writable."""

    def copy_sample(self, known: Format, place: Path) -> Path:
        """Copy the sample to this place, which does not exist yet. Returns the place."""
        shutil.copytree(self.sample_store, place)
        return place

    @pytest.fixture
    def known(self) -> Format:
        """The format."""
        return self.format

    @pytest.fixture(autouse=True)
    def registered(self, known: Format, monkeypatch: pytest.MonkeyPatch) -> None:
        """The registry knows the format, also where its package is not installed."""
        names = [each.name for each in registry.formats()]
        if known.name not in names:
            every = (*registry.formats(), known)
            monkeypatch.setattr(registry, "formats", lambda: every)

    @pytest.fixture
    def place(self, known: Format, tmp_path: Path) -> Path:
        """A folder that holds a copy of the sample."""
        return self.copy_sample(known, tmp_path / known.name)

    @pytest.fixture
    def state(self, tmp_path: Path) -> Path:
        """Where memtui keeps its journal."""
        return tmp_path / "state"

    @pytest.fixture
    def limit(self) -> Limit:
        """Fails what takes longer than so many seconds, also where it hangs in a system call."""
        return time_limit


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what takes longer than this."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"it took longer than {seconds:g} s")

    former = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


@contextmanager
def forked(
    function: Callable[..., None], *arguments: Any
) -> Iterator[tuple[ForkProcess, Connection]]:
    """Run `function(connection, *arguments)` in a forked process, which knows the same formats."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=function, args=(theirs, *arguments))
    process.start()
    theirs.close()
    try:
        yield process, ours
    finally:
        ours.close()
        process.join(60)
        if process.is_alive():
            process.kill()


def paths(root: Path) -> Iterator[Path]:
    """The folder and everything in it, links not followed."""
    yield root
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            yield Path(folder, name)


def fingerprint(root: Path) -> dict[str, tuple[object, ...]]:
    """Name -> what stat says (but for the time of the last look) and the hash of the content."""
    return {os.fsdecode(os.fspath(path)): _mark(path) for path in paths(root)}


def _mark(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    content = ""
    if stat.S_ISREG(found.st_mode):
        content = hashlib.sha256(_bytes(path)).hexdigest()
    return (
        found.st_mode,
        found.st_ino,
        found.st_nlink,
        found.st_uid,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        content,
    )


def contents(root: Path, *, beside: bool = False) -> dict[str, bytes]:
    """Every file's bytes by its path in the folder; memtui's own `.memtui` only if asked for."""
    return {
        str(path.relative_to(root)): _bytes(path)
        for path in paths(root)
        if path.is_file() and not path.is_symlink() and (beside or ".memtui" not in path.parts)
    }


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except PermissionError:
        return b"(no right to read it)"


def differences(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Names of files that are not what they were."""
    return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))
