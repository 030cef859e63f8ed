"""The cursor stays on its memory; `/` on a search that stands selects its words."""

from __future__ import annotations

from pathlib import Path

import pytest

from .stage import Stage, stage


def selected(on: Stage) -> str:
    memory = on.browse.memories.memory
    assert memory is not None
    assert on.browse.detail.memory is not None
    assert on.browse.detail.memory.ref == memory.ref, "the detail shows what is selected"
    return memory.headline


async def test_leaving_a_search_keeps_the_selected_memory_selected(root: Path) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("tea")
        await on.press("enter", "j")
        stood_on = selected(on)
        assert "tea" in stood_on
        await on.press("escape")
        assert on.query == ""
        assert len(on.headlines()) > 2
        assert selected(on) == stood_on


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys",
    [("b", "down", "enter"), ("b", "down", "down", "enter"), ("s", "space", "enter"), ("F",)],
)
async def test_orders_and_filters_leave_the_cursor_on_its_memory(
    root: Path, keys: tuple[str, ...]
) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("status:all lisbon")
        await on.press("enter", "escape")
        assert selected(on) == "Alice lives in Lisbon since June"
        before = on.headlines()
        await on.press(*keys)
        assert on.headlines() != before
        assert selected(on) == "Alice lives in Lisbon since June"


@pytest.mark.slow
async def test_a_filter_that_hides_the_selected_memory_goes_to_the_first(root: Path) -> None:
    async with stage(root) as on:
        await on.press("G", "/")
        await on.type("entity:people/bob")
        await on.press("enter")
        assert on.browse.memories.cursor == 0


async def test_other_words_go_to_their_best_match(root: Path) -> None:
    async with stage(root) as on:
        await on.press("G", "/")
        await on.type("redirect")
        assert selected(on).startswith("The login redirect")


@pytest.mark.slow
async def test_typing_replaces_a_search_and_an_arrow_keeps_it(root: Path) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("tea")
        await on.press("enter", "/")
        await on.type("lisbon")
        assert on.query == "lisbon"
        await on.press("enter", "/", "right")
        await on.type(" june")
        assert on.query == "lisbon june"
        await on.press("enter", "/", "home")
        await on.type("since ")
        assert on.query == "since lisbon june"


@pytest.mark.slow
async def test_a_window_that_was_too_small_for_a_moment_goes_on_with_the_search(
    root: Path,
) -> None:
    async with stage(root, (80, 24)) as on:
        await on.press("/")
        await on.type("li")
        await on.resize(38, 9)
        await on.resize(80, 24)
        await on.type("sbon")
        assert on.browse.view.text == "lisbon"


@pytest.mark.parametrize("pane", ["1", "3", "4", "5"])
async def test_where_one_pane_fits_a_search_shows_what_it_finds(root: Path, pane: str) -> None:
    async with stage(root, size=(60, 20)) as on:
        await on.press(pane, "/")
        await on.type("tea")
        assert on.browse.memories.display
        assert on.browse.search_bar.line.has_focus
        assert "tea" in on.text()


async def test_the_suggestion_for_a_wrong_filter_is_whole(root: Path) -> None:
    async with stage(root, size=(40, 12)) as on:
        await on.press("/")
        await on.type("type:persn")
        words = " ".join(on.text().replace("│", " ").split())
        assert "did you mean" in words, words


@pytest.mark.slow
async def test_marks_of_a_list_without_matches_are_counted_alone(root: Path) -> None:
    async with stage(root) as on:
        await on.press("space", "/")
        await on.type("type:persn")
        await on.press("enter")
        assert "1 marked ─" in on.text()
