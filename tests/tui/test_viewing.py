"""Compare two memories, bookmarks, web addresses, matches inside a long text."""

from __future__ import annotations

import re
import webbrowser
from pathlib import Path

import pytest

from memtui.tui.controllers.viewing import find_urls
from memtui.tui.dialogs.comparison import ComparisonScreen

from .stage import fact, stage, write_store

LONG = "\n\n".join(
    f"Paragraph {number} speaks of {'harbour' if number % 40 == 7 else 'other'} things."
    for number in range(200)
)
WEB = "See https://example.org/a_(b)?q=1#c, and (http://example.net/x). No ftp://example.org here."


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


async def test_only_two_memories_are_compared(root: Path) -> None:
    async with stage(root) as on:
        assert on.browse.refusal("compare") == "mark two memories to compare them"
        await on.press("space", "space", "space")
        refusal = on.browse.refusal("compare")
        assert refusal == "mark two memories to compare them, 3 are marked"


@pytest.mark.slow
async def test_a_bookmark_is_gone_to_and_kept_for_the_next_session(
    root: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    async with stage(root, (80, 24), state=state) as on:
        await on.press("G", "m")
        await on.sees("and the letter to come back here")
        await on.press("x")
        marked = on.browse.detail.memory
        await on.press("g", "'")
        await on.sees("Go to bookmark")
        await on.press("x")
        assert on.browse.detail.memory == marked
        on.app.leave()
    async with stage(root, (80, 24), state=state) as on:
        await on.press("g", "'")
        assert marked is not None
        await on.sees(marked.headline[:30])
        await on.press("x")
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.ref == marked.ref


@pytest.mark.slow
async def test_bookmarks_and_back_reach_a_row_far_below(tmp_path: Path) -> None:
    facts = [fact(n, f"ship {n} passed", "2026-03-02") for n in range(300)]
    root = write_store(tmp_path, {"port": facts})
    async with stage(root, (80, 24), state=tmp_path / "state") as on:
        await on.press("G", "m", "x")
        last = on.browse.memories.memory
        assert last is not None
        await on.press("g", "'", "x")
        assert on.browse.memories.memory == last
        assert on.browse.memories.cursor == 299
        await on.press("g", "ctrl+o")
        assert on.browse.memories.memory == last


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


async def test_n_and_shift_n_mean_matches_only_while_the_detail_shows_them(tmp_path: Path) -> None:
    facts = [fact(1, "A ship in the harbour, a harbour for ships", "2026-03-02")]
    root = write_store(tmp_path, {"port": facts})
    async with stage(root, (200, 30), state=tmp_path / "state") as on:
        assert on.browse.refusal("match.next") == "the detail shows no match of a search"
        footer = on.text().rpartition("\n")[2]
        assert "n new" in footer
        assert "next match" not in footer
        await on.press("/")
        await on.type("harbour")
        await on.press("enter")
        footer = on.text().rpartition("\n")[2]
        assert "n next match" in footer
        assert "ins new" in footer
        await on.press("n", "n")
        await on.sees("match 2 of 2")
        await on.press("N")
        await on.sees("match 1 of 2")
        await on.press("insert")
        await on.sees("New memory")
        await on.press("escape", "1", "n")
        await on.sees("New memory")  # in other panes it keeps its meaning
        await on.press("escape", "2", "z", "n")
        await on.sees("New memory")  # the detail is not in view
        await on.press("escape", "z", "escape", "n")
        await on.sees("New memory")  # nothing is searched for
        await on.press("escape", "N")
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


def test_addresses_are_found_whole_and_nothing_else() -> None:
    assert find_urls(WEB) == ("https://example.org/a_(b)?q=1#c", "http://example.net/x")
    for none in (
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://",
        "http://\u202eevil.example",
    ):
        assert find_urls(none) == ()
    assert find_urls("https://a.example/\x1b]0;x") == ("https://a.example/",)
    assert len(find_urls(" ".join(f"http://a.example/{n}" for n in range(500)))) == 100


async def test_an_address_is_shown_whole_before_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o755)
    url = "https://example.org/" + "a-long-path/" * 12
    root = write_store(tmp_path / "store", {"web": [fact(1, f"Read {url} first", "2026-03-02")]})
    monkeypatch.setenv("BROWSER", str(browser))
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    async with stage(root, (80, 24), toasts=True) as on:
        await on.press("ctrl+g")
        await on.sees("Open URL in browser?")
        shown = "".join(part.strip(" │") for part in on.text().split("\n"))
        assert url in shown
        await on.press("escape")
        assert not opened.exists()
        await on.press("ctrl+g", "c")
        assert on.app.clipboard == url
        await on.press("ctrl+g", "y")
        await on.until(lambda: opened.exists() and opened.read_text() == url, "it is opened")


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


async def test_raw_fields_are_scrolled_to_where_they_begin(root: Path) -> None:
    """`.` seemed to do nothing where the fields are below the end of the window."""
    async with stage(root, (80, 24)) as on:
        await on.press("enter", ".")
        assert "Raw fields" in on.text()
        await on.press(".")
        assert "Raw fields" in on.text()
