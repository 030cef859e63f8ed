"""The index made by another process."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memtui import child_processes
from memtui.model import Memory
from memtui.search import columns, saved_rows
from memtui.search.index import memory_index
from memtui.search.index.index_worker import build_index
from memtui.testing.fixtures import time_limit

NOW = datetime(2026, 11, 20, tzinfo=UTC)
MEMORIES = [
    Memory(f"s:{n}", str(n), "s", "fact", content=f"memory number {n} of many") for n in range(40)
]


def generation(home: Path, memories: list[Memory]) -> Path:
    shard = saved_rows.SavedShard("all", "stamp", len(memories), (), True)
    return saved_rows.save(home, [shard], memories, columns.build(memories))


@pytest.mark.slow
def test_it_is_made_and_progress_is_told(tmp_path: Path) -> None:
    folder = generation(tmp_path, MEMORIES)
    told: list[tuple[int, int]] = []
    assert build_index(
        "index", folder, lambda progress: told.append((progress.done, progress.total))
    )
    assert (0, 40) in told
    segment = memory_index.load(folder)
    assert segment is not None
    assert segment.count == 40


@pytest.mark.slow
def test_a_child_that_fails_is_noticed(tmp_path: Path) -> None:
    assert not build_index("index", tmp_path / "nothing there")


def test_called_off(tmp_path: Path) -> None:
    assert not build_index("index", generation(tmp_path, MEMORIES), cancelled=lambda: True)


def test_a_child_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = tmp_path / "hang"
    hanging.write_text("#!/bin/sh\nexec sleep 600\n")
    hanging.chmod(0o700)
    monkeypatch.setattr(child_processes.sys, "executable", str(hanging))
    monkeypatch.setattr(child_processes, "SILENCE_LIMIT", 0.1)
    with time_limit(120):
        assert not build_index("index", tmp_path)


@pytest.mark.slow
def test_modules_of_the_current_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").mkdir()
    folder = generation(tmp_path / "cache", MEMORIES)
    here = tmp_path / "cloned"
    here.mkdir()
    (here / "numpy.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(here)
    assert build_index("index", folder)
