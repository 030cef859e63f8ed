"""A list without matches says what to drop and how many memories that gives; enter drops it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .sample_stage import changing
from .stage import Stage, stage


def offers(on: Stage) -> dict[str, int]:
    """What can be dropped, and the count beside it."""
    found = re.findall(r"[│▌] +(with.+?)  +([\d,]+)", on.text())
    return {words.strip(): int(count.replace(",", "")) for words, count in found}


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
async def test_each_line_gives_what_the_list_promises(root: Path, number: int) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("tea type:decision")
        await on.press("enter")
        assert offers(on) == {"without tea": 2, "without type:decision": 2}
        assert "enter drop" in on.text()
        await on.press(*["j"] * number, "enter")
        assert len(on.headlines()) == 2
        chips = [(chip.label, chip.value.rstrip("*")) for chip in on.browse.view.chip_list()]
        assert (on.query, chips) == [("", [("type", "decision")]), ("tea", [])][number]
        assert not offers(on)


@pytest.mark.slow
async def test_a_filter_that_nobody_knows_is_not_answered_with_everything(root: Path) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("typ:dec")
        await on.sees("did you mean type:?")
        assert not offers(on)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("zebra quagga", {"without the words": 9}),
        ("zebra type:nothing", {"without words and filters": 9}),
        ("tea type:dec", {"without tea": 2, "without type:dec": 2}),
        ("porto", {"without porto": 9, "with status:all": 1}),
        ("type:bug since:1d", {"without since:1d": 1}),
        ("ledger type:bug since:7d", {"without ledger": 1, "without the filters": 1}),
        ("tea -alice -bob", {"without tea": 5, "without -alice": 1}),
        ("(tea AND coffee) entity:alice", {"without entity:alice": 1}),
    ],
)
async def test_what_is_dropped_once_the_line_is_typed(
    root: Path, line: str, expected: dict[str, int]
) -> None:
    async with stage(root) as on:
        for words, count in expected.items():
            await on.press("escape", "F", "/", "ctrl+u")
            await on.type(line)
            found = offers(on)
            assert {**found, **expected} == found
            await on.press("enter", *["down"] * list(found).index(words), "enter")
            assert len(on.headlines()) == count, words


@pytest.mark.slow
async def test_a_branch_of_the_tree_without_matches_keeps_the_cursor(tmp_path: Path) -> None:
    async with changing(tmp_path, "engram", "ambient", size=(160, 45)) as on:
        await on.press("1", "G")
        branch = on.browse.entities.path
        await on.press("/")
        await on.type("zzqx")
        assert "without zzqx" in offers(on)
        assert on.browse.entities.path == branch
        await on.press("enter", "enter")
        assert on.browse.entities.path == branch
        assert [chip.label for chip in on.browse.view.chip_list()] == ["store"]


@pytest.mark.slow
async def test_a_click_drops_too_in_a_narrow_list(root: Path) -> None:
    async with stage(root, (40, 12)) as on:
        await on.press("/")
        await on.type("tea type:decision")
        assert set(offers(on)) == {"without tea", "without type:decision"}
        rows = on.text().split("\n")
        y = next(y for y, row in enumerate(rows) if "without type" in row)
        await on.pilot.click(offset=(10, y))
        await on.settle()
        assert len(on.headlines()) == 2
