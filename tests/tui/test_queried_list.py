"""A list of a store that is asked, on the screen: pages on their way, jumps, not connected."""

from __future__ import annotations

import random
import threading
from collections.abc import Collection, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memtui.changes import Act
from memtui.errors import NotConnected
from memtui.library import Library
from memtui.model import IMPORTANCES, Memory, Place
from memtui.query import Query
from memtui.stores.queryable import (
    Accuracy,
    Answer,
    Changed,
    FoundFacets,
    Page,
    Position,
    QueryableStore,
)
from memtui.testing.asked import AskedMemories

from .stage import NOW, stage


def make(count: int) -> list[Memory]:
    """Memories of two years, the first of them the newest."""
    chance = random.Random(5)
    return [
        Memory(
            ref=f"team:{number:06}",
            id=f"{number:06}",
            store="team",
            kind="fact",
            type=chance.choice(["decision", "person", "task"]),
            content=f"Memory {number} about {chance.choice(['tea', 'the queue', 'a release'])}",
            entity=chance.choice(["people/alice", "people/bob", "shop-api"]),
            importance=chance.choice(IMPORTANCES),
            created=NOW - timedelta(minutes=number * 700 * 24 * 60 / count),
            origin=Place(""),
        )
        for number in range(count)
    ]


class SlowMemories(AskedMemories):
    """Answers when it is let to, or says that it is not connected."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        super().__init__(memories, "team")
        self.gate = threading.Event()
        self.gate.set()
        self.counting = threading.Event()
        self.counting.set()
        self.fault: NotConnected | None = None
        self.watch_notices_it = True
        self.changed = threading.Event()
        self.cancelled = 0

    def _wait(self) -> None:
        self.gate.wait(60)
        if self.fault is not None:
            raise self.fault

    def find(
        self, query: Query, after: Position | None, limit: int, *, backwards: bool = False
    ) -> Page:
        self._wait()
        return super().find(query, after, limit, backwards=backwards)

    def answer(self, query: Query, limit: int, at_most: int) -> Answer:
        self._wait()
        return super().answer(query, limit, at_most)

    def facets(self, query: Query) -> FoundFacets:
        """As of a sample, where there are many; when counting is let to begin."""
        self.counting.wait(60)
        found = super().facets(query)
        is_sampled = sum(found.counts["kind"].values()) > 1_500
        return FoundFacets(found.counts, Accuracy.ABOUT if is_sampled else Accuracy.EXACT)

    def get(self, refs: Collection[str]) -> tuple[Memory, ...]:
        self._wait()
        return super().get(refs)

    def changed_since(self, mark: str) -> Changed:
        self._wait()
        return super().changed_since(mark)

    def wait_for_change(self, timeout: float) -> bool:
        found = self.changed.wait(min(timeout, 0.05))
        self.changed.clear()
        if self.fault is not None and self.watch_notices_it:
            raise self.fault
        return found

    def cancel(self) -> None:
        self.cancelled += 1


def opened(*stores: QueryableStore) -> Any:
    return lambda: Library(stores, now=lambda: NOW)


@pytest.mark.slow
async def test_rows_on_their_way_are_painted_and_filled(tmp_path: Path) -> None:
    store = SlowMemories(make(2_000))
    async with stage(tmp_path, (110, 30), open_library=opened(store)) as on:
        await on.ready()
        assert "1 of about 2,000" in on.text()
        store.gate.clear()
        await on.handle("end")
        assert "Memory " not in on.text()
        assert "····" in on.text()
        assert on.browse.memories.memory is None
        assert on.browse.refusal("history") == "this memory is on its way"
        store.gate.set()
        await on.sees("Memory 1999 about")
        assert "about 100 %" in on.text()
        await on.until(lambda: on.browse.detail.memory, "the memory is shown")
        await on.press("home")
        await on.sees("1 of about 2,000")
        await on.sees("Memory 0 about")


@pytest.mark.slow
async def test_a_random_walk_of_keys_shows_the_list_as_it_is_read_whole(tmp_path: Path) -> None:
    memories = make(4_000)
    store = SlowMemories(memories)
    chance = random.Random(11)
    keys = ["down", "up", "pagedown", "pageup", "end", "home", "ctrl+d", "pagedown", "down"]
    async with stage(tmp_path, (90, 24), open_library=opened(store)) as on:
        await on.ready()
        shown = on.browse.memories
        for _ in range(60):
            if chance.random() < 0.2:
                shown.go(chance.randrange(len(shown.slots)))
                await on.settle()
            else:
                await on.burst(*[chance.choice(keys)] * chance.choice([1, 1, 2, 9]))
            await on.until(lambda: shown.memory is not None, "the row is here")
            window = shown.window
            assert window is not None
            on.text()
            await on.settle()
            view = range(shown.top, min(shown.top + shown.page, len(window)))
            names = [line.memory.id for line in window.run.lines]
            first = int(names[0])
            assert names == [f"{each:06}" for each in range(first, first + len(names))]
            assert {*view} <= {*window.here}
            if window.run.is_numbered:
                assert window.here.start == first
            assert abs(window.here.start - first) < 80, "a jump by time lands near"


@pytest.mark.slow
async def test_a_store_that_goes_away_leaves_its_pages_and_says_so(tmp_path: Path) -> None:
    store = SlowMemories(make(300))
    async with stage(tmp_path, (110, 30), open_library=opened(store)) as on:
        await on.ready()
        await on.press("down")
        store.fault = NotConnected("the server does not answer", where="team")
        await on.sees("IS NOT CONNECTED")
        assert "as of 2026-11-21" in on.text()
        assert "Memory 1 about" in on.text()
        library, memory = on.browse.worker.library, on.browse.memories.memory
        assert library is not None
        assert memory is not None
        name = library.names.of("team")
        assert f"{name} does not answer" in library.refusal(Act.EDIT, memory)
        assert f"{name} IS NOT CONNECTED" in on.text()
        await on.press("slash")
        await on.type("release")
        await on.sees("release")
        hits = [line for line in on.text().split("\n") if "Memory" in line and "about" in line]
        assert hits
        assert all("release" in line for line in hits)
        await on.press("escape", "escape")
        store.fault = None
        await on.until(lambda: "CONNECTED" not in on.text(), "it is back")
        await on.sees("of 300")


@pytest.mark.slow
async def test_what_others_change_appears_by_itself(tmp_path: Path) -> None:
    store = SlowMemories(make(900))
    async with stage(tmp_path, (110, 30), open_library=opened(store)) as on:
        await on.ready()
        await on.press(*["pagedown"] * 12)
        under = on.browse.memories.memory
        assert under is not None
        number = int(under.id)
        assert number > 100
        theirs = replace(under, content="Changed by a colleague")
        newer = replace(under, ref="team:new", id="new", created=NOW, content="Just learned")
        store.change([under.ref], [theirs, newer])
        store.changed.set()
        await on.sees("Changed by a colleague")
        assert on.browse.memories.memory == theirs
        await on.press("home")
        await on.sees("Just learned")


@pytest.mark.slow
async def test_acts_on_too_many_and_likeness_are_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memtui.tui.controllers.queried.MAX_MARKED", 1_000)
    store = SlowMemories(make(2_000))
    async with stage(tmp_path, (110, 30), toasts=True, open_library=opened(store)) as on:
        await on.ready()
        await on.press("*")
        await on.sees("More than 1,000 memories")
        assert not on.browse.memories.marked
        await on.press("slash")
        await on.type("release sort:new")
        await on.press("enter", "*")
        await on.until(lambda: on.browse.memories.marked, "they are marked")
        marked = on.browse.memories.marked
        assert len(marked) == sum("release" in memory.content for memory in make(2_000))
        read = on.browse.worker.reader(marked)()
        assert len(read) == len(marked)
        await on.press("escape", "M")
        await on.sees("needs all memories here")


@pytest.mark.slow
async def test_all_are_marked_also_where_one_is(tmp_path: Path) -> None:
    store = SlowMemories(make(6_000))
    async with stage(tmp_path, (110, 30), open_library=opened(store)) as on:
        await on.ready()
        await on.press("space", "*")
        await on.until(lambda: len(on.browse.memories.marked) == 6_000, "all are marked")
        await on.press("*")
        assert not on.browse.memories.marked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "watch_reports_it"),
    [(0.01, False), (1_000, True)],
    ids=["its page is asked for again", "the whole list is asked for anew"],
)
async def test_the_end_is_shown_when_a_store_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, watch_reports_it: bool
) -> None:
    monkeypatch.setattr("memtui.tui.controllers.queried.RETRY_SECONDS", seconds)
    store = SlowMemories(make(6_000))
    store.watch_notices_it = False  # if it came first, the end would be that of the rows here
    async with stage(tmp_path, (110, 30), open_library=opened(store)) as on:
        await on.ready()
        store.fault = NotConnected("the server does not answer", where="team")
        await on.press("G")
        await on.sees("IS NOT CONNECTED")
        store.fault = None
        if watch_reports_it:
            store.changed.set()
        await on.sees("Memory 5999 about")


@pytest.mark.slow
async def test_what_is_not_here_is_asked_for_in_a_job(tmp_path: Path) -> None:
    store, asked_in = SlowMemories(make(6_000)), list[threading.Thread]()
    get = store.get

    def asked(refs: Collection[str]) -> tuple[Memory, ...]:
        asked_in.append(threading.current_thread())
        return get(refs)

    store.get = asked  # type: ignore[method-assign]
    async with stage(tmp_path, (110, 30), open_library=opened(store)) as on:
        await on.ready()
        on.browse.go_to_memory("team:005999")
        await on.sees("Memory 5999 about")
        assert asked_in
        assert threading.main_thread() not in asked_in


def list_lines(text: str) -> list[tuple[int, str]]:
    """The lines of the list, and where their text begins."""
    return [(at, line[at:]) for line in text.split("\n") if (at := line.find("Memory ")) > 9]


@pytest.mark.slow
async def test_the_counts_come_after_the_hits_and_move_nothing(tmp_path: Path) -> None:
    store = SlowMemories(make(2_000))
    async with stage(tmp_path, (110, 30), open_library=opened(store)) as on:
        await on.ready()
        assert "sampled" not in on.text()
        about = on.browse.counted
        store.counting.clear()
        await on.press("slash")
        await on.handle(*"releas")
        newest = "best of the newest 200 of 200+"
        await on.until(lambda: newest in on.text(), "the hits are here", is_working=True)
        shown, hits = on.browse.memories, list(on.browse.memories.slots)
        assert on.browse.counted is about, "the counts of before until there are others"
        before, lines = shown.position, list_lines(on.text())
        assert len(lines) > 10
        store.counting.set()
        await on.sees("best of the newest 200 of 6")
        assert on.browse.counted is on.browse.found
        assert (shown.position, list(shown.slots)) == (before, hits)
        assert list_lines(on.text()) == lines


@pytest.mark.slow
async def test_an_order_as_a_chip_says_of_how_many_it_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memtui.library.queried_stores.MAX_RANKED", 300)
    store = SlowMemories(make(2_000))
    async with stage(tmp_path, (110, 30), open_library=opened(store)) as on:
        await on.ready()
        await on.press("slash")
        await on.type("sort:relevance release")
        await on.press("enter")
        await on.sees("best match first ×  best of the newest 300 of ")


@pytest.mark.slow
async def test_leaving_the_line_puts_all_candidates_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memtui.library.queried_stores.MAX_RANKED", 300)
    store = SlowMemories(make(2_000))
    async with stage(tmp_path, (110, 30), open_library=opened(store)) as on:
        await on.ready()
        for key in ("enter", "down", "tab"):
            await on.press("slash", "ctrl+u")
            await on.type("releas")
            await on.sees("best of the newest 200 of ")
            await on.press(key)
            await on.sees("best of the newest 300 of ")
            assert not on.browse.is_typing


async def test_a_newer_keystroke_cancels_the_question_before(tmp_path: Path) -> None:
    store = SlowMemories(make(300))
    async with stage(tmp_path, (110, 30), open_library=opened(store)) as on:
        await on.ready()
        await on.press("slash")
        store.gate.clear()
        await on.handle("t", "e", "a")
        assert store.cancelled >= 2
        store.gate.set()
        await on.until(lambda: on.browse.found and on.browse.found.words == ("tea",), "found")
