"""Every key of the main screen does what the help says."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from memtui.config import Settings
from memtui.library import Library
from memtui.query import parse_query
from memtui.tui.actions import BY_ID
from memtui.tui.dialogs.help import HelpScreen
from memtui.tui.dialogs.history import HistoryScreen
from memtui.tui.dialogs.picker import Picker, ThemePicker
from memtui.tui.layout import Pane
from memtui.tui.unreadable import UnreadablePage
from tests.samples import SAMPLES

from .stage import NOW, Stage, stage, write_store

pytestmark = pytest.mark.textual


@pytest.mark.slow
async def test_moving_in_the_list(root: Path) -> None:
    async with stage(root, (100, 20)) as on:
        memories = on.browse.memories
        last = memories.last
        for keys, place in (
            (["j", "down", "j"], 3),
            (["k", "up"], 1),
            (["G"], last),
            (["g"], 0),
            (["end"], last),
            (["home"], 0),
            (["ctrl+d"], memories.page // 2),
            (["ctrl+u"], 0),
            (["pagedown"], min(last, memories.page)),
            (["pageup"], 0),
            (["ctrl+f"], min(last, memories.page)),
            (["ctrl+b"], 0),
        ):
            await on.press(*keys)
            assert memories.cursor == place, keys
            assert memories.top <= memories.cursor < memories.top + memories.page


async def test_digits_and_tab_give_the_keys_to_panes(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        for number, pane in enumerate(Pane, 1):
            await on.press(str(number))
            assert on.browse.pane is pane
            assert on.app.focused is on.browse.pane_widget(pane)
        await on.press("2", "tab")
        assert on.browse.pane is Pane.DETAIL
        await on.press("shift+tab", "shift+tab")
        assert on.browse.pane is Pane.ENTITIES


async def test_enter_goes_on_to_the_detail_and_h_comes_back(root: Path) -> None:
    async with stage(root) as on:
        await on.press("enter")
        assert on.browse.pane is Pane.DETAIL
        await on.press("h")
        assert on.browse.pane is Pane.MEMORIES
        await on.press("l")
        assert on.browse.pane is Pane.DETAIL
        await on.press("left")
        assert on.browse.pane is Pane.MEMORIES
        await on.press("right")
        assert on.browse.pane is Pane.DETAIL


async def test_zoom_and_back(root: Path) -> None:
    async with stage(root) as on:
        await on.press("3", "z")
        assert on.browse.shown_panes == {Pane.DETAIL}
        assert not on.browse.memories.display
        await on.press("z")
        assert Pane.MEMORIES in on.browse.shown_panes
        await on.press("z", "escape")
        assert not on.browse.zoomed


@pytest.mark.slow
async def test_search_as_you_type_and_leave_it(root: Path) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("tea")
        assert set(on.headlines()) == {
            "Bob drinks tea only when the coffee is out",
            "Alice prefers tea in the morning",
        }
        await on.press("enter")
        assert on.app.focused is on.browse.memories
        assert on.query == "tea"
        await on.press("escape")
        assert on.query == ""
        assert len(on.headlines()) > 5


async def test_what_was_found_while_typing_stays_on_enter(root: Path) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("migr")
        assert on.headlines() == ["Bob reviews every migration himself"]
        await on.press("enter")
        assert on.headlines() == ["Bob reviews every migration himself"]


async def test_a_search_that_is_called_off_by_the_next_letter_is_no_fault(root: Path) -> None:
    async with stage(root) as on:
        worker, query = on.browse.worker, parse_query("tea", NOW)
        library = worker.library
        assert library is not None
        worker.start("find", lambda _: library.find(query, lambda: True))
        await on.settle()
        assert on.app.fault is None


@pytest.mark.slow
async def test_typed_filters_become_chips(root: Path) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("tea type:preference since:30d")
        assert on.headlines() == ["Bob drinks tea only when the coffee is out"]
        await on.press("enter")
        assert on.query == "tea"
        await on.sees("type preference ×")
        await on.sees("last 30d ×")
        assert on.headlines() == ["Bob drinks tea only when the coffee is out"]
        await on.press("F")
        assert "type preference" not in on.text()
        assert len(on.headlines()) == 2


@pytest.mark.slow
async def test_former_searches_come_back_with_up(root: Path) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("tea")
        await on.press("enter", "escape", "/", "up")
        assert on.query == "tea"
        await on.press("down")
        assert on.app.focused is on.browse.memories


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "title"),
    [("t", "Filter by type"), ("s", "Filter by status"), ("i", "Filter by importance")],
)
async def test_pickers_filter(root: Path, key: str, title: str) -> None:
    async with stage(root) as on:
        await on.press(key)
        assert isinstance(on.app.screen, Picker)
        await on.sees(title)
        await on.press("escape")
        assert not on.browse.view.is_filtered
        await on.press(key, "down", "space", "enter")
        assert on.app.screen is on.browse
        assert on.browse.view.is_filtered
        await on.sees("×")
        await on.press(key, "space", "enter")
        assert not on.browse.view.is_filtered


@pytest.mark.slow
async def test_a_picker_narrows_as_you_type(tmp_path: Path) -> None:
    from .stage import fact

    kinds = [f"kind-{letter}" for letter in "abcdefghijk"]
    facts = [fact(n, f"About {kind}", "2026-11-01", kind) for n, kind in enumerate(kinds)]
    async with stage(write_store(tmp_path, {"many": facts})) as on:
        await on.press("t")
        await on.type("kind-g")
        assert "kind-a" not in on.text().split("Filter by type")[1].split("╰")[0].split("│")[1]
        await on.press("enter")
        assert on.headlines() == ["About kind-g"]


@pytest.mark.slow
async def test_recency(root: Path) -> None:
    async with stage(root) as on:
        await on.press("r")
        await on.sees("the last 7 days")
        await on.press("j", "j", "enter")
        assert len(on.headlines()) == 3
        await on.sees("last 7d ×")


def shown_times(on: Stage) -> list[object]:
    memories = on.browse.memories
    return [memories._rows[slot].when for slot in memories.slots]


async def test_the_order_is_chosen_and_the_one_in_use_is_marked(root: Path) -> None:
    async with stage(root) as on:
        first, times = on.headlines(), shown_times(on)
        await on.press("b", "down", "enter")
        assert shown_times(on) == times[::-1] != times
        await on.press("b")
        lines = on.text().split("\n")
        assert any("✓ oldest first" in line for line in lines)
        await on.press("up", "enter")
        assert on.headlines() == first


@pytest.mark.slow
async def test_saved_filters(root: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    async with stage(root, config_file=config) as on:
        await on.press("f")
        await on.sees("No saved filters. Search")
        await on.press("escape", "/")
        await on.type("type:decision")
        await on.press("enter", "f", "enter")
        await on.type("what we decided")
        await on.press("enter", "F")
        assert not on.browse.view.is_filtered
        await on.press("f", "enter")
        assert on.headlines() == [
            "Tokens expire after 24 hours",
            "Use Postgres for the ledger, not SQLite",
        ]
    assert "what we decided" in config.read_text()


async def test_shift_and_arrows_mark_a_range(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        memories = on.browse.memories
        slots = [int(slot) for slot in memories.slots]
        await on.press("shift+down", "shift+down")
        assert (memories.cursor, memories.marked) == (2, set(slots[:3]))
        await on.press("shift+up")
        assert (memories.cursor, memories.marked) == (1, set(slots[:2]))
        await on.press("home", "shift+up")
        assert (memories.cursor, memories.marked) == (0, set(slots[:2]))
        await on.press("j", "j", "shift+up")
        assert memories.marked == set(slots[:3]), "a range adds to what is marked"


async def test_v_marks_what_the_cursor_passes_until_it_ends(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        memories = on.browse.memories
        slots = [int(slot) for slot in memories.slots]
        await on.press("space", "j", "j", "v")
        await on.sees("marking a range · 2 marked")
        await on.sees("v end range")
        await on.press("G")
        assert memories.marked == {slots[0], *slots[3:]}
        await on.press("k", "shift+up")
        assert memories.marked == {slots[0], *slots[3:-2]}
        await on.press("g", "g")
        assert memories.marked == set(slots[:4]), "it is turned round where it began"
        await on.press("v", "G")
        assert memories.marked == set(slots[:4])
        await on.press("v", "escape", "k")
        assert memories.marked == {*slots[:4], slots[-1]}, "what was marked stays"
        await on.press("escape")
        assert not memories.marked


async def test_a_range_ends_with_its_list(root: Path) -> None:
    async with stage(root, (120, 35)) as on:
        memories = on.browse.memories
        await on.press("v", "j", "b", "down", "enter")
        assert (memories.is_marking, len(memories.marked)) == (False, 2)
        await on.press("escape", "v", "j", "space", "j")
        assert (memories.is_marking, len(memories.marked)) == (False, 2)


async def test_settings_give_the_order_its_former_key(root: Path) -> None:
    keys = {"order": ("v",), "mark.range": ("b",)}
    async with stage(root, (120, 35), settings=Settings(keys=keys), toasts=True) as on:
        assert not on.app._notifications
        await on.press("v")
        await on.sees("✓ as usual")
        await on.press("escape", "b", "j")
        assert len(on.browse.memories.marked) == 2
        await on.sees("b end range")


async def test_marks(root: Path) -> None:
    async with stage(root) as on:
        await on.press("space", "space")
        assert len(on.browse.marked_memories()) == 2
        assert on.browse.memories.cursor == 2
        await on.sees("2 marked")
        await on.press("*")
        assert len(on.browse.marked_memories()) == len(on.headlines())
        await on.press("*")
        assert not on.browse.marked_memories()
        await on.press("space", "escape")
        assert not on.browse.marked_memories()


async def test_copy_goes_to_the_clipboard_without_controls(tmp_path: Path) -> None:
    from .stage import fact

    root = write_store(tmp_path, {"x": [fact(1, "a\x1b]0;evil\x07b\ttab\nline", "2026-11-01")]})
    async with stage(root) as on:
        await on.press("y")
        assert on.app.clipboard == "a]0;evilb\ttab\nline"


@pytest.mark.slow
async def test_history_shows_what_changed_and_leads_there(root: Path) -> None:
    async with stage(root) as on:
        await find(on, "lisbon")
        await on.press("H")
        assert isinstance(on.app.screen, HistoryScreen)
        await on.sees("superseded")
        await on.press("j", "enter")
        assert on.app.screen is on.browse
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.content == "Alice lives in Porto"


async def test_references_can_be_followed_and_left(root: Path) -> None:
    async with stage(root) as on:
        await find(on, "lisbon")
        await on.press("enter")
        await on.sees("Supersedes")
        await on.press("3", "enter")
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.content == "Alice lives in Porto"
        await on.press("backspace")
        assert "Lisbon" in on.browse.detail.memory.content
        await on.act("follow.back")
        assert on.browse.detail.targets == 1


async def test_moving_in_the_tree_filters_and_enter_goes_into_the_list(root: Path) -> None:
    async with stage(root) as on:
        await on.press("1", "j")
        await on.settle()
        chosen = on.browse.view.chips.conditions[0]
        assert chosen.field == "entity"
        assert "entity" in on.text().splitlines()[1]
        assert len(on.headlines()) < 9
        await on.press("enter")
        assert on.browse.pane is Pane.MEMORIES
        assert on.browse.view.is_filtered
        await on.press("1", "g")
        await on.settle()
        assert not on.browse.view.is_filtered


async def test_a_tree_unfolds_and_folds(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "ambient", tmp_path / "ambient")
    async with stage(tmp_path / "ambient") as on:
        tree = on.browse.entities
        await on.press("1", "g", "j")
        count = tree.line_count()
        if tree.path in tree._unfolded:
            await on.press("h")
            count = tree.line_count()
        await on.press("l")
        unfolded = tree.line_count()
        assert unfolded > count
        await on.press("right")
        assert tree.cursor == 2
        await on.press("left")
        assert tree.cursor == 1
        await on.press("h")
        assert tree.line_count() == count


async def test_the_first_level_is_the_program_until_the_tree_is_flat(tmp_path: Path) -> None:
    for name in ("claude-code", "mcp-memory"):
        shutil.copytree(SAMPLES / name, tmp_path / "all" / name)
    roots = [tmp_path / "all" / name for name in ("claude-code", "mcp-memory")]
    open_all = partial(Library.open, roots, state=tmp_path / "state")
    async with stage(tmp_path / "all", (160, 45), open_library=open_all) as on:
        tree = on.browse.entities

        def names() -> list[str]:
            return [line.name for line in tree.rows]

        await on.ready()
        await on.settle()
        assert {"Claude Code", "MCP memory"} <= set(names())
        await on.press("1", "j")
        await on.settle()
        assert [chip.value for chip in on.browse.view.chip_list(on.app.store_name)] == [
            "Claude Code"
        ]
        found = on.browse.found
        assert found is not None
        assert {found.rows[slot].store for slot in found.slots} == {"claude-code"}
        await on.press("l")
        assert "chime-control" in names(), "a project by the last part of its path"
        await on.act("flatten")
        assert "MCP memory" not in names()
        assert "chime-control" in names()
        await on.act("flatten")
        assert names()[1] == "Claude Code"
        await on.press("F")
        await on.settle()
        assert tree._is_chosen(tree.rows[0])


@pytest.mark.slow
async def test_statistics_filter(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        await on.press("5", "enter")
        assert on.browse.view.chips.conditions[0].field == "type"
        await on.press("enter")
        assert not on.browse.view.is_filtered


@pytest.mark.slow
async def test_the_statistics_pane_says_where_a_load_limit_cuts(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "claude-code", tmp_path / "store")
    async with stage(tmp_path / "store", (160, 45)) as on:
        await on.press("5", "z")
        facts = {row.words: row.fact for row in on.browse.statistics.rows if row.fact}
        assert facts["chime-control: MEMORY.md"] == "cut at line 201"
        assert facts["bell-reviewer: MEMORY.md"] == "3%"
        assert "cut at line 201" in on.text()


async def test_the_timeline_filters_and_changes_its_unit(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        timeline = on.browse.timeline
        await on.press("4")
        await on.press("+", "+")
        assert timeline.unit == "day"
        await on.press("-", "-")
        assert timeline.unit == "month"
        await on.press("G", "enter")
        assert {h[:3] for h in on.headlines()} == {"Bob", "The", "Tok"}
        assert on.browse.view.is_filtered
        assert len(on.browse.timeline.bars) > 1, "the other bars can still be chosen"
        await on.press("enter")
        assert not on.browse.view.is_filtered
        at = timeline.cursor
        await on.press("h", "left")
        assert timeline.cursor == at - 2
        await on.press("l", "right", "g")
        assert timeline.cursor == 0
        await on.press("home", "end")
        assert timeline.cursor == at


@pytest.mark.slow
async def test_help_theme_unreadable_palette(root: Path) -> None:
    async with stage(root) as on:
        await on.press("?")
        assert isinstance(on.app.screen, HelpScreen)
        await on.sees("new since you last looked")
        await on.press("G")
        await on.sees("q ^c")
        await on.press("escape", "U")
        assert isinstance(on.app.screen, UnreadablePage)
        await on.press("escape", "T")
        assert isinstance(on.app.screen, ThemePicker)
        await on.press("escape")
        for key in (":", "ctrl+p"):
            await on.press(key)
            await on.sees("type to filter")
            await on.press("escape")
            assert on.app.screen is on.browse


@pytest.mark.slow
async def test_the_palette_does_what_a_key_does(root: Path) -> None:
    async with stage(root) as on:
        await on.press(":")
        await on.type("toggle zoom")
        await on.press("enter")
        await on.settle()
        assert on.browse.zoomed


WRITING = ("edit", "new", "supersede", "retire", "restore", "pin", "link", "undo", "redo", "export")


async def test_keys_that_write_say_why_not_or_do_it(root: Path) -> None:
    """No key of the design is without an answer."""
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    async with stage(root) as on:
        for name in WRITING:
            await on.press(BY_ID[name].keys[0])
            assert on.app._notifications or on.app.screen is not on.browse, name
            on.app.clear_notifications()
            await on.press(*["escape"] * (on.app.screen is not on.browse))
            assert on.app.screen is on.browse, name
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


async def test_quit(root: Path) -> None:
    async with stage(root) as on:
        await on.pilot.press("q")
        await on.pilot.pause()
        assert on.app._exit


async def find(on: Stage, words: str) -> None:
    """Search for words and go to the first hit."""
    await on.press("/")
    await on.type(words)
    await on.press("enter")
