"""Compare two memories, matches inside a long text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memtui.tui.dialogs.comparison import ComparisonScreen

from .stage import fact, stage, write_store

LONG = "\n\n".join(
    f"Paragraph {number} speaks of {'harbour' if number % 40 == 7 else 'other'} things."
    for number in range(200)
)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 35)])
async def test_two_marked_memories_are_compared(root: Path, size: tuple[int, int]) -> None:
    async with stage(root, size) as on:
        await on.press("/")
        await on.type("lives status:all")
        await on.press("enter", "space", "space", "|")
        await on.sees("Compare")
        shown = await on.still()
        assert "Porto" in shown
        assert "Lisbon" in shown
        both = [line for line in shown.split("\n") if "Porto" in line and "Lisbon" in line]
        assert both, "side by side"
        assert "esc back" in shown


@pytest.mark.slow
async def test_no_type_is_called_none(tmp_path: Path) -> None:
    facts = [fact(n, f"Alice drinks tea, {n}", "2026-03-02", "") for n in range(2)]
    root = write_store(tmp_path / "home", {"people/alice": facts})
    async with stage(root, (120, 35), state=tmp_path / "state") as on:
        await on.press("space", "space", "|")
        await on.sees("Compare")
        assert re.search("type +none", on.text())
        await on.press("escape", "e")
        await on.sees("unchanged: none")


@pytest.mark.slow
async def test_the_detail_shows_where_the_folder_of_a_store_leads(tmp_path: Path) -> None:
    root = write_store(tmp_path / "shared", {"alice": [fact(1, "Alice rows", "2026-03-02")]})
    link = tmp_path / "memory"
    link.symlink_to(root)
    async with stage(link, (160, 45), state=tmp_path / "state") as on:
        await on.sees("Link to")
        assert str(root) in re.sub(r"[\s│]+", "", on.text())
    async with stage(root, (160, 45), state=tmp_path / "state") as on:
        await on.sees("Alice rows")
        assert "Link to" not in on.text()


async def test_only_two_memories_are_compared(root: Path) -> None:
    async with stage(root) as on:
        assert on.browse.refusal("compare") == "mark two memories to compare them"
        await on.press("space", "space", "space")
        refusal = on.browse.refusal("compare")
        assert refusal == "mark two memories to compare them, 3 are marked"


@pytest.mark.slow
async def test_matches_inside_a_long_text_are_gone_through(tmp_path: Path) -> None:
    root = write_store(tmp_path, {"port": [fact(1, LONG, "2026-03-02")]})
    async with stage(root, (80, 24), state=tmp_path / "state") as on:
        await on.press("/")
        await on.type("harbour")
        await on.press("enter", "3")
        for key, number in zip("nnnnnnNN", (1, 2, 3, 4, 5, 1, 5, 4), strict=True):
            await on.press(key)
            await on.sees(f"match {number} of 5")
            assert "▸Paragraph" in on.text()
        await on.press("j", "=")
        assert "match" not in on.text().split("\n")[-2], "another drawing has other matches"
        await on.press("=", "g", "n", "/")
        await on.type(" paragraph")
        assert "match" not in on.text().split("\n")[-2]


@pytest.mark.slow
async def test_n_and_shift_n_mean_matches_and_nothing_else(tmp_path: Path) -> None:
    facts = [fact(1, "A ship in the harbour, a harbour for ships", "2026-03-02")]
    root = write_store(tmp_path, {"port": facts})
    async with stage(root, (200, 30), state=tmp_path / "state", toasts=True) as on:
        assert on.browse.refusal("match.next") == "the detail shows no match of a search"
        assert "next match" not in on.text().rpartition("\n")[2]
        await on.press("n", "N")
        assert on.app.screen is on.browse
        await on.press("/")
        await on.type("harbour")
        await on.press("enter")
        assert "n next match" in on.text().rpartition("\n")[2]
        await on.press("n", "n")
        await on.sees("match 2 of 2")
        await on.press("N")
        await on.sees("match 1 of 2")
        await on.press("1", "n")
        assert on.app.screen is on.browse
        await on.press("m")
        await on.sees("New memory")
        await on.press("escape", "R")
        assert isinstance(on.app.screen, ComparisonScreen)


@pytest.mark.slow
async def test_the_mark_of_a_match_stands_on_its_line_in_a_text_not_drawn_before(
    tmp_path: Path,
) -> None:
    """The heights of what lies above are guessed until it is drawn."""
    part = "## Part\n\n- **one**\n- two\n\n```python\nprint(1)\n```\n\n"
    content = "".join(f"{part * 20}The needle number {number}.\n\n" for number in range(8))
    root = write_store(tmp_path, {"port": [fact(1, content, "2026-03-02")]})
    async with stage(root, (80, 24)) as on:
        await on.press("/")
        await on.type("needle")
        await on.press("enter", "3")
        for key in "nnnnNNnN":
            await on.press(key)
            assert "▸The needle" in on.text()
        await on.press("k", "k", "k", "j")
        for width in (80, 70):
            await on.resize(width, 24)
            if "▸" in on.text():
                assert "▸The needle" in on.text()


@pytest.mark.slow
async def test_the_order_has_several_keys(root: Path) -> None:
    async with stage(root, (80, 24)) as on:
        await on.press("b", "down", "down", "enter")
        await on.sees("by importance")
        await on.press("ctrl+v")
        await on.sees("Order: by importance, then")
        assert "least important" not in on.text(), "the opposite orders nothing that is left"
        await on.type("oldest")
        await on.press("enter")
        await on.sees("by importance, then oldest first")
        assert on.headlines()[0].startswith("Use Postgres"), "all are of one importance"


@pytest.mark.slow
async def test_raw_fields_are_scrolled_to_where_they_begin(root: Path) -> None:
    """`.` seemed to do nothing where the fields are below the end of the window."""
    async with stage(root, (80, 24)) as on:
        await on.press("enter", ".")
        assert "Raw fields" in on.text()
        await on.press(".")
        assert "Raw fields" in on.text()
