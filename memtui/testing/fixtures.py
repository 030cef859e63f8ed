"""What the conformance tests work on: the format, and a copy of its sample."""

from __future__ import annotations

import multiprocessing
import shutil
import signal
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
