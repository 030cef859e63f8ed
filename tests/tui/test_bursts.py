"""Keys that arrive at once: each acts on what the keys before it have asked for, however slow."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from memtui.library import Library
from memtui.library.finding import SearchResult
from memtui.query import Query
from memtui.tui.context_page import PackScreen

from .stage import NOW, Stage, stage

pytestmark = pytest.mark.textual

SLOW = 0.2
"""Seconds that a search takes: longer than a key that is pressed at once."""


class SlowLibrary(Library):
    """Answers later than the next key comes, as a large one does."""

    def find(self, query: Query, *arguments: Any) -> SearchResult:
        time.sleep(SLOW)
        return super().find(query, *arguments)


def slow_stage(root: Path, state: Path | None = None) -> Any:
    def opened() -> Library:
        return SlowLibrary.open([root], cache=None, state=state, now=lambda: NOW)

    return stage(root, state=state, open_library=opened)


def marked(on: Stage) -> list[str]:
    return [memory.headline for memory in on.browse.marked_memories()]


@pytest.mark.slow
@pytest.mark.parametrize("leave", ["enter", "down"])
async def test_a_key_after_a_search_is_for_a_row_that_was_searched_for(
    root: Path, leave: str
) -> None:
    async with slow_stage(root) as on:
        await on.ready()
        await on.burst("/", *"postgres", leave, "space")
        assert marked(on) == ["Use Postgres for the ledger, not SQLite"]


@pytest.mark.slow
async def test_a_key_after_a_filter_is_for_a_row_that_it_shows(root: Path) -> None:
    async with slow_stage(root) as on:
        await on.ready()
        await on.burst("t", "end", "enter", "space")
        assert 0 < len(on.headlines()) < 9
        assert marked(on) == on.headlines()[:1]


@pytest.mark.slow
async def test_a_key_after_another_order_is_for_the_list_in_that_order(root: Path) -> None:
    async with slow_stage(root) as on:
        await on.ready()
        await on.burst("b", "down", "enter", "g", "space")
        assert marked(on) == on.headlines()[:1]


@pytest.mark.slow
async def test_a_link_goes_to_what_was_searched_for(root: Path, tmp_path: Path) -> None:
    async with slow_stage(root, tmp_path / "state") as on:
        await on.ready()
        await on.burst("L", *"tuesdays", "enter")
        await on.until(lambda: on.app.screen is on.browse, "the dialog has closed")
        library = on.browse.worker.library
        assert library is not None
        (edited,) = [m for m in library.memories("agent-memory") if m.links]
        assert library.get(f"agent-memory:{edited.links[0].target}").content.endswith("Tuesdays")


@pytest.mark.slow
async def test_enter_and_more_letters_link_nothing(root: Path, tmp_path: Path) -> None:
    async with slow_stage(root, tmp_path / "state") as on:
        await on.ready()
        await on.burst("L", *"tues", "enter", *"days")
        assert on.app.screen is not on.browse
        library = on.browse.worker.library
        assert library is not None
        assert not library.log()


@pytest.mark.slow
async def test_the_pack_that_is_copied_is_the_one_for_the_typed_task(
    root: Path, tmp_path: Path
) -> None:
    async with slow_stage(root, tmp_path / "state") as on:
        await on.ready()
        await on.press("P")
        await on.burst("/", *"redirect", "enter", "y")
        await on.until(lambda: on.app.clipboard, "the pack was copied")
        screen = on.app.screen
        assert isinstance(screen, PackScreen)
        assert screen.pack is not None
        assert screen.pack.task == "redirect"
        assert on.app.clipboard == screen.pack.text.rstrip("\n")


@pytest.mark.slow
async def test_a_command_is_taken_from_what_was_typed(root: Path, tmp_path: Path) -> None:
    async with slow_stage(root, tmp_path / "state") as on:
        await on.ready()
        await on.burst(":", *"mark all", "enter")
        assert len(marked(on)) == len(on.headlines())
        await on.burst(":", *"mark all", "enter", "G", "space")
        assert marked(on) == on.headlines()[-1:]
