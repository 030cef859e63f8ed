"""`P`: what programs load, and what an agent would be given for a task, and why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.widgets import Input

from memtui.context import draft_pack, find_recipe
from memtui.tui.context_page import CHECK_SECONDS, NOTHING, PackScreen

from .sample_stage import changing
from .stage import FACTS, NOW, Stage, compare, fact, stage, write_store

SIZES = [(80, 24), (40, 12)]


@asynccontextmanager
async def pack_of(
    tmp_path: Path, task: str, size: tuple[int, int] = (80, 24), *, toasts: bool = False
) -> AsyncIterator[Stage]:
    """The screen over the small store, with the cursor in the pack for this task."""
    root = write_store(tmp_path / "store")
    async with stage(root, size, state=tmp_path / "state", toasts=toasts) as on:
        await on.press("P", "/")
        await on.type(task)
        await on.press("enter")
        assert screen_of(on).recipe == "tiers", "that of the program of the store"
        yield on


def screen_of(on: Stage) -> PackScreen:
    assert isinstance(on.app.screen, PackScreen)
    return on.app.screen


def text_of(on: Stage) -> str:
    pack = screen_of(on).pack
    assert pack is not None
    return pack.text


async def choose(on: Stage, recipe: str) -> None:
    await on.press("m")
    await on.type(recipe)
    await on.press("enter")


@pytest.mark.slow
async def test_a_task_gives_the_pack_of_the_command_which_is_copied_and_saved(
    tmp_path: Path,
) -> None:
    async with pack_of(tmp_path, "tea in the morning", toasts=True) as on:
        library = on.browse.worker.library
        assert library is not None
        recipe = find_recipe("tiers")
        pack = draft_pack(recipe, "tea in the morning", library, NOW.astimezone()).pack()
        assert text_of(on) == pack.text
        shown = on.text()
        for line in pack.text.splitlines():
            assert line[:60] in shown
        assert f"{pack.tokens} tokens (estimated)" in shown
        await on.press("Y")
        assert on.app.clipboard == pack.text
        await on.press("ctrl+s")
        on.app.screen.query_one(Input).value = str(tmp_path / "pack.md")
        await on.press("enter")
        await on.sees("Saved to")
        document = (tmp_path / "pack.md").read_text(encoding="utf-8")
        assert pack.text.strip() in document
        assert "## Why these" in document
        await on.press("escape")
        assert on.app.screen is on.browse


@pytest.mark.slow
async def test_what_is_typed_at_once_is_the_task_though_a_search_stands(tmp_path: Path) -> None:
    """A `d` or an `e` of its words would else be a key of the pack."""
    async with stage(write_store(tmp_path / "store"), (80, 24)) as on:
        on.browse.set_text("tea")
        await on.settle()
        await on.press("P")
        assert (screen_of(on).recipe, screen_of(on).words) == ("tiers", "tea")
        await on.type("deploys")
        assert screen_of(on).words == "deploys"
        assert "deploys" in text_of(on)


@pytest.mark.slow
async def test_why_an_entry_is_in_and_what_the_cut_leaves_out(tmp_path: Path) -> None:
    facts = {"x": [fact(n, f"tea number {n}", "2026-05-30") for n in range(16)]}
    async with stage(write_store(tmp_path / "store", facts), (120, 45)) as on:
        await on.press("P", "/")
        await on.type("tea")
        await on.press("enter")
        await choose(on, "prime")
        assert " In: " in on.text()
        pack = screen_of(on).pack
        assert pack is not None
        assert pack.sections[0].entries[0].why[:20] in on.text()
        assert pack.dropped
        await on.press("G")
        assert "× " in on.text()
        assert "Not in: " in on.text()
        assert pack.dropped[-1].reason[:30] in on.text()


@pytest.mark.slow
async def test_a_pack_is_built_again_once_changed_rows_can_be_found(tmp_path: Path) -> None:
    async with pack_of(tmp_path, "tea in the morning") as on:
        library = on.browse.worker.library
        assert library is not None
        await choose(on, "typed")
        changed = fact(1, "Alice prefers green tea in the morning", "2026-03-02", "preference")
        write_store(
            tmp_path / "store", {**FACTS, "people/alice": [changed, *FACTS["people/alice"][1:]]}
        )
        library.loaded.refresh()  # the rows only, as in the midst of a refresh
        await on.settle()
        assert "green tea" not in text_of(on)
        library.index()
        await on.sees("green tea in the morning")


@pytest.mark.slow
async def test_what_was_stopped_is_built_again_only_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pack_of(tmp_path, "tea in the morning") as on:
        library, before = on.browse.worker.library, text_of(on)
        assert library is not None
        with monkeypatch.context() as patched:
            patched.setattr("memtui.tui.jobs.Job.is_cancelled", lambda _: True)
            await on.press("/")
            await on.type("tea")
        assert text_of(on) == before, "the last one stays"
        (tmp_path / "store/memory/entities/shop-api/items.json").unlink()
        library.refresh()
        await asyncio.sleep(2 * CHECK_SECONDS)
        await on.settle()
        assert text_of(on) == before
        await on.type("bob")
        await on.until(lambda: text_of(on) != before, "it is built")


@pytest.mark.slow
async def test_as_of_a_time_ages_are_counted_from_then(tmp_path: Path) -> None:
    facts = {"x": [fact(1, "tea in the kitchen", "2026-05-30"), fact(2, "tea", "2026-06-09")]}
    async with stage(write_store(tmp_path / "store", facts), (120, 35)) as on:
        await on.press("@")
        await on.type("2026-05-31")
        await on.press("enter")
        await on.sees("AS OF")
        await on.press("P", "/")
        await on.type("tea")
        await on.press("enter")
        pack = screen_of(on).pack
        assert pack is not None
        (section,) = pack.sections
        assert [entry.ref.split(":")[1][:8] for entry in section.entries] == ["00000001"]
        assert section.entries[0].score > 0.9
        assert "Context as of 2026-0" in on.text()


@pytest.mark.slow
async def test_enter_goes_to_the_memory_and_the_next_time_asks_the_same(tmp_path: Path) -> None:
    async with pack_of(tmp_path, "reviews every migration") as on:
        await on.press("enter")
        assert on.app.screen is on.browse
        assert on.browse.detail.memory is not None
        assert "reviews every migration" in on.browse.detail.memory.content
        await on.press("P")
        assert screen_of(on).words == "reviews every migration"


@pytest.mark.slow
async def test_an_empty_pack_says_so(tmp_path: Path) -> None:
    async with pack_of(tmp_path, "xylophone") as on:
        assert NOTHING in on.text()


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_it_fits_and_holds_hostile_text(tmp_path: Path, size: tuple[int, int]) -> None:
    evil = "tea \x1b[31m[bold]red[/bold] \u202e" + "long " * 60
    facts = {"x": [fact(1, evil, "2026-11-01"), fact(2, evil + "\n\n" * 9 + "two", "2026-11-20")]}
    async with stage(write_store(tmp_path / "store", facts), size) as on:
        await on.press("P", "/")
        await on.type("tea")
        await on.press("enter")
        await on.press(*["down"] * 4)
        await on.sees("[bold]")
        for key in ("G", "g"):
            shown = on.text()
            assert not {"\x1b", "\u202e"} & set(shown)
            assert all(len(line) <= size[0] for line in shown.splitlines())
            await on.press(key)
        assert on.app.backstop.hits == 0


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_pictures(tmp_path: Path, size: tuple[int, int]) -> None:
    async with pack_of(tmp_path, "alice drinks tea in lisbon", size) as on:
        compare(f"context-{size[0]}x{size[1]}", await on.still())


@pytest.mark.slow
async def test_the_screen_begins_with_what_programs_load_and_the_recipes_of_all_stand_under_more(
    tmp_path: Path,
) -> None:
    async with changing(tmp_path, "claude-code", "ambient", size=(160, 35)) as on:
        await on.press("P")
        assert screen_of(on).recipe == "loaded"
        assert "a task, in words" in on.text()
        head = "Claude Code · chime-control · MEMORY.md · ▰▰▰▰▰ 218 of 200 lines"
        assert head in on.text()
        row = next(n for n, r in enumerate(screen_of(on)._list.rows) if r.words == head)
        await on.press(*["down"] * row, "enter")
        chosen = screen_of(on)._list.current
        assert chosen is not None
        assert chosen.words.startswith(f"{head} · ")
        await on.press("m")
        await on.sees("Best episodes and their facts (Simple Memory)")
        await on.type("session")
        await on.press("enter", "/")
        await on.type("towerd")
        await on.press("enter")
        await on.sees("[Project: towerd]")
        await on.press("escape", "P")
        assert (screen_of(on).recipe, screen_of(on).words) == ("session", "towerd")
        await on.press("enter")
        await choose(on, "loaded")
        assert (screen_of(on).recipe, screen_of(on).words) == ("loaded", "")
