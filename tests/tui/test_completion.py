"""Completion in the search line: grey words behind the cursor, tab takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.config import Settings

from .stage import fact, stage, write_store


@pytest.mark.slow
async def test_a_field_and_then_its_value_by_tab(root: Path) -> None:
    async with stage(root, (80, 24)) as on:
        await on.press("/")
        await on.type("tea ty")
        assert on.text().splitlines()[0].startswith(" memtui / tea type:")
        assert "tab type:" in on.text().splitlines()[-1]
        assert on.query == "tea ty"
        await on.press("tab")
        assert on.query == "tea type:"
        await on.type("pre")
        assert "tea type:preference" in on.text().splitlines()[0]
        await on.press("tab")
        assert on.query == "tea type:preference"
        assert len(on.headlines()) == 2
        await on.press("enter")
        await on.sees("type preference ×")


@pytest.mark.slow
async def test_right_takes_it_too_but_only_at_the_end(root: Path) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("entity:people-al")
        await on.press("left", "right")
        assert on.query == "entity:people-al"
        await on.type("i")
        await on.press("right")
        assert on.query == "entity:people-alice"


@pytest.mark.slow
async def test_enter_escape_and_up_are_never_stolen(root: Path) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("ty")
        await on.press("enter")
        assert on.query == "ty"
        assert on.app.focused is on.browse.memories
        await on.press("/", "end")
        await on.type("p")
        await on.press("escape")
        assert on.app.focused is on.browse.memories
        assert on.query == "typ"
        await on.press("/", "up")
        assert on.query == "ty"


@pytest.mark.slow
async def test_tab_goes_to_the_next_pane_where_nothing_is_offered(root: Path) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("tea")
        await on.press("tab")
        assert on.query == "tea"
        assert on.app.focused is not on.browse.search_bar.line


async def test_values_from_a_store_are_only_text(tmp_path: Path) -> None:
    facts = [
        fact(1, "one", "2026-11-01", "[red]loud[/red]"),
        fact(2, "two", "2026-11-02", "\x1b[31mescape"),
        fact(3, "three", "2026-11-03", "\u202ereversed"),
    ]
    async with stage(write_store(tmp_path / "store", {"x": facts}), (40, 12)) as on:
        await on.press("/")
        await on.type("type:")
        await on.sees("type:[red]loud[/red]")
        line = on.browse.search_bar.line
        assert [offer.words for offer in line._offers] == ["[red]loud[/red]"]
        assert all(len(shown) <= 40 for shown in on.text().splitlines())
        await on.press("tab")
        assert on.headlines() == ["one"]
        assert on.app.backstop.hits == 0


async def test_another_key_can_be_given_and_is_shown(root: Path) -> None:
    settings = Settings(theme="dusk", keys={"complete": ["alt+n"]})
    async with stage(root, (80, 24), settings=settings) as on:
        await on.press("/")
        await on.type("ty")
        assert "alt+n type:" in on.text().splitlines()[-1]
        await on.press("alt+n")
        assert on.query == "type:"
        await on.press("tab")
        assert on.app.focused is not on.browse.search_bar.line
