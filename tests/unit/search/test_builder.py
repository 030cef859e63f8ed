"""The index made by another process."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from memtui import child_processes
from memtui.model import Memory
from memtui.query import parse_query
from memtui.search import columns, saved_rows, segment_files
from memtui.search.index_worker import build_index
from memtui.search.query_terms import analyze_terms
from memtui.search.whoosh_index import WhooshIndex
from memtui.testing.fixtures import time_limit

NOW = datetime(2026, 11, 20, tzinfo=UTC)
MEMORIES = [
    Memory(f"s:{n}", str(n), "s", "fact", content=f"memory number {n} of many") for n in range(40)
]


def generation(home: Path, memories: list[Memory]) -> Path:
    shard = saved_rows.SavedShard("all", "stamp", len(memories), (), True)
    return saved_rows.save(home, [shard], memories, columns.build(memories))


def found(home: Path, text: str) -> set[str]:
    with WhooshIndex(home) as index:
        (term,) = analyze_terms(parse_query(text, NOW).terms).optional
        return set(index.search(term) or ())


def test_arrays_are_made_and_progress_is_told(tmp_path: Path) -> None:
    folder = generation(tmp_path, MEMORIES)
    told: list[tuple[int, int]] = []
    assert build_index(
        "arrays", folder, lambda progress: told.append((progress.done, progress.total))
    )
    assert (0, 40) in told
    segment = segment_files.load_segment(folder)
    assert segment is not None
    assert segment.count == 40


@pytest.mark.slow
def test_whoosh_is_made_then_only_brought_up_to_date(tmp_path: Path) -> None:
    folder = generation(tmp_path, MEMORIES)
    assert build_index("whoosh", folder)
    assert found(tmp_path, "many") == {f"s:{n}" for n in range(40)}
    made = stat.S_IMODE((tmp_path / "whoosh").stat().st_mode), (tmp_path / "whoosh").stat().st_ino
    changed = [replace(MEMORIES[0], content="other words"), *MEMORIES[1:39]]
    assert build_index("whoosh", generation(tmp_path, changed))
    assert found(tmp_path, "many") == {f"s:{n}" for n in range(1, 39)}
    assert found(tmp_path, "other") == {"s:0"}
    assert made == (0o700, (tmp_path / "whoosh").stat().st_ino)


def test_a_child_that_fails_is_noticed(tmp_path: Path) -> None:
    assert not build_index("arrays", tmp_path / "nothing there")


def test_called_off(tmp_path: Path) -> None:
    assert not build_index("arrays", generation(tmp_path, MEMORIES), cancelled=lambda: True)


def test_a_child_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = tmp_path / "hang"
    hanging.write_text("#!/bin/sh\nexec sleep 600\n")
    hanging.chmod(0o700)
    monkeypatch.setattr(child_processes.sys, "executable", str(hanging))
    monkeypatch.setattr(child_processes, "SILENCE_LIMIT", 0.1)
    with time_limit(120):
        assert not build_index("arrays", tmp_path)


def test_modules_of_the_current_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").mkdir()
    folder = generation(tmp_path / "cache", MEMORIES)
    here = tmp_path / "cloned"
    here.mkdir()
    (here / "numpy.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(here)
    assert build_index("arrays", folder)
