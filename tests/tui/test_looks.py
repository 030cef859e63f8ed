"""What the main screens look like, as plain text at three sizes, and their colours."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.segment import Segment

from memtui import paths
from memtui.model import Place
from memtui.tui.dialogs.picker import Choice, Picker
from memtui.tui.layout import Pane
from memtui.tui.themes import load_themes
from memtui.tui.widgets.statistics import StatisticsPane

from .gallery import MARKDOWN
from .stage import Stage, compare, fact, stage, write_store

SIZES = [(160, 45), (80, 24), (40, 12)]
THEMES = sorted(load_themes([paths.bundled_folder("themes")])[0])


def _name(what: str, size: tuple[int, int]) -> str:
    return f"{what}-{size[0]}x{size[1]}"


async def _steady(on: Stage) -> str:
    """The screen with the same place of the store in every run."""
    await on.still()
    detail = on.browse.detail
    if detail.memory is not None:
        place = Place("/home/pat/agent/memory/entities/shop-api/items.json", 23, "[2]")
        detail.show(replace(detail.memory, origin=place), ("tea",))
    return await on.still()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_browsing(root: Path, size: tuple[int, int]) -> None:
    async with stage(root, size) as on:
        compare(_name("browse", size), await _steady(on))


@pytest.mark.parametrize("size", SIZES[1:], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_markdown_in_the_detail(tmp_path: Path, size: tuple[int, int]) -> None:
    note = {"ledger": [fact(20, MARKDOWN, "2026-11-20", "decision")]}
    async with stage(write_store(tmp_path / "store", note), size) as on:
        await on.press("enter")
        await on.sees("Postgres")
        compare(_name("markdown", size), await _steady(on))


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_searching(root: Path, size: tuple[int, int]) -> None:
    async with stage(root, size) as on:
        await on.press("/")
        await on.type("tea type:preference")
        await on.press("enter")
        compare(_name("search", size), await _steady(on))


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_help(root: Path, size: tuple[int, int]) -> None:
    async with stage(root, size) as on:
        await on.press("z")
        await on.press("?")
        compare(_name("help", size), await _steady(on))


@pytest.mark.slow
async def test_nothing_found_says_what_to_do(root: Path) -> None:
    async with stage(root, (80, 24)) as on:
        await on.press("/")
        await on.type("zebra type:decision")
        await on.press("enter")
        await on.sees("No matches.")
        assert on.text().count('no "zebra"') == 1
        await on.sees("▌ without zebra")


async def test_an_empty_store_says_so(tmp_path: Path) -> None:
    root = write_store(tmp_path, {"nobody": []})
    async with stage(root, (80, 24)) as on:
        await on.sees("No memories yet.")


async def test_below_the_smallest_size_no_key_acts(root: Path) -> None:
    async with stage(root, (39, 11)) as on:
        await on.sees("at least")
        await on.press("space", "z", "/", "t")
        assert on.app.screen is on.browse
        assert not on.browse.marked_memories()
        assert not on.browse.zoomed
        await on.resize(80, 24)
        await on.sees("2 Memories")


@pytest.mark.slow
async def test_resizing_shows_more_and_fewer_panes(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        await on.sees("5 Statistics")
        for width, height, present, absent in (
            (100, 30, "3 Detail", "5 Statistics"),
            (60, 20, "2 Memories", "3 Detail"),
            (40, 12, "2 Memories", "1 Entities"),
            (160, 45, "4 Timeline", "at least"),
        ):
            await on.resize(width, height)
            await on.sees(present)
            assert absent not in on.text()
            assert all(len(line) <= width for line in on.text().splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 20), (160, 45)], ids=["only one fits", "zoomed"])
async def test_a_pane_that_is_shown_alone_has_all_the_room(
    root: Path, size: tuple[int, int]
) -> None:
    async with stage(root, size) as on:
        places = set()
        for number, pane in enumerate(Pane, 1):
            await on.press(str(number), *("z" if size[0] == 160 else ""))
            places.add(on.browse.pane_widget(pane).region)
            await on.press(*("z" if size[0] == 160 else ""))
        (place,) = places
        assert place.width == size[0]


@pytest.mark.slow
async def test_every_theme_sets_meanings_apart(root: Path) -> None:
    """Headline, match, border and cursor line can be told apart, by colour or by attribute."""
    async with stage(root, (120, 35)) as on:
        await on.press("/")
        await on.type("tea")
        await on.press("enter")
        for theme in THEMES:
            on.app.theme = theme
            await on.still()
            style = styles_of(on)
            match, plain = style("tea"), style("preference")
            assert match != plain, theme
            rows = [y for y, line in enumerate(on.text().splitlines()) if "▌" in line]
            assert rows, "the cursor line has a sign besides its colour"
            if theme == "terminal":
                assert not any(
                    segment.style and segment.style.color and segment.style.color.triplet
                    for strip in on.app.screen._compositor.render_strips()
                    for segment in strip
                ), "only the terminal's own colours"


def styles_of(on: Stage):  # type: ignore[no-untyped-def]
    """A function from a text on the screen to the look of its first segment."""
    strips = on.app.screen._compositor.render_strips()[2:]  # without the search line
    segments: list[Segment] = [segment for strip in strips for segment in strip]

    def style(words: str) -> str:
        return next(str(s.style) for s in segments if s.text.strip() == words)

    return style


async def test_a_long_list_leaves_its_dialog_the_keys(root: Path) -> None:
    async with stage(root, (80, 24)) as on:
        choices = [Choice(f"value {n}", f"value {n}") for n in range(60)]
        on.app.push_screen(Picker("Many", choices))
        await on.sees("value 3")
        assert "esc cancel" in on.text()


@pytest.mark.slow
async def test_counts_past_999_take_their_room_from_the_bars(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        pane = on.browse.pane_widget(Pane.STATISTICS)
        assert isinstance(pane, StatisticsPane)
        pane.show([replace(row, count=row.count * 500) for row in pane.rows])
        await on.sees("decision ██ 1,000")
        assert "medium" in on.text()
