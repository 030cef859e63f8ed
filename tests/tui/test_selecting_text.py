"""Text selected with the mouse is what `y` copies; a click is still a click."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widget import Widget

from memtui.tui.widgets.line_api import character_at, word_at

from .stage import Stage, fact, stage, write_store

TEXT = "Use Postgres for the ledger\n\n森の鐘 rings at dawn, see [[note]]\n\nThe third line"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    first = fact(1, TEXT, "2026-03-02", "decision")
    second = fact(2, "Alice lives in Lisbon", "2026-06-12", supersedes=3)
    third = fact(3, "Alice lives in Porto", "2026-05-10", status="historical")
    return write_store(tmp_path, {"shop": [first], "alice": [third, second]})


async def _drag(on: Stage, widget: Widget, start: tuple[int, int], end: tuple[int, int]) -> None:
    """Press the button on one cell of the content, move, and let go on another."""
    await on.pilot.mouse_down(widget, offset=_inside(widget, start))
    await on.pilot.hover(widget, offset=_inside(widget, end))
    await on.pilot.mouse_up(widget, offset=_inside(widget, end))
    await on.settle()


def _inside(widget: Widget, at: tuple[int, int]) -> tuple[int, int]:
    return at[0] + widget.gutter.left, at[1] + widget.gutter.top


def _row(on: Stage, widget: Widget, words: str) -> tuple[int, int]:
    """Cell of the content where these words begin."""
    region = widget.content_region
    for y, line in enumerate(on.text().splitlines()[region.y : region.bottom]):
        cells = "".join(character + "\0" * (character in "森の鐘") for character in line)
        if (x := cells[region.x :].find(words)) >= 0:
            return x, y
    raise AssertionError(f"{words!r} is not shown")


@pytest.mark.slow
async def test_the_selected_text_of_the_detail_is_copied(root: Path) -> None:
    async with stage(root, (120, 35), toasts=True) as on:
        on.browse.set_text("Postgres")
        await on.press("3")
        detail = on.browse.detail
        x, y = _row(on, detail, "Postgres")
        await _drag(on, detail, (x, y), (x + len("Postgres") - 1, y))
        assert on.browse.get_selected_text() == "Postgres"
        await on.press("y")
        assert on.app.clipboard == "Postgres"
        assert not on.browse.selections
        await on.press("y")
        assert on.app.clipboard == TEXT, "without a selection it is the memory"


@pytest.mark.slow
async def test_several_lines_are_copied_without_their_margin(root: Path) -> None:
    async with stage(root, (120, 35), toasts=True) as on:
        on.browse.set_text("Postgres")
        await on.press("3", "z")
        detail = on.browse.detail
        start, end = _row(on, detail, "Postgres"), _row(on, detail, "third")
        await _drag(on, detail, end, start)
        await on.press("ctrl+c")
        assert on.app.clipboard == (
            "Postgres for the ledger\n\n森の鐘 rings at dawn, see [[note]]\n\nThe t"
        )


@pytest.mark.slow
async def test_a_drag_past_the_edge_scrolls_and_selects_on(tmp_path: Path) -> None:
    note = "\n".join(f"line {number} of the note" for number in range(200))
    root = write_store(tmp_path, {"shop": [fact(1, note, "2026-03-02", "decision")]})
    async with stage(root, (120, 35)) as on:
        await on.press("3", "z")
        detail = on.browse.detail
        start = _row(on, detail, "line 3 ")
        page = detail.page
        await on.pilot.mouse_down(detail, offset=_inside(detail, start))
        below = (detail.content_region.x + 4, detail.content_region.bottom + 1)
        await on.pilot.hover(None, offset=below)
        await on.until(lambda: detail.top >= 8, "it scrolls down", is_working=True)
        selected = (on.browse.get_selected_text() or "").split("\n")
        assert selected[0] == "line 3 of the note"
        assert len(selected) > page, "it goes on behind the edge"
        above = (detail.content_region.x + 4, detail.content_region.y - 1)
        turned = detail.top
        await on.pilot.hover(None, offset=above)
        await on.until(lambda: detail.top <= turned - 3, "it scrolls up", is_working=True)
        await on.pilot.mouse_up(None, offset=above)
        top = detail.top
        await on.settle()
        assert detail.top == top, "it stands when the button is let go"
        assert len((on.browse.get_selected_text() or "").split("\n")) < len(selected)


@pytest.mark.slow
async def test_a_drag_follows_no_reference_and_a_click_does(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        on.browse.set_text("Lisbon")
        await on.press("3")
        detail = on.browse.detail
        shown = detail.memory
        x, y = _row(on, detail, "Alice lives in Porto")
        await _drag(on, detail, (x, y), (x + 4, y))
        assert detail.memory is shown
        assert on.browse.get_selected_text() == "Alice"
        await on.pilot.click(detail, offset=_inside(detail, (x, y)))
        await on.settle()
        assert detail.memory is not None
        assert detail.memory.content == "Alice lives in Porto"


@pytest.mark.slow
async def test_a_double_click_selects_a_word(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        on.browse.set_text("Postgres")
        await on.press("3")
        x, y = _row(on, on.browse.detail, "Postgres")
        await on.pilot.double_click(on.browse.detail, offset=_inside(on.browse.detail, (x + 2, y)))
        assert on.browse.get_selected_text() == "Postgres"


@pytest.mark.slow
async def test_in_a_diff_y_copies_what_is_selected_and_confirms_nothing(root: Path) -> None:
    async with stage(root, (120, 35), state=root.parent / "state", toasts=True) as on:
        on.browse.set_text("Lisbon")
        await on.press("*", "d")
        screen = on.app.screen
        diff = screen.query_one("DiffView")
        x, y = _row(on, diff, "historical")
        await _drag(on, diff, (x, y), (x + 9, y))
        await on.press("y")
        assert on.app.clipboard == "historical"
        assert on.app.screen is screen


@pytest.mark.slow
async def test_what_is_selected_is_shown_in_reverse(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        on.browse.set_text("Postgres")
        await on.press("3")
        detail = on.browse.detail
        x, y = _row(on, detail, "Postgres")
        await _drag(on, detail, (x, y), (x + 3, y))
        reverse = [s.text for s in detail.render_line(y) if s.style is not None and s.style.reverse]
        assert "".join(reverse) == "Post"


@pytest.mark.parametrize(
    ("line", "cell", "character"), [("abc", 1, 1), ("森の", 1, 0), ("森の", 2, 1), ("a", 9, 1)]
)
def test_a_cell_is_a_character(line: str, cell: int, character: int) -> None:
    assert character_at(line, cell) == character


def test_a_word_keeps_its_inner_signs() -> None:
    line = "see memtui/tui/app.py, then"
    start, end = word_at(line, 8)
    assert line[start:end] == "memtui/tui/app.py"
    assert word_at(line, 3) == (3, 3)
