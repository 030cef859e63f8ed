"""`w`: why a hit is here, and why above the next."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memtui.tui.actions import BY_ID
from memtui.tui.dialogs.why import WhyScreen

from .stage import Stage, fact, stage, write_store

SIZES = [(120, 35), (80, 24), (40, 12)]


async def _search(on: Stage, words: str) -> None:
    await on.press("/")
    await on.type(words)
    await on.press("enter")


@pytest.mark.slow
async def test_the_parts_of_both_hits_add_up_on_the_screen(tmp_path: Path) -> None:
    async with stage(write_store(tmp_path / "store"), (80, 24)) as on:
        await _search(on, "tea morning")
        await on.press("w")
        assert isinstance(on.app.screen, WhyScreen)
        await on.sees("score")
        shown = on.text()
        assert "this, 1 of 2: Alice prefers tea in the morning" in shown
        assert "next, 2 of 2: Bob drinks tea only when the coffee is out" in shown
        assert re.search(r"Ranks \d+\.\d+ above the next: more for all words", shown)
        rows = {
            match[1].strip(): [
                float(n) for n in re.findall(r"-?\d+\.\d+", match[2].replace("·", "0.0"))
            ]
            for match in re.finditer(r"│ +([a-z ]{12}) (.*?\d\.\d{3}.*)│", shown)
        }
        found = on.browse.found
        assert found is not None
        assert found.scores is not None
        score = rows.pop("score")
        assert score[:2] == pytest.approx(list(found.scores), abs=0.001)
        assert sum(row[0] for row in rows.values()) == pytest.approx(score[0], abs=0.005)
        assert "█" in shown
        await on.press("escape")
        assert on.app.screen is on.browse


@pytest.mark.slow
async def test_the_last_hit_has_no_next(tmp_path: Path) -> None:
    async with stage(write_store(tmp_path / "store"), (80, 24)) as on:
        await _search(on, "tea")
        await on.press("G", "w")
        await on.sees("This is the last result.")
        assert "next," not in on.text()
        await on.press("w")
        assert on.app.screen is on.browse


@pytest.mark.slow
async def test_without_an_order_by_relevance_it_says_why_not(tmp_path: Path) -> None:
    async with stage(write_store(tmp_path / "store")) as on:
        assert BY_ID["why"].allowed(on.browse.action_context())
        await on.press("w")
        assert on.app.screen is on.browse
        await _search(on, "tea")
        assert not BY_ID["why"].allowed(on.browse.action_context())
        await on.press("b", "down", "enter")
        assert BY_ID["why"].allowed(on.browse.action_context()), "another order was chosen"


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_it_fits_and_holds_hostile_headlines(tmp_path: Path, size: tuple[int, int]) -> None:
    evil = "tea \x1b[31m[bold]red[/bold] \u202e" + "long " * 60
    facts = {"x": [fact(1, evil, "2026-11-01"), fact(2, evil + "two", "2026-11-20")]}
    async with stage(write_store(tmp_path / "store", facts), size) as on:
        await _search(on, "tea")
        await on.press("w")
        await on.sees("the next" if size[0] < 60 else "[bold]red[/bold]")
        shown = on.text()
        assert not {"\x1b", "\u202e"} & set(shown)
        assert all(len(line) <= size[0] for line in shown.splitlines())
        assert on.app.backstop.hits == 0
        await on.press("G")
        await on.sees("score")
        await on.resize(80, 24)
        await on.sees("text")
