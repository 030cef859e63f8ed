"""The status line begins with what a person came for; the room of the panes; signs in the help."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memtui import text
from memtui.tui.dialogs.comparison import ComparisonScreen
from memtui.tui.layout import CLOSED_ROWS
from memtui.tui.review import ReviewScreen
from memtui.tui.widgets.inputs import TextInput

from .sample_stage import changing
from .stage import NOW, Stage, fact, stage, write_store

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
FACTS = {
    "people/alice": [
        fact(1, "Alice lives in Porto and works for Lumen", "2026-03-02"),
        fact(2, f"The deploy token is {TOKEN}", "2026-03-03"),
    ]
}


def status(on: Stage) -> str:
    return on.text().split("\n")[1]


@pytest.mark.slow
async def test_the_status_line_begins_with_what_is_new_and_what_was_found(tmp_path: Path) -> None:
    root, state = write_store(tmp_path / "home", FACTS), tmp_path / "state"
    async with stage(root, state=state, now=lambda: NOW - timedelta(days=3)) as on:
        await on.press("q")
    facts = [*FACTS["people/alice"], fact(3, "Alice moved to Lisbon", NOW.date().isoformat())]
    write_store(tmp_path / "home", {"people/alice": facts})
    async with stage(root, state=state) as on:
        day = text.since(NOW - timedelta(days=3), NOW)
        await on.sees(f" R 1 new {day}  V 1 secret")
        assert status(on).startswith(f" R 1 new {day}")
        column = status(on).index("1 secret")
        await on.pilot.click("#chips", offset=(column + 1, 0))
        await on.until(lambda: isinstance(on.app.screen, ReviewScreen), "the review opens")
        await on.press("escape")
        await on.pilot.click("#chips", offset=(status(on).index("1 new"), 0))
        await on.until(lambda: isinstance(on.app.screen, ComparisonScreen), "what changed opens")


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(hours=2), "since 10:00"),
        (timedelta(days=1), "since yesterday"),
        (timedelta(days=4), "since Tuesday"),
        (timedelta(days=10), "since 11 Nov"),
        (timedelta(days=400), "since 17 Oct 2025"),
    ],
)
def test_since_when_something_is_new(
    ago: timedelta, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime(2026, 11, 21, 12, 0, tzinfo=UTC).astimezone()
    assert text.since(now - ago, now) == words or now.utcoffset() != timedelta()


async def test_the_detail_is_as_wide_as_the_list_and_the_timeline_opens(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        browse = on.browse
        assert abs(browse.memories.outer_size.width - browse.detail.outer_size.width) <= 1
        assert browse.timeline.outer_size.height == CLOSED_ROWS
        assert " 4 Timeline " in on.text()
        await on.press("4")
        assert browse.timeline.outer_size.height > CLOSED_ROWS
        assert "4 Timeline by " in on.text()
        await on.press("2")
        assert browse.timeline.outer_size.height == CLOSED_ROWS


async def test_a_click_on_a_bar_of_the_closed_timeline_filters_by_it(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        row = on.text().split("\n")[-3]
        await on.pilot.click(offset=(len(row.rstrip()) - 1, 42))
        await on.settle()
        chips = [chip.label for chip in on.browse.view.chip_list()]
        assert chips, "the newest bar is filtered by"


@pytest.mark.slow
async def test_the_help_begins_with_the_signs_of_the_agents(tmp_path: Path) -> None:
    async with changing(tmp_path, "claude-code", "mcp-memory", size=(80, 24)) as on:
        assert "1 Agents" in str(on.browse.entities.border_title)
        await on.keys("?")
        await on.sees("CC Claude Code  MC MCP memory")
        assert "match.next" not in on.text()


@pytest.mark.slow
async def test_the_cursor_stays_with_a_memory_that_no_longer_matches(
    root: Path, tmp_path: Path
) -> None:
    async with stage(root, state=tmp_path / "state", toasts=True) as on:
        await on.press("/")
        await on.type("tea")
        await on.press("enter")
        memory = on.browse.memories.memory
        assert memory is not None
        await on.press("e")
        await on.settle()
        on.app.screen.query_one(TextInput).set_raw("Alice prefers coffee now")
        await on.press("ctrl+s")
        assert len(on.headlines()) == 1
        shown = on.browse.detail.memory
        assert shown is not None
        assert (shown.ref, shown.content) == (memory.ref, "Alice prefers coffee now")
        assert "no longer matches" in str([each.message for each in on.app._notifications])
        await on.press("p")
        assert on.browse.worker.find_memory(memory.ref).pinned  # type: ignore[union-attr]
        await on.press("g")
        assert on.browse.detail.memory is on.browse.memories.memory
