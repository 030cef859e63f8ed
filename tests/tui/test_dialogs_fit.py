"""Dialogs are as large as their content; help and palette are searched; the footer's order."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path

import pytest
from textual.events import Resize
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Input

from memtui.errors import TerminalError
from memtui.tui import key_bindings, refuse_terminal
from memtui.tui.dialogs.help import MAX_RECENT, with_recent
from memtui.tui.dialogs.picker import Choice, Picker
from memtui.tui.dialogs.prompts import ConfirmDialog, PromptDialog
from memtui.tui.layout import Pane
from memtui.tui.widgets.diff_view import DiffView
from memtui.tui.widgets.inputs import ChoiceInput
from memtui.tui.widgets.status_lines import KeyLine, News
from memtui.tui.widgets.text_window import OutcomeLine

from .sample_stage import changing
from .stage import Stage, fact, stage, write_store

SIZES = [(160, 45), (80, 24), (40, 12)]
ONE_LINE = "Delete this draft?"
LONG = "a long name of a saved filter that goes on and on " * 3


def _box(on: Stage) -> Widget:
    return on.app.screen.query_one(".box")


@pytest.mark.slow
async def test_a_question_of_one_line_is_a_small_box(root: Path) -> None:
    async with stage(root, SIZES[0]) as on:
        for size in SIZES:
            await on.resize(*size)
            said = [OutcomeLine(ONE_LINE)]
            on.app.push_screen(ConfirmDialog("Delete", said, {"d": "delete"}))
            await on.sees(ONE_LINE)
            assert _box(on).outer_size.width <= 40
            assert _box(on).outer_size.height <= 6
            assert "esc cancel" in on.text()
            await on.press("escape")


@pytest.mark.slow
async def test_the_keys_of_pickers_and_forms_are_those_that_do_something(root: Path) -> None:
    async with stage(root, (200, 60), state=root.parent / "state") as on:
        await on.press("colon")
        await on.sees("enter run")
        await on.type("qqqq")
        await on.sees("no matches")
        assert "enter run" not in on.text()
        await on.press("escape", "escape", "space", "space", "e")
        await on.sees("Edit 2 memories")
        assert "←→ choose" not in on.text()
        await on.press("tab", "tab", "tab")
        assert isinstance(on.app.screen.focused, ChoiceInput)
        await on.sees("←→ choose")


async def test_two_sizes_at_once_come_to_rest(root: Path) -> None:
    """As when the terminal is closed while the screen is made; they took turns for ever."""
    async with stage(root, (80, 24)) as on:
        layouts = 0

        def count_layout(_: object) -> None:
            nonlocal layouts
            layouts += 1

        on.browse.screen_layout_refresh_signal.subscribe(on.browse, count_layout, immediate=True)
        for size in (Size(100, 30), Size(80, 24)):
            on.browse.post_message(Resize(size, size))
            on.browse.call_after_refresh(lambda: None)  # or the second would replace the first
        for _ in range(500):
            await asyncio.sleep(0)
        assert layouts < 10


async def test_the_end_of_a_toast_is_on_the_screen(root: Path) -> None:
    async with stage(root, (40, 12), toasts=True) as on:
        for words in ("Saved 2 memories · u undo", "Exported 9 memories to /tmp/some/folder/a END"):
            on.app.clear_notifications()
            on.app.notify(words)
            await on.sees(words[-4:])
            assert "? help" in on.text()


@pytest.mark.slow
async def test_a_dialog_leaves_no_toast_behind_it(root: Path) -> None:
    async with stage(root, (120, 35), toasts=True) as on:
        on.app.notify("Saved: the word behind")
        await on.sees("word behind")
        await on.press("H")
        await on.sees("esc back")
        assert "word behind" not in on.text()


async def test_a_toast_that_needs_the_whole_screen_is_whole(root: Path) -> None:
    async with stage(root, (80, 24), toasts=True) as on:
        on.app.notify(f"BEGIN {'and what it has no place for ' * 13}END", timeout=60)
        await on.sees("END")
        await on.resize(40, 12)
        await on.sees("END")
        assert "BEGIN" in on.text()
        assert "? help" in on.text()


@pytest.mark.slow
async def test_what_the_help_finds_is_whole_where_there_is_room(root: Path) -> None:
    async with stage(root, (80, 24)) as on:
        await on.press("?")
        await on.sees("Find")
        assert "match.previous" not in on.text(), "ids are for config.toml"
        await on.press("/")
        await on.type("similar")
        await on.sees("similar")
        assert "enter done" not in on.text(), "there is nothing to scroll"
        await on.press("escape", "escape")
        assert on.app.screen is on.browse


@pytest.mark.slow
async def test_a_small_screen_shows_the_filter_and_several_commands(root: Path) -> None:
    async with stage(root, (40, 12)) as on:
        await on.press(":")
        await on.sees("Filter by recency")
        await on.press("escape", "b", "down", "down", "enter", "ctrl+v", "enter")
        await on.sees("by importance, then newe… ×")


@pytest.mark.slow
async def test_a_cursor_line_in_reverse_video_is_one_block(root: Path) -> None:
    async with stage(root, (80, 24), theme="terminal") as on:
        await on.press(":")
        await on.sees("Search as you type")
        rows = on.app.screen._compositor.render_strips()
        (row,) = [strip for strip in rows if "Search as you type" in strip.text]
        reversed_styles = [style for _, style, _ in row if style is not None and style.reverse]
        assert reversed_styles
        assert all(style.color is None or style.color.is_default for style in reversed_styles)


@pytest.mark.slow
async def test_an_export_says_how_many_and_what_it_has_no_place_for(root: Path) -> None:
    state = root.parent / "state"
    async with stage(root, (80, 24), state=state, toasts=True) as on:
        await on.press("/")
        await on.type("tea")
        await on.press("enter", "x", "tab", "right", "right", "tab")
        on.app.screen.query_one(Input).value = str(root.parent / "out.csv")
        await on.press("enter")
        await on.sees("Exported 2 memories to")
        (toast,) = [toast.message for toast in on.app._notifications]
        assert "\nleft out: " in toast


@pytest.mark.slow
async def test_nothing_on_a_small_screen_is_cut_for_good(root: Path) -> None:
    broken = root / "entities" / "garden" / "items.json"
    broken.parent.mkdir()
    broken.write_text('[{"id": "1", "content": "half written')
    async with stage(root, (40, 12), state=root.parent / "state") as on:
        await on.press("C")
        await on.sees("undo and redo it.")
        await on.press("escape", "U")
        await on.press("enter")
        await on.sees("▶")
        await on.press("home")
        await on.sees("no good copy")
        await on.sees(f" /{root.parts[1]}")


async def test_an_address_that_fits_is_on_one_line(root: Path) -> None:
    url = "https://example.org/" + "x" * 30
    async with stage(root, (80, 24)) as on:
        said = [OutcomeLine(url)]
        on.app.push_screen(ConfirmDialog("Open?", said, {"y": "open"}))
        await on.sees(url)


@pytest.mark.slow
async def test_clearing_the_filters_clears_the_order_too(root: Path) -> None:
    async with stage(root, (80, 24)) as on:
        await on.press("b", "down", "enter")
        await on.sees("oldest first ×")
        await on.press("F")
        await on.sees("newest first")
        assert "×" not in on.text()


@pytest.mark.slow
async def test_filters_have_the_room_before_what_could_be_reviewed(root: Path) -> None:
    async with stage(root, (60, 20)) as on:
        await on.press("/")
        await on.type("type:decision importance:medium")
        await on.press("enter")
        on.browse.chips.show_news([News("queue", "3 to review")])
        for filter_words in ("decision ×", "medium ×"):
            await on.sees(filter_words)


@pytest.mark.slow
async def test_an_input_shows_its_cursor_at_every_size(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        on.app.push_screen(PromptDialog("Save filter", hint="tea"))
        await on.settle()
        await on.type(f"{LONG}END")
        for size in (*SIZES, SIZES[0]):
            await on.resize(*size)
            assert "END" in on.text()


async def test_a_long_toast_leaves_most_of_the_screen_and_says_where_to_read_on(
    root: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("memtui"), "propagate", True)  # commands turn it off
    async with stage(root, (80, 24), toasts=True) as on:
        words = "\n".join(f"left out: file {number}" for number in range(40))
        on.app.notify(words)
        await on.sees("the whole text is in memtui.log")
        assert on.text().count("left out: file") == 7
        assert words in caplog.text


@pytest.mark.slow
async def test_a_long_choice_can_be_read_whole(root: Path) -> None:
    async with stage(root, SIZES[0]) as on:
        for size in SIZES:
            await on.resize(*size)
            choices = [Choice("a", "short"), Choice("b", LONG.strip() + " END")]
            on.app.push_screen(Picker("Saved filters", choices, several=False))
            await on.sees("short")
            await on.press("j")
            if size[0] < 160:
                await on.sees("a long name")
                shown = " ".join(on.text().replace("│", " ").split())
                assert "on and on" in shown
                assert ("END" in shown) == (size[0] == 80), "three rows at most"
            else:
                await on.sees("END")
            assert "esc cancel" in on.text()
            await on.press("escape")


@pytest.mark.slow
async def test_ctrl_c_leaves_a_dialog_as_escape_does(root: Path) -> None:
    async with stage(root, (80, 24), state=root.parent / "state") as on:
        for key in ("x", "@", "P", "ctrl+p", "I", "C"):
            await on.press(key)
            await on.settle()
            assert on.app.screen is not on.browse, key
            await on.press("ctrl+c")
            await on.settle()
            assert on.app.screen is on.browse, key
        await on.press("/", "a", "ctrl+c")
        assert on.app.focused is on.browse.memories, "and the search line"


@pytest.mark.slow
async def test_help_is_searched(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        await on.press("?")
        await on.sees("Search as you type")
        await on.press("/")
        await on.type("undo")
        await on.sees("Undo the last change")
        assert "Search as you type" not in on.text()
        await on.press("enter", "escape")
        await on.sees("Find")
        await on.press("escape")
        assert on.app.screen is on.browse


@pytest.mark.slow
async def test_the_palette_begins_with_what_begins_with_the_words(tmp_path: Path) -> None:
    async with changing(tmp_path, "agent-memory", size=(80, 24)) as on:
        await on.stand(on.first("agent-memory", kind="fact", status="active").ref)
        await on.press(":")
        await on.type("delete")
        await on.sees("▌  Delete (undo restores it)")
        await on.sees("   Retire (hide or delete")


@pytest.mark.slow
async def test_the_palette_shows_one_line_a_command_and_the_latest_first(
    root: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    async with stage(root, (120, 35), state=state) as on:
        await on.press(":")
        row = next(line for line in on.text().splitlines() if "Search as you type" in line)
        assert row.rstrip(" │").split()[-1] == "/" or " / " in row, "its key at the right"
        await on.type("toggle zoom")
        await on.press("enter")
        assert on.browse.zoomed
        await on.press("q")
    async with stage(root, (120, 35), state=state) as on:
        await on.press(":", "enter")
        assert not on.browse.zoomed, "the first command is the one used last"


def test_recent_commands_are_few_and_each_once() -> None:
    recent: tuple[str, ...] = ()
    for number in range(50):
        recent = with_recent(recent, f"a{number % 30}")
    assert recent[0] == "a19"
    assert len(recent) == len(set(recent)) == MAX_RECENT


@pytest.mark.slow
async def test_the_footer_shows_eight_things_and_always_help_and_quit(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        for number, pane in enumerate(Pane, 1):
            await on.resize(160, 45)
            await on.press(str(number))
            shown = key_bindings.for_footer(pane, on.browse.action_context())
            assert "search" in {action.id for action in shown}
            assert len(shown) <= 6
            assert on.text().splitlines()[-1].rstrip().endswith("? help  q quit")
            await on.resize(40, 12)
            assert on.text().splitlines()[-1].rstrip().endswith("? help  q quit")


@pytest.mark.slow
async def test_the_order_stays_beside_the_chips_and_the_timeline_says_its_most(
    root: Path,
) -> None:
    async with stage(root, (160, 45)) as on:
        on.browse.set_text("type:decision,bug")
        await on.press("4")
        assert "newest first" in on.text().splitlines()[1]
    facts = {"a": [fact(n, f"Number {n}", "2026-11-18") for n in range(12)]}
    facts["a"].append(fact(20, "Older", "2026-11-01"))
    async with stage(write_store(root.parent / "other", facts), (160, 45)) as on:
        await on.press("4")
        timeline = on.browse.timeline
        first, last = timeline.render_line(0).text, timeline.render_line(0).text.rstrip()
        assert first.startswith("12 ")
        _, edges = timeline._window()
        assert edges[-1] == timeline.size.width - 1, "the bars fill the width"
        assert len(last) > 10


def test_a_terminal_that_cannot_show_the_screen_is_refused() -> None:
    refuse_terminal({"TERM": "xterm"}, "utf-8")
    with pytest.raises(TerminalError, match="TERM=dumb"):
        refuse_terminal({"TERM": "dumb"}, "UTF-8")
    with pytest.raises(TerminalError, match="not UTF-8"):
        refuse_terminal({"TERM": "xterm"}, "iso8859-1")


@pytest.mark.slow
async def test_a_narrow_review_gives_its_rows_to_the_words(tmp_path: Path) -> None:
    """A cut name of a store took a quarter of each row."""
    async with changing(tmp_path, "simple-memory", "agent-memory", size=(60, 20)) as on:
        await on.keys("V")
        await on.sees("Who says otherwise")
        assert "… Simple Memory" in on.text()
        await on.resize(40, 12)
        await on.settle()
        assert "simple" not in on.text()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_a_toast_leaves_the_keys_of_a_dialog_in_sight(
    root: Path, size: tuple[int, int]
) -> None:
    """Also one of several lines."""
    async with stage(root, size, toasts=True) as on:
        for key in ("H", "x", "R", "P", "?"):
            await on.press(key)
            assert on.app.screen is not on.browse, key
            keys = on.app.screen.query_one(KeyLine)
            before = on.text().split("\n")[keys.region.y]
            assert "esc" in before, key
            on.app.notify("It could not be written. " * (size[0] // 20), title="Not saved")
            await on.settle()
            shown = on.text().split("\n")
            assert any("Not saved" in line for line in shown), key
            assert shown[keys.region.y] == before, key
            on.app.clear_notifications()
            await on.press("escape")
            assert on.app.screen is on.browse, key


@pytest.mark.slow
async def test_a_preview_in_a_low_window_begins_where_the_change_is_in_view(tmp_path: Path) -> None:
    async with changing(tmp_path, "agent-memory", size=(40, 12)) as on:
        await on.stand(on.first("agent-memory", kind="fact", status="active").ref)
        await on.keys("space", "down", "space", "d")
        view = on.app.screen.query_one(DiffView)
        changed = re.compile(r"│\s+[-+] ")
        assert any(map(changed.search, on.text().split("\n")))
        await on.resize(120, 35)
        assert view.top == 0
        await on.keys("escape", "&")
        assert "merged with 1 memory" in on.text()
