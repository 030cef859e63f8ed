"""What a search shows on the screen: the passage, what is shown instead, what filters hide."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from memtui.query import parse_query
from tests import long_run

from .stage import NOW, Stage, fact, stage, write_store

SIZES = [(120, 35), (80, 24)]
FILLER = "\n\n".join(f"Paragraph {n} about the weather in the harbour." for n in range(40))
NOTE = f"Harbour log\n\n{FILLER}\n\nThe zeppelin moored at pier nine.\n\n{FILLER}"


def store(tmp_path: Path) -> Path:
    return write_store(
        tmp_path / "store",
        {
            "harbour": [
                fact(1, NOTE, "2026-11-01"),
                fact(2, "The quillfeather contract ends", "2026-11-02"),
                fact(3, "An old zeppelin", "2026-11-03", status="historical"),
                fact(4, "A new airship", "2026-11-04", supersedes=3),
            ]
        },
    )


async def _search(on: Stage, words: str) -> None:
    await on.press("/")
    await on.type(words)
    await on.press("enter")


@pytest.mark.slow
async def test_row_and_detail_show_the_passage_that_matched(tmp_path: Path) -> None:
    async with stage(store(tmp_path), SIZES[0]) as on:
        await _search(on, "zeppelin pier")
        for size in SIZES:
            await on.resize(*size)
            await on.sees("zeppelin moored")
            row = on.browse.memories.draw(0, on.browse.memories.size.width, selected=False).text
            assert "The zeppelin moored" in row
            assert "Harbour log" not in row
            on.browse.detail.catch_up()
            shown = [
                "".join(part.text for part in on.browse.detail._lines[at].segments)
                for at in range(on.browse.detail.top, on.browse.detail.top + on.browse.detail.page)
            ]
            assert any("zeppelin moored" in line for line in shown)
            assert on.browse.detail.top > 0


@pytest.mark.slow
async def test_a_match_behind_the_end_of_a_row_is_shown(tmp_path: Path) -> None:
    text = "Automaton tunes end with an explicit stop line and after 90 seconds with a timeout"
    tunes = write_store(tmp_path / "store", {"tunes": [fact(1, text, "2026-11-01")]})
    notes = tmp_path / "notes"
    notes.mkdir()
    title = "# The bells of the northern tower and all of their ropes, by Zacharias"
    (notes / "bells.md").write_text(f"{title}\n\nNothing else.\n", encoding="utf-8")
    for path, word in ((tunes, "timeout"), (notes, "zacharias")):
        async with stage(path, (80, 24)) as on:
            await _search(on, word)
            await on.sees("1 of 1")
            row = on.browse.memories.draw(0, on.browse.memories.size.width, selected=False).text
            assert word in row.lower()


@pytest.mark.slow
async def test_the_line_under_the_search_says_what_is_shown_instead_and_what_filters_hide(
    tmp_path: Path,
) -> None:
    async with stage(store(tmp_path), SIZES[0]) as on:
        for size in SIZES:
            await on.resize(*size)
            await _search(on, "quilfeather")
            await on.sees('no "quilfeather"; showing "quillfeather"')
            assert "1 of 4" in on.text()
            await _search(on, "zeppelin")
            await on.sees("1 more with status:all (superseded)")


async def test_nothing_found_says_so_and_lists_nothing(tmp_path: Path) -> None:
    async with stage(store(tmp_path), (80, 24)) as on:
        await _search(on, "🛸")
        await on.sees("No matches.")
        await on.sees('no "🛸"')


@pytest.mark.slow
async def test_marked_memories_are_searched_and_what_that_hides_is_named(tmp_path: Path) -> None:
    async with stage(store(tmp_path), (120, 35)) as on:
        await _search(on, "zeppelin OR contract")
        await on.press("space")  # marks the first
        first = on.headlines()[0]
        assert len(on.headlines()) == 2
        await on.press("/", "ctrl+u")
        await on.type("is:marked zeppelin")
        assert on.headlines() in ([first], [])
        await on.press("ctrl+u")
        await on.type("is:marked")
        await on.press("enter")
        assert on.headlines() == [first]
        await on.sees("is marked ×")
        await _search(on, "zeppelin contract harbour" if "zeppelin" in first else "harbour")
        assert "ref:" not in on.text()


@pytest.mark.slow
async def test_a_group_stays_in_the_line_and_holds_after_enter(tmp_path: Path) -> None:
    async with stage(store(tmp_path), (120, 35)) as on:
        await _search(on, "(quillfeather OR airship) -contract")
        await on.sees("memtui / (quillfeather OR airship) -contract")
        assert on.headlines() == ["A new airship"]


PIECES = (
    *("a", "lease", "(", ")", '"', "-", "NOT", "OR", "AND", "~", "*", "?", "/", "/o+/", "type:"),
    *("type:person", "is:marked", "is:pinned", "since:7d", "created:>2026", "sort:new", "--x"),
    *("prefer:person", "->", "&", ":", "\\", "é", "日", "🚀", "~x", "x~", "has:links", "tpye:x"),
    *("zeppelin", "[/]", "entity:bob", "\x00", "\u202e", "importance:hihg", "sort:loudest"),
)


@pytest.mark.slow
async def test_no_line_stops_the_screen_or_lists_everything_by_accident(tmp_path: Path) -> None:
    chosen = random.Random(5)
    async with stage(store(tmp_path), (80, 24)) as on:
        await on.press("/")
        for _ in range(long_run.count(8, 60)):
            line = chosen.choice((" ", "")).join(chosen.choices(PIECES, k=chosen.randint(1, 5)))
            await on.press("ctrl+u")
            await on.type(line)
            assert on.app.fault is None
            query = parse_query(on.query, NOW, typing=True)
            if query.is_empty and query.matches_nothing:
                assert on.headlines() == [], line
