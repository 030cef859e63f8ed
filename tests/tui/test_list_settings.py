"""The settings `list.density` and `list.dates` change how the memory list looks."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from memtui.config import Settings
from memtui.model import Memory

from .stage import NOW, Stage, fact, stage, write_store

LONG = " ".join(f"word{number:02}" for number in range(40))
FACTS = {
    "shop": [
        fact(1, LONG, "2026-11-18"),
        fact(2, "Second", "2026-11-17"),
        fact(3, "Third", "2026-11-16"),
        *[fact(number, f"Number {number}", "2026-10-01") for number in range(4, 60)],
    ]
}


def _list_rows(on: Stage) -> list[str]:
    """The text of the memory list, row by row."""
    on.text()  # draws it
    return [
        on.browse.memories.render_line(y).text.rstrip(" ▐")
        for y in range(on.browse.memories.size.height)
    ]


def _settings(density: str = "compact", dates: str = "ago") -> Settings:
    return Settings(theme="dusk", density=density, dates=dates)


async def test_by_default_a_memory_takes_one_row(tmp_path: Path) -> None:
    assert Settings().density == "compact"
    async with stage(write_store(tmp_path, FACTS)) as on:
        rows = _list_rows(on)
        assert on.browse.memories.page == len(rows)
        assert "word00" in rows[0]
        assert "Second" in rows[1]
        assert "Third" in rows[2]


async def test_comfortable_puts_a_blank_row_between(tmp_path: Path) -> None:
    async with stage(write_store(tmp_path, FACTS), settings=_settings("comfortable")) as on:
        rows = _list_rows(on)
        assert "word00" in rows[0]
        assert "Second" in rows[2]
        assert "Third" in rows[4]
        assert rows[1] == rows[3] == ""
        assert on.browse.memories.page == len(rows) // 2


async def test_roomy_shows_two_rows_of_text(tmp_path: Path) -> None:
    async with stage(write_store(tmp_path, FACTS), settings=_settings("roomy")) as on:
        rows = _list_rows(on)
        first, second = rows[0].split(), rows[1].split()
        last = max(word for word in first if word.startswith("word"))
        following = f"word{int(last[4:]) + 1:02}"
        assert following in second
        assert rows[1].index(following) == rows[0].index("word00")
        assert "Second" in rows[3]
        assert rows[2] == ""


async def test_a_title_is_not_repeated_in_the_second_row(tmp_path: Path) -> None:
    async with stage(write_store(tmp_path, FACTS), settings=_settings("roomy")) as on:
        content = "# A title\n\nThe text\nand more"
        memory = Memory("a:1", "1", "a", "document", title="A title", content=content)
        assert on.browse.memories._texts(memory, 40) == ["A title", "The text and more"]


@pytest.mark.slow
@pytest.mark.parametrize("density", ["comfortable", "roomy"])
async def test_keys_mouse_and_scrollbar_go_by_memory(tmp_path: Path, density: str) -> None:
    async with stage(write_store(tmp_path, FACTS), settings=_settings(density)) as on:
        memories = on.browse.memories
        for size in ((120, 35), (80, 24), (40, 12)):
            await on.resize(*size)
            rows = memories.line_height
            await on.press("g", "j")
            assert memories.cursor == 1
            assert _list_rows(on)[rows].startswith("▌")
            assert await on.pilot.click(memories, offset=(10, 1 + 2 * rows))
            await on.settle()
            assert memories.cursor == 2
            await on.press("pagedown")
            assert memories.cursor == 2 + memories.page
            await on.press("G")
            assert memories.cursor == memories.line_count() - 1
            assert memories.top == memories.line_count() - memories.page
            height = memories.size.height
            assert sum(memories._thumb(height, memories.line_count())) == height


@pytest.mark.slow
async def test_dates_show_as_dates(tmp_path: Path) -> None:
    root = write_store(tmp_path, FACTS)
    async with stage(root, settings=_settings()) as on:
        assert "   3d " in _list_rows(on)[0]
    for size in ((120, 35), (80, 24), (40, 12)):
        async with stage(root, size, settings=_settings(dates="date")) as on:
            first = _list_rows(on)[0]
            assert "2026-11-18" in first
            assert "word00" in first


async def test_all_rows_tell_their_age_from_one_clock(tmp_path: Path) -> None:
    """Rows drawn anew by the cursor say what those drawn before say, until all are drawn anew."""
    times = [(NOW - timedelta(seconds=51)).isoformat()] * 3
    facts = [
        {**fact(number, f"Number {number}", "2026-11-21"), "createdAt": time}
        for number, time in enumerate(times)
    ]
    async with stage(write_store(tmp_path, {"shop": facts})) as on:

        def ages() -> list[str]:
            return [row.split("Number")[0].split()[-1] for row in _list_rows(on)[:3]]

        assert set(ages()) == {"51s"}
        assert "51 seconds ago" in on.text()
        on.app.now = lambda: NOW + timedelta(seconds=12)
        await on.press("j")
        assert set(ages()) == {"51s"}
        assert "51 seconds ago" in on.text()
        on.browse.advance_clock()
        await on.settle()
        assert set(ages()) == {"1m"}
        assert "a minute ago" in on.text()
