"""The timeline as an instrument: units, and a range that filters everything."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

from memtui.insight.timeline import build

from .sample_stage import changing
from .stage import Stage, compare, stage

SIZES = ((80, 24), (40, 12))


@pytest.mark.parametrize("size", SIZES, ids="{0[0]}x{0[1]}".format)
async def test_how_a_selected_range_looks(root: Path, size: tuple[int, int]) -> None:
    async with stage(root, size) as on:
        await on.press("4", "-", "shift+left", "shift+left")
        compare(f"timeline-brush-{size[0]}x{size[1]}", await on.still())


async def test_a_range_filters_everything_else(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        await on.press("4", "-", "shift+left", "shift+left")
        chips = on.browse.view.chips
        assert chips.since is not None
        assert chips.until is not None
        assert (chips.since.text, chips.until.text) == ("2026-09-01", "2026-11-30")
        assert len(on.headlines()) == 5
        assert len(on.browse.timeline.bars) > 3, "the bars outside can still be chosen"
        await on.press("shift+right")
        assert on.browse.view.chips.since is not None
        assert on.browse.view.chips.since.text == "2026-10-01"
        assert len(on.headlines()) == 4
        await on.press("F")
        assert len(on.headlines()) == 9


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys",
    [
        ["shift+left", "F", "shift+left"],
        ["shift+left", "shift+left", "F", "shift+left", "+"],
        ["enter", "-", "left", "enter", "+", "enter"],
        ["enter", "enter", "shift+left", "F", "enter", "enter"],
    ],
    ids=" ".join,
)
async def test_keys_in_one_burst_do_not_wait_for_the_counts(root: Path, keys: list[str]) -> None:
    ends = []
    for burst in (False, True):
        async with stage(root, (160, 45)) as on:
            await on.press("4", "-")
            if burst:
                for key in keys:
                    on._strike(key)
                await on.settle()
            else:
                await on.press(*keys)
            pane, chips = on.browse.timeline, on.browse.view.chips
            ends.append((pane.unit, pane.cursor, chips.since, chips.until))
    assert ends[0] == ends[1]


async def test_the_mouse_selects_a_range(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        await on.press("4", "-")
        timeline = on.browse.timeline
        _, edges = timeline._window()
        left, right = edges[-4] + 2, edges[-1] - 2
        await on.pilot.mouse_down(timeline, offset=(right, 3))
        await on.pilot.hover(timeline, offset=(left, 3))
        await on.pilot.mouse_up(timeline, offset=(left, 3))
        await on.settle()
        chips = on.browse.view.chips
        assert chips.since is not None
        assert chips.since.text == "2026-09-01"


async def test_units_from_days_to_years_are_counted_at_once(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        timeline = on.browse.timeline
        await on.press("4", "-", "-", "-")
        assert timeline.unit == "year"
        assert [bar.count for bar in timeline.bars] == [9]
        await on.press("+", "+", "+", "+")
        assert timeline.unit == "day"


@pytest.mark.slow
async def test_sessions_and_daily_notes_stand_below_the_bars(tmp_path: Path) -> None:
    async with changing(tmp_path, "simple-memory", "agent-memory", size=(160, 45)) as on:
        await on.show("kind:episode")
        await on.keys("4")
        assert "◆" in _pane(on)
        assert "session" in _pane(on)


async def test_every_later_year_is_written_below_the_bars(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        _show(on, {_day(2024, 12, 2) + 7 * week: 1 for week in range(86)})
        shown = _pane(on)
    assert "Jan 2025" in shown
    assert "Jan 2026" in shown


async def test_the_count_of_a_bar_that_is_cut_is_written_beside_it(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        days = {_day(2026, 1, 5) + 7 * week: 3 for week in range(12)}
        await on.press("4")
        _show(on, days | {_day(2026, 4, 6): 77})
        assert "3 ▒77 " in _pane(on)


async def test_undated_memories_offer_no_keys_of_bars(root: Path) -> None:
    async with stage(root, (160, 45)) as on:
        await on.press("4")
        assert "← earlier" in on.text().splitlines()[-1]
        _show(on, {})
        await on.press("-")
        assert "no dated memories" in _pane(on)
        keys = on.text().splitlines()[-1]
        assert not [key for key in ("earlier", "select", "finer", "coarser") if key in keys]


def _day(year: int, month: int, day: int) -> int:
    return (date(year, month, day) - date(1970, 1, 1)).days


def _show(on: Stage, days: Mapping[int, int]) -> None:
    on.browse.timeline.show(build(days, 0 if days else 9, "week"))
    on.app.screen._on_timer_update()


def _pane(on: Stage) -> str:
    region = on.browse.timeline.region
    return "\n".join(on.text().splitlines()[region.y : region.bottom])
