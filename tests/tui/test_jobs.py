"""A fault in a background job ends the app with one line; what nobody waits for lets keys pass."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memtui.bundle import exporting
from memtui.cli import main
from memtui.library import Library
from memtui.tui import jobs, previews, transfer
from memtui.tui.jobs import Job
from tests.long_run import share

from .sample_stage import ChangingStage, changing
from .stage import fact, stage, write_store

AGENT, OTHER = "agent-memory", "simple-memory"
LONGEST_WAIT = 120.0
JOBS: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "refresh": (Library, "refresh", ("f5",)),
    "query": (Library, "find", ("/", "a")),
    "statistics": (Library, "statistics", ("/", "a")),
    "references": (Library, "lineage", ("down",)),
    "history": (Library, "lineage", ("H",)),
    "counts of a picker": (Library, "find", ("r",)),
    "similar memories": (Library, "similar", ("M",)),
    "planning": (Library, "plan", ("d",)),
    "planning what a form says": (Library, "plan", ("e", "x")),
    "diff of a form": (previews, "diff_files", ("e", "x", "ctrl+s")),
    "values offered in a form": (Library, "find", ("e",)),
    "writing": (Library, "apply", ("e", "x", "ctrl+s")),
    "undo": (Library, "undo", ("u",)),
    "log": (Library, "log", ("C",)),
    "export": (exporting, "export_memories", ("x", "enter")),
    "import": (transfer, "read_document", ("I", "a", "enter")),
    "copy": (transfer, "plan_import", ("c",)),
}
"""Kind of job -> what raises in it, and the keys that start it. All are started by one function, so
that the usual run tries a third of them."""


def broken(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("a fault")


@pytest.mark.slow
@pytest.mark.parametrize("kind", share([*JOBS], 2, 3))
async def test_a_programming_error_in_a_job_ends_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    owner, name, keys = JOBS[kind]
    async with changing(tmp_path, AGENT, OTHER) as on:
        await on.stand(on.first(AGENT, kind="fact", status="active").ref)
        monkeypatch.setattr(owner, name, broken)
        await press_until_it_ends(on, keys)
        assert isinstance(on.app.fault, ZeroDivisionError)
        assert on.app.return_code == 1
        on.app.fault = None  # the stage would raise it


async def press_until_it_ends(on: ChangingStage, keys: tuple[str, ...]) -> None:
    """Press keys as a person does, who waits for each to be handled."""
    end = time.monotonic() + LONGEST_WAIT
    *first, last = keys
    for key in first:
        if on.app.fault is None:
            on._strike(key)
            while on.app.fault is None and not _is_done(on):
                await asyncio.sleep(0.01)  # a form that opens late would let the next key through
            if on.app.fault is None:
                await on._handled()
    on._strike(last)
    while on.app.fault is None and time.monotonic() < end:
        await asyncio.sleep(0.01)


def _is_done(on: ChangingStage) -> bool:
    return on.app.key_queue.is_idle and all(worker.is_finished for worker in on.app.workers)


def test_a_programming_error_is_one_line_to_the_person(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("MEMTUI_STATE", str(tmp_path))
    monkeypatch.setattr(main, "_is_opening", broken)
    assert main.run([str(tmp_path)]) == 1
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert line.startswith("memtui: ")
    assert "ZeroDivisionError" in line


@pytest.fixture
def keys_never_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a key has been pressed, for an hour."""
    monkeypatch.setattr(jobs, "KEY_REST", 3600.0)
    monkeypatch.setattr(jobs, "LONGEST_REST", 3600.0)


async def until(is_true: Callable[[], object]) -> None:
    end = time.monotonic() + LONGEST_WAIT
    while not is_true() and time.monotonic() < end:
        await asyncio.sleep(0.002)
    assert is_true()


@pytest.mark.usefixtures("keys_never_rest")
async def test_work_that_nobody_waits_for_stands_still_while_a_key_is_held(root: Path) -> None:
    async with stage(root) as on:
        pieces = 0

        def work(job: Job) -> None:
            nonlocal pieces
            while not job.rest():
                pieces += 1
                time.sleep(0.001)

        job = on.browse.worker.start("test", work)
        await until(lambda: pieces > 2)
        await on.handle("down")
        before = pieces
        await on.handle(*("down", "up") * 5)
        assert pieces <= before + 1  # the one that had begun
        on.app.key_queue.last_input -= 3600
        await until(lambda: pieces > before + 2)
        job.stop()


async def test_a_held_key_does_not_stop_that_work_for_ever(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stage(root) as on:
        monkeypatch.setattr(jobs, "KEY_REST", 3600.0)
        monkeypatch.setattr(jobs, "LONGEST_REST", 0.01)
        await on.handle("down")
        asked: list[bool] = []
        on.browse.worker.start("test", lambda job: [job.rest() for _ in "abc"], asked.extend)
        await until(lambda: asked == [False] * 3)


@pytest.mark.slow
@pytest.mark.usefixtures("keys_never_rest")
async def test_links_and_backups_wait_for_a_held_key_foreign_changes_do_not(
    root: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    opened = threading.Event()

    def open_library() -> Library:
        opened.wait()
        return Library.open([root], state=state)

    async with stage(root, state=state, open_library=open_library) as on:
        worker, backups = on.browse.worker, state / "kept"
        await on.handle("down")
        opened.set()
        await until(lambda: on.browse.is_ready)
        write_store(tmp_path / "store", {"late": [fact(70, "Written meanwhile", "2026-11-20")]})
        worker.refresh()
        await on.handle("down", "up")
        await until(lambda: "Written meanwhile" in on.headlines())
        assert not worker.has_links
        assert not backups.exists()
        on.app.key_queue.last_input -= 3600
        await until(lambda: worker.has_links and backups.exists())


async def test_a_result_on_its_way_is_dropped_for_a_newer_job(root: Path) -> None:
    async with stage(root) as on:
        told: list[str] = []
        begun, may_end = threading.Event(), threading.Event()

        def work(_: Job) -> str:
            begun.set()
            may_end.wait()
            return "first"

        begin = on.browse.worker.start
        first = begin("test", work, told.append)
        await until(begun.is_set)
        may_end.set()
        first.ended.wait()  # its result is posted, and nothing has handled it
        begin("test", lambda _: "second", told.append)
        begin("other", lambda _: "of another group", told.append)
        begin("test", lambda _: "beside it", told.append, replaces=False)
        await on.settle()
        assert sorted(told) == ["beside it", "of another group", "second"]
