"""While nothing happens the stores are looked at rarely, if the system reports changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from textual.events import AppFocus

from memtui.tui.library_worker import LONGEST_PAUSE, SHORTEST_PAUSE, LibraryWorker

from .stage import Stage, fact, stage, write_store


class _Costly(LibraryWorker):
    """Every look at the stores has taken long."""

    _refresh_cost = property(lambda _: 60.0, lambda _, __: None)  # type: ignore[assignment]


async def _add(root: Path, number: int, words: str) -> None:
    write_store(root.parent, {f"new-{number}": [fact(number, words, "2026-11-20")]})


async def test_a_costly_look_is_repeated_rarely_but_at_once_on_focus(tmp_path: Path) -> None:
    root = write_store(tmp_path)
    async with stage(root) as on:
        worker = _costly_worker(on, is_watching=True)
        assert worker._pause == LONGEST_PAUSE
        worker.refresh()
        await on.settle()
        await _add(root, 71, "Seen when the window is looked at")
        worker.refresh_if_due()
        await on.settle()
        assert "Seen when" not in on.text()
        on.app.post_message(AppFocus())
        await on.sees("Seen when")


async def test_what_may_be_lost_is_looked_at_again_soon(tmp_path: Path) -> None:
    root = write_store(tmp_path)
    async with stage(root) as on:
        worker = _costly_worker(on, is_watching=True)
        shutil.rmtree(root)
        worker.refresh()
        await on.settle()
        assert worker._pause == SHORTEST_PAUSE
        worker.refresh()
        await on.settle()
        assert worker._pause == LONGEST_PAUSE


@pytest.mark.slow
async def test_where_the_system_reports_nothing_the_stores_are_looked_at(tmp_path: Path) -> None:
    root = write_store(tmp_path)
    async with stage(root) as on:
        worker = _costly_worker(on, is_watching=False)
        worker.refresh()
        await on.settle()
        await _add(root, 72, "Found without a report")
        worker.refresh_if_due()
        await on.sees("Found without")


def _costly_worker(on: Stage, *, is_watching: bool) -> LibraryWorker:
    """The worker, whose looks cost much, and whose watcher reports nothing any more; `is_watching`:
    it says that it would."""
    worker = on.browse.worker
    worker.__class__ = _Costly
    watcher = worker._watcher
    assert watcher is not None
    watcher.end()
    watcher._touched = lambda _: None
    watcher.is_watching = is_watching
    return worker
