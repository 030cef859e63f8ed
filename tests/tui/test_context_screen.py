"""`P`: what an agent would be given, and why."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.widgets import Input

from memtui.config import Settings
from memtui.context import draft_pack, find_recipe, read_settings
from memtui.errors import MemtuiError
from memtui.progress import Cancelled
from memtui.tui.context_packs import build_requested
from memtui.tui.dialogs.context import CHECK_SECONDS, PackScreen
from memtui.tui.widgets.pack_view import PackList

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
        await on.press("P", "]", "/")
        await on.type(task)
        await on.press("enter")
        assert screen_of(on).request.recipe == "tiers"
        yield on


def screen_of(on: Stage) -> PackScreen:
    assert isinstance(on.app.screen, PackScreen)
    return on.app.screen


@pytest.mark.slow
async def test_a_task_that_is_typed_gives_the_pack_of_the_command(tmp_path: Path) -> None:
    async with pack_of(tmp_path, "tea in the morning") as on:
        library = on.browse.worker.library
        assert library is not None
        settings = read_settings({}, {})
        recipe = find_recipe("tiers", settings)
        pack = draft_pack(recipe, "tea in the morning", library, settings, NOW.astimezone()).pack()
        built = screen_of(on).built
        assert built is not None
        assert built.pack.text == pack.text
        shown = on.text()
        for line in pack.text.splitlines():
            assert line[:60] in shown
        assert f"{pack.tokens} tokens (estimated)" in shown
        await on.press("escape")
        assert on.app.screen is on.browse


@pytest.mark.slow
async def test_what_is_typed_at_once_is_the_task_though_a_search_stands(tmp_path: Path) -> None:
    """A `d` or an `e` of its words would else retire or edit a memory."""
    async with stage(write_store(tmp_path / "store"), (80, 24)) as on:
        on.browse.set_text("tea")
        await on.settle()
        await on.press("P")
        assert screen_of(on).request.task == "tea"
        await on.type("deploys")
        assert screen_of(on).request.task == "deploys"


@pytest.mark.slow
async def test_blanks_between_memories_have_no_tokens_of_their_own(tmp_path: Path) -> None:
    async with changing(tmp_path, "ambient", size=(160, 90)) as on:
        await on.press("P", "enter")
        await on.sees("[Project: ")
        lines = [line.split("│")[1].strip(" ▐▌") for line in on.text().split("\n") if "│" in line]
        assert not [line for line in lines if line.isdigit()]


TASK = "tea in the morning, deploys and the ledger"


@pytest.mark.slow
async def test_a_smaller_budget_shows_what_drops_out_and_why(tmp_path: Path) -> None:
    async with pack_of(tmp_path, TASK) as on:
        screen = screen_of(on)
        await on.press("]")
        assert screen.request.recipe == "typed"
        assert screen.built is not None
        whole = screen.built.pack
        assert "no limit" in on.text()
        for _ in range(20):
            await on.press("-")
            if "left out" in on.text():
                break
        pack = screen.built.pack
        assert pack.budget is not None
        assert pack.tokens <= pack.budget < whole.tokens
        gone = set(whole.refs) - set(pack.refs)
        assert gone
        assert f"{len(gone)} left out" in on.text()
        items = screen.query_one(PackList).items
        assert {item.ref for item in items if item.is_over_budget} == gone
        first = next(n for n, item in enumerate(items) if item.is_over_budget)
        while screen.query_one(PackList).at != first:
            await on.press("j")
        assert "over the budget: it needs" in on.text()
        await on.press(*["+"] * 25)
        assert "no limit" in on.text()
        assert screen.built.pack.text == whole.text


@pytest.mark.slow
async def test_the_parts_of_the_score_and_the_next_that_is_not_in(tmp_path: Path) -> None:
    async with stage(
        write_store(tmp_path / "store"),
        (120, 35),
        settings=Settings(theme="dusk", recipe_constants={"typed_limit": 2}),
    ) as on:
        await on.press("P", "]", "/")
        await on.type("tea")
        await on.press("enter", "]", "]")
        assert screen_of(on).request.recipe == "prime"
        shown = on.text()
        assert "In: " in shown
        assert "= score" in shown
        assert re.search(r"\d\.\d{3} █+ +\w", shown)
        await on.press("[")
        assert screen_of(on).request.recipe == "typed"
        await on.press("/")
        await on.type(" and deploys on Tuesdays, the ledger")
        await on.press("enter")
        await on.sees("Next, not in: ")
        assert "of at most 2" in on.text()


@pytest.mark.slow
async def test_an_edit_rebuilds_the_pack_and_can_be_compared_and_undone(tmp_path: Path) -> None:
    async with pack_of(tmp_path, "tea in the morning") as on:
        screen = screen_of(on)
        await on.press("]")
        assert screen.built is not None
        before = screen.built.pack.text
        await on.press("e")
        await on.sees("Edit")
        await on.type("ZEBRA ")
        await on.press("ctrl+s")
        await on.sees("ZEBRA")
        await on.until(
            lambda: on.app.screen is screen and "ZEBRA" in screen.built.pack.text,
            "the pack has the edit",
        )
        await on.sees("before the change")
        await on.press("b")
        await on.sees("Compare with")
        await on.press("enter")
        await on.sees("In both, with another text")
        await on.press("escape")
        assert not screen.is_comparing
        await on.press("u")
        await on.until(lambda: screen.built.pack.text == before, "the pack is as before")
        assert "ZEBRA" not in on.text()


async def test_a_pack_is_built_again_once_changed_rows_can_be_found(tmp_path: Path) -> None:
    async with pack_of(tmp_path, "tea in the morning") as on:
        screen, library = screen_of(on), on.browse.worker.library
        assert library is not None
        await on.press("]")
        changed = fact(1, "Alice prefers green tea in the morning", "2026-03-02", "preference")
        write_store(
            tmp_path / "store", {**FACTS, "people/alice": [changed, *FACTS["people/alice"][1:]]}
        )
        library.loaded.refresh()  # the rows only, as in the midst of a refresh
        built = screen.built
        assert built is not None
        assert built.revision == library.searched.revision < library.snapshot.revision
        library.index()
        await on.sees("green tea in the morning")
        assert f"before the change {built.pack.tokens} tokens" in on.text()


async def test_what_was_stopped_is_built_again_only_when_it_is_asked_for(tmp_path: Path) -> None:
    async with pack_of(tmp_path, "tea in the morning") as on:
        screen, library = screen_of(on), on.browse.worker.library
        assert library is not None
        await on.press("]")
        built = screen.built
        assert built is not None
        screen._failed(MemtuiError("stopped; nothing was built"))
        (tmp_path / "store/memory/entities/shop-api/items.json").unlink()
        library.refresh()
        assert library.searched.revision > built.revision
        await asyncio.sleep(2 * CHECK_SECONDS)
        await on.settle()
        assert screen.built is built
        await on.press("/")
        await on.type("bob")
        await on.until(lambda: screen.built is not built, "it is built")


@pytest.mark.slow
async def test_pin_and_retire_act_on_the_entry_and_not_on_the_marks_of_the_list(
    tmp_path: Path,
) -> None:
    root = write_store(tmp_path / "store")
    async with stage(root, (80, 24), state=tmp_path / "state") as on:
        await on.press("space", "j", "space", "P", "]", "/")
        await on.type("who reviews every migration")
        await on.press("enter")
        screen = screen_of(on)
        entry = screen.entry
        assert entry is not None
        library = on.browse.worker.library
        assert library is not None
        await on.press("p")
        await on.until(lambda: library.get(entry.ref).pinned, "it is pinned")
        await on.press("d")
        await on.sees("retire")
        await on.press("y")
        await on.until(lambda: library.get(entry.ref).status != "active", "it is retired")
        await on.until(
            lambda: screen.built is not None and entry.ref not in screen.built.pack.refs,
            "the pack is without it",
        )
        assert sum(m.pinned for m in library.memories(library.stores[0].label)) == 1


@pytest.mark.slow
async def test_two_recipes_stand_side_by_side(tmp_path: Path) -> None:
    async with pack_of(tmp_path, TASK, (120, 35)) as on:
        await on.press("b")
        await on.sees("Compare with")
        await on.press("j", "enter")
        await on.sees("in both")
        screen = screen_of(on)
        assert screen.built is not None
        assert screen.built.other is not None
        assert screen.built.other.recipe == "typed"
        assert "only right" in on.text()
        await on.resize(40, 12)
        left, right = screen.built.pack.tokens, screen.built.other.tokens
        assert f"{left} · typed {right} t" in on.text()
        await on.resize(120, 35)
        await on.press("b")
        assert not screen.is_comparing


_TYPED = [(1, "person"), (2, "person"), (3, "project"), (4, "person")]


@pytest.mark.slow
async def test_types_are_preferred_by_a_key(tmp_path: Path) -> None:
    facts = {
        "x": [fact(n, f"tea at {n} in the kitchen", "2026-11-01", kind) for n, kind in _TYPED],
    }
    async with stage(write_store(tmp_path / "store", facts), (120, 35)) as on:
        await on.press("P", "]", "/")
        await on.type("tea in the kitchen")
        await on.press("enter")
        screen = screen_of(on)
        await on.press("t")  # of another recipe: nothing to choose
        assert on.app.screen is screen
        await on.press("]")
        assert screen.built is not None
        assert screen.built.pack.sections[0].title != "project"
        await on.press("t")
        await on.sees("Prefer types")
        await on.press("j", "space", "enter")
        await on.settle()
        assert screen.request.types == ("project",)
        assert screen.built.pack.sections[0].title == "project"
        assert "prefers project" in on.text()
        await on.press("escape", "P")
        assert screen_of(on).request.types == ("project",)


@pytest.mark.slow
async def test_as_of_a_time_ages_are_counted_from_then_and_nothing_is_changed(
    tmp_path: Path,
) -> None:
    facts = {"x": [fact(1, "tea in the kitchen", "2026-05-30"), fact(2, "tea", "2026-06-09")]}
    async with stage(write_store(tmp_path / "store", facts), (120, 35)) as on:
        await on.press("@")
        await on.type("2026-05-31")
        await on.press("enter")
        await on.sees("AS OF")
        await on.press("P", "]", "/")
        await on.type("tea")
        await on.press("enter")
        screen = screen_of(on)
        assert screen.built is not None
        (section,) = screen.built.pack.sections
        assert [entry.ref.split(":")[1][:8] for entry in section.entries] == ["00000001"]
        assert section.entries[0].score > 0.9
        assert "Context as of 2026-0" in on.text()
        assert "e edit" not in on.text()
        await on.press("d")
        assert on.app.screen is screen


@pytest.mark.slow
async def test_copy_and_save_give_the_text_of_the_pack(tmp_path: Path) -> None:
    async with pack_of(tmp_path, "tea in the morning", toasts=True) as on:
        await on.press("]")
        built = screen_of(on).built
        assert built is not None
        await on.press("Y")
        assert on.app.clipboard == built.pack.text
        await on.press("ctrl+s")
        on.app.screen.query_one(Input).value = str(tmp_path / "pack.md")
        await on.press("enter")
        await on.sees("Saved to")
        document = (tmp_path / "pack.md").read_text(encoding="utf-8")
        assert built.pack.text.strip() in document
        assert "## Why these" in document


@pytest.mark.slow
async def test_enter_goes_to_the_memory_and_the_next_time_asks_the_same(tmp_path: Path) -> None:
    async with pack_of(tmp_path, "reviews every migration") as on:
        entry = screen_of(on).entry
        assert entry is not None
        await on.press("enter")
        assert on.app.screen is on.browse
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.ref == entry.ref
        await on.press("P")
        assert screen_of(on).request.task == "reviews every migration"


@pytest.mark.slow
async def test_empty_states_teach(tmp_path: Path) -> None:
    async with stage(write_store(tmp_path / "store"), (80, 24)) as on:
        await on.press("P", "]", "/")
        await on.sees("Type a task in plain words")
        await on.type("xylophone")
        await on.press("enter")
        await on.sees("This recipe finds nothing for it.")
        assert "e edit" not in on.text()


@pytest.mark.slow
async def test_a_job_that_is_stopped_leaves_the_last_pack(tmp_path: Path) -> None:
    class Stopped:
        def is_cancelled(self) -> bool:
            return True

    async with pack_of(tmp_path, "tea") as on:
        library = on.browse.worker.library
        assert library is not None
        request = screen_of(on).request
        with pytest.raises(Cancelled):
            build_requested(library, Stopped(), request, None, read_settings({}, {}), NOW)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_it_fits_and_holds_hostile_text(tmp_path: Path, size: tuple[int, int]) -> None:
    evil = "tea \x1b[31m[bold]red[/bold] \u202e" + "long " * 60
    facts = {"x": [fact(1, evil, "2026-11-01"), fact(2, evil + "\n\n" * 9 + "two", "2026-11-20")]}
    async with stage(write_store(tmp_path / "store", facts), size) as on:
        await on.press("P", "]", "/")
        await on.type("tea")
        await on.press("enter", "]")
        await on.sees("[bold]red[/bold]")
        await on.press("b")
        await on.press("enter")
        await on.settle()
        for key in ("escape", "-"):
            shown = on.text()
            assert not {"\x1b", "\u202e"} & set(shown)
            assert all(len(line) <= size[0] for line in shown.splitlines())
            await on.press(key)
        assert on.app.backstop.hits == 0
        await on.resize(80, 24)
        await on.settle()
        assert "Budget" in on.text()


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_pictures(tmp_path: Path, size: tuple[int, int]) -> None:
    async with pack_of(tmp_path, TASK, size) as on:
        await on.press("]", "j", *["-"] * 2)
        compare(f"context-{size[0]}x{size[1]}", await on.still())
        if size[0] == 80:
            await on.press("b")
            await on.press("j", "enter")
            compare("context-compare-80x24", await on.still())


@pytest.mark.slow
async def test_recipes_are_those_of_the_open_programs(tmp_path: Path) -> None:
    async with changing(tmp_path, "agent-memory", "ambient", size=(120, 35)) as on:
        await on.press("P")
        assert list(screen_of(on)._recipes) == ["loaded", "tiers", "session", "typed", "prime"]
        assert screen_of(on).request.recipe == "loaded"
        await on.press("m")
        await on.sees("Summaries, facts and daily notes, in turn (agent-memory)")
        await on.press("j", "enter")
        assert screen_of(on).request.recipe == "tiers"


@pytest.mark.slow
async def test_a_project_is_chosen_and_the_words_of_the_search_are_no_project(
    tmp_path: Path,
) -> None:
    async with changing(tmp_path, "ambient", size=(120, 35)) as on:
        await on.press("P")
        await on.sees("all projects")
        await on.press("/")
        await on.sees("Project or branch")
        await on.type("towerd")
        await on.press("enter")
        await on.settle()
        assert screen_of(on).request.entity.startswith("towerd")
        await on.sees("[Project: towerd]")
        await on.press("escape")
        on.browse.set_text("plan")
        await on.settle()
        await on.press("P")
        assert screen_of(on).request.task == ""


async def test_the_screen_begins_with_what_programs_load_and_how_much_of_the_limit(
    tmp_path: Path,
) -> None:
    async with changing(tmp_path, "claude-code", size=(160, 35)) as on:
        await on.press("P")
        assert screen_of(on).request.recipe == "loaded"
        shown = on.text()
        assert "▸ Claude Code · chime-control · MEMORY.md · ▰▰▰▰▰ 218 of 200 lines" in shown
        await on.press("enter")
        assert "▾ Claude Code" in on.text()
        await on.press("enter")
        assert on.text() == shown
