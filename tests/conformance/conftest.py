"""Every test that asks for a `known` format is run for each that the registry lists."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import FrameType

import pytest

from memtui.stores.format import Format
from memtui.stores.registry import FORMATS

from .samples import sample


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "known" in metafunc.fixturenames:
        metafunc.parametrize("known", FORMATS, ids=[format.name for format in FORMATS])


@pytest.fixture
def place(known: Format, tmp_path: Path) -> Path:
    """A folder that holds a small store of this format."""
    return sample(known, tmp_path / known.name)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def limit() -> Callable[[float], AbstractContextManager[None]]:
    """Fails what takes longer than so many seconds, also where it hangs in a system call."""

    @contextmanager
    def within(seconds: float) -> Iterator[None]:
        def stop(_signal: int, _frame: FrameType | None) -> None:
            raise TimeoutError(f"it took longer than {seconds:g} s")

        former = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, former)

    return within
