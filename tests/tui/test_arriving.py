"""Where the cursor is while stores are still being read and rows come in above it."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from memtui.config import session
from memtui.config.session import Session
from memtui.library import Library, loaded_stores
from memtui.library.time_views import read_times
from memtui.query import Query, parse_query
from memtui.tui import library_worker
from memtui.tui.layout import Pane
from memtui.tui.screens import browse
from memtui.tui.widgets.memory_list import MemoryList

from .stage import NOW, Stage, fact, stage, write_store

STORES = 3
ROWS = 40


class SlowDisk:
    """Stores, each newer than the one before, that are read when the test says so."""

    def __init__(self, folder: Path) -> None:
        self.roots = [
            write_store(
                folder / f"{name}",
                {f"of-{name}": [_numbered(at, number) for number in range(ROWS)]},
            )
            for at, name in enumerate("abc"[:STORES])
        ]
        self._gates = [threading.Event() for _ in self.roots]

    def open(self) -> Library:
        library = Library.open(self.roots, cache=None, now=lambda: NOW)
        for store, gate in zip(library.stores, self._gates, strict=True):
            _wait_before_scan(store, gate)
        return library

    @asynccontextmanager
    async def start(self, **more: Any) -> AsyncIterator[Stage]:
        """The app, before anything has been read."""
        async with stage(self.roots[0], open_library=self.open, **more) as on:
            try:
                yield on
            finally:
                for gate in self._gates:
                    gate.set()

    def let(self, number: int) -> None:
        """The store with this number is read now."""
        self._gates[number].set()


def _numbered(store: int, number: int) -> dict[str, Any]:
    return fact(100 * store + number, f"Fact {number} of {store}", f"2026-0{store + 3}-01")


def _wait_before_scan(store: Any, gate: threading.Event) -> None:
    scan = store.scan

    def slow(*cancelled: Any) -> Any:
        gate.wait()
        return scan(*cancelled)

    store.scan = slow


async def rows(on: Stage, count: int) -> None:
    """Wait for that many rows."""
    await on.until(lambda: len(on.browse.memories.slots) == count, f"{count} rows", is_working=True)


@pytest.fixture
def disk(tmp_path: Path) -> SlowDisk:
    return SlowDisk(tmp_path)


async def test_nobody_moved_the_cursor_so_it_stays_at_the_top(disk: SlowDisk) -> None:
    async with disk.start() as on:
        for number in range(STORES):
            disk.let(number)
            await rows(on, ROWS * (number + 1))
            assert (on.browse.memories.cursor, on.browse.memories.top) == (0, 0)
        await on.ready()
        memory = on.browse.memories.memory
        assert on.browse.memories.cursor == 0
        assert memory is not None
        assert memory.content == "Fact 0 of 2", "the newest store came last, and is on top"
        assert on.browse.detail.memory == memory


async def test_a_cursor_that_was_moved_stays_on_its_memory(disk: SlowDisk) -> None:
    async with disk.start() as on:
        disk.let(0)
        await rows(on, ROWS)
        await on.handle("j", "j")
        memory = on.browse.memories.memory
        for number in (1, 2):
            disk.let(number)
            await rows(on, ROWS * (number + 1))
            assert on.browse.memories.memory == memory
        await on.ready()
        assert on.browse.memories.cursor == 2 * ROWS + 2
        assert on.browse.detail.memory == memory


@pytest.mark.slow
async def test_what_changed_is_asked_of_all_stores(disk: SlowDisk) -> None:
    """`N` while stores were still being read compared those that were there, and said no word."""
    async with disk.start() as on:
        disk.let(0)
        await rows(on, ROWS)
        await on.handle("R", "t", *"2026", "minus", *"01", "minus", *"01", "enter")
        await on.until(lambda: "comparing" in on.text(), "it compares", is_working=True)
        for number in (1, 2):
            disk.let(number)
        await on.ready()
        await on.sees(f"{STORES * ROWS} added")


@pytest.mark.slow
async def test_every_batch_of_rows_is_shown_before_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While stores are read, a key waits for one thread less, and no search is made in vain."""
    monkeypatch.setattr(loaded_stores, "PUBLISH_EVERY", -1)  # each shard is a batch
    monkeypatch.setattr(loaded_stores, "READING_SHARE", 0)
    monkeypatch.setattr(loaded_stores, "GROWTH", 0)
    monkeypatch.setattr(library_worker, "LONGEST_SHOWING", 60)
    monkeypatch.setattr(browse, "LOOK_SECONDS", 0.001)
    shown: list[int] = []
    show = MemoryList.show

    def recorded_show(self: MemoryList, rows: Any, slots: Sequence[int], *a: Any, **k: Any) -> None:
        shown.append(len(slots))
        show(self, rows, slots, *a, **k)

    monkeypatch.setattr(MemoryList, "show", recorded_show)
    root = write_store(tmp_path, {f"of-{at}": [_numbered(at, 0)] for at in range(6)})
    async with stage(root) as on:
        await on.ready()
    assert shown[shown.index(2) :] == [2, 3, 4, 5, 6, 6], "each once, and all when they are whole"


