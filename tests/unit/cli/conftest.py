"""A command run in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memtui.cli.main import run
from tests.forked import Forked


@pytest.fixture(scope="session")
def forked() -> Iterator[Forked]:
    """For commands that need a process of their own."""
    with Forked() as process:
        yield process


@pytest.fixture
def call(own_places: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs a command with settings, state, cache and home of its own; returns the exit code."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.delenv("MEMTUI_STORES", raising=False)
    (tmp_path / "person").mkdir()
    monkeypatch.chdir(tmp_path / "person")
    return lambda *arguments: run([str(argument) for argument in arguments])