async def test_a_store_that_is_read_at_once_is_shown_before_a_slow_one(
    disk: SlowDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with disk.start() as on:
        monkeypatch.setattr(loaded_stores, "PUBLISH_EVERY", -1)  # the first store takes long
        disk.let(0)
        await rows(on, ROWS)
        monkeypatch.setattr(loaded_stores, "PUBLISH_EVERY", 3600)
        disk.let(1)
        await rows(on, 2 * ROWS)


@pytest.mark.slow
async def test_what_is_typed_after_a_refused_edit_runs_no_command(disk: SlowDisk) -> None:
    async with disk.start(toasts=True) as on:
        disk.let(0)
        await rows(on, ROWS)
        for letter in ("e", *"dusk is at ten z", "enter", "d"):
            on._strike(letter)
        await on.handle("down")
        toasts = [toast.message for toast in on.app._notifications]
        assert toasts == ["The stores are still being opened."], "once, and calmly"
        assert on.app.screen is on.browse
        assert on.browse.pane is Pane.MEMORIES
        assert not any((on.browse.zoomed, on.browse.view.text, on.browse.memories.marked))
        assert on.browse.memories.cursor == 1, "a move is harmless"
        await on.handle("escape", "t")
        assert on.app.screen is not on.browse, "after escape a letter is a key again"
        disk.let(1)
        disk.let(2)
        await on.ready()


async def test_who_reads_the_first_memory_keeps_it(disk: SlowDisk) -> None:
    async with disk.start() as on:
        disk.let(0)
        await rows(on, ROWS)
        await on.handle("enter")
        memory = on.browse.detail.memory
        disk.let(1)
        await rows(on, 2 * ROWS)
        disk.let(2)
        await on.ready()
        assert on.browse.detail.memory == memory


@pytest.mark.slow
async def test_a_new_search_begins_at_its_top_again(disk: SlowDisk) -> None:
    async with disk.start() as on:
        disk.let(0)
        await rows(on, ROWS)
        await on.handle("j", "j", "/", *"fact")
        disk.let(1)
        await rows(on, 2 * ROWS)
        disk.let(2)
        await on.ready()
        assert on.browse.memories.cursor == 0


async def test_the_last_session_says_where(disk: SlowDisk, tmp_path: Path) -> None:
    state = tmp_path / "state"
    roots = (disk.roots[0],)  # what `stage` tells the app
    ref = f"agent-memory-2:{fact(107, '', '')['id']}"
    session.update(state, session.key_for(roots), lambda _: Session(selected=ref))
    async with disk.start(state=state) as on:
        for number in range(STORES):
            disk.let(number)
            await rows(on, ROWS * (number + 1))
        await on.ready()
        memory = on.browse.memories.memory
        assert memory is not None
        assert memory.content == "Fact 7 of 1"


@pytest.mark.slow
async def test_what_comes_later_leaves_the_cursor_on_its_memory(disk: SlowDisk) -> None:
    async with disk.start() as on:
        for number in range(STORES):
            disk.let(number)
        await on.ready()
        memory = on.browse.memories.memory
        write_store(disk.roots[2].parent, {"new": [fact(900, "Quite new", "2026-11-20")]})
        await on.press("f5")
        await on.sees("Quite new")
        assert on.browse.memories.memory == memory
        assert on.browse.memories.top == 0, "who looks at the top sees it come in"


async def test_an_answer_that_comes_late_does_not_take_the_place_of_a_newer_one(
    tmp_path: Path,
) -> None:
    """A search that is cancelled after its last look posts behind the one that replaced it."""
    async with stage(write_store(tmp_path), (120, 70)) as on:
        screen, library = on.browse, on.browse.worker.library
        assert library is not None
        wanted, former = (
            (library.statistics(found), library.timeline(found, None), read_times(found))
            for found in (library.find(Query()), library.find(parse_query("xylophone", NOW)))
        )
        screen.search_again()
        await on.settle()
        screen.statistics.show(())
        newest = screen._number
        screen.call_later(screen.show_overview, newest, *wanted)
        screen.call_later(screen.show_overview, newest - 1, *former)
        await on.settle()
        assert f"shown {wanted[0].total}" in " ".join(on.text().split())


@pytest.mark.slow
async def test_new_rows_above_the_view_are_counted_and_a_key_leads_there(tmp_path: Path) -> None:
    root = write_store(tmp_path, {"old": [_numbered(0, number) for number in range(60)]})
    async with stage(root) as on:
        await on.press(*["ctrl+d"] * 4)
        memory = on.browse.memories.memory
        write_store(tmp_path, {"new": [fact(900, "Written meanwhile", "2026-11-20")]})
        on.browse.worker.refresh()
        await on.sees("1 new above, ctrl+n")
        assert on.browse.memories.memory == memory
        await on.press("ctrl+n")
        assert on.browse.memories.memory is not None
        assert on.browse.memories.memory.content == "Written meanwhile"
        assert "new above" not in on.text()


@pytest.mark.slow
async def test_a_line_added_to_a_file_makes_no_other_line_of_it_new(tmp_path: Path) -> None:
    """All of them are as old as the file, and say how much of it is loaded."""
    root = tmp_path / "claude"
    index = root / "projects" / "-home-noor-shop" / "memory" / "MEMORY.md"
    index.parent.mkdir(parents=True)
    index.write_text("".join(f"- Rule number {number}\n" for number in range(60)))
    async with stage(root) as on:
        await on.sees("of 60")
        index.write_text(index.read_text() + "- Written meanwhile\n")
        os.utime(index, (1_000_000_000, 1_000_000_000))
        on.browse.worker.refresh()
        await on.sees("of 61")
        assert len(on.browse.memories.fresh) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "is_there"),
    [("fact", True), ("type:fact", True), ("-entity:elsewhere", True), ("absent", False)],
)
async def test_the_key_to_new_rows_works_in_a_search_and_with_filters(
    tmp_path: Path, line: str, is_there: bool
) -> None:
    """A new row that the search or a filter hides is named instead."""
    old = [_numbered(0, number) for number in range(60)]
    root = write_store(tmp_path, {"old": [*old, fact(800, "The absent one", "2026-01-01")]})
    async with stage(root, toasts=True) as on:
        await on.press("/")
        await on.type(line)
        await on.press("enter", *["ctrl+d"] * 4)
        write_store(tmp_path, {"new": [fact(900, "A fact written meanwhile", "2026-11-20")]})
        on.browse.worker.refresh()
        await on.until(lambda: on.browse.memories.fresh, "the new row has been read")
        await on.press("ctrl+n")
        memory = on.browse.memories.memory
        assert memory is not None
        assert (memory.content == "A fact written meanwhile") == is_there
        assert ("hidden by the search" in on.text()) != is_there


@pytest.mark.slow
async def test_a_filter_that_is_typed_never_empties_the_list(root: Path) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("type:")
        for letter in "decision":
            await on.type(letter)
            assert on.headlines(), on.query
