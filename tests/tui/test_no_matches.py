"""A list without matches says what to drop, how many memories that gives, and takes one key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .sample_stage import changing
from .stage import Stage, stage


def offers(on: Stage) -> dict[str, tuple[str, int]]:
    """Key -> what it does, and the count beside it."""
    found = re.findall(r"(f\d)  (with.+?)  +([\d,]+)", on.text())
    return {key: (words.strip(), int(count.replace(",", ""))) for key, words, count in found}


@pytest.mark.parametrize("has_focus", [True, False], ids=["typing", "list"])
@pytest.mark.parametrize("key", ["f2", "f3"])
async def test_each_key_gives_what_the_list_promises(root: Path, key: str, has_focus: bool) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type("tea type:decision")
        if not has_focus:
            await on.press("enter")
        promised = offers(on)
        assert promised == {"f2": ("without tea", 2), "f3": ("without type:decision", 2)}
        await on.press(key)
        assert len(on.headlines()) == promised[key][1]
        assert on.browse.is_typing == has_focus
        chips = [(chip.label, chip.value.rstrip("*")) for chip in on.browse.view.chip_list()]
        assert (on.query, chips) == {"f2": ("", [("type", "decision")]), "f3": ("tea", [])}[key]
        assert not offers(on)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("zebra quagga", {"f2": ("without the words", 9)}),
        ("zebra type:nothing", {"f2": ("without words and filters", 9)}),
        ("tea type:dec", {"f2": ("without tea", 2), "f3": ("without type:dec", 2)}),
        ("porto", {"f2": ("without porto", 9), "f3": ("with status:all", 1)}),
        ("type:bug since:1d", {"f2": ("without since:1d", 1)}),
        ("tea -alice -bob", {"f2": ("without tea", 5), "f3": ("without -alice", 1)}),
        ("(tea AND coffee) entity:alice", {"f2": ("without entity:alice", 1)}),
    ],
)
async def test_what_is_dropped_while_the_line_is_typed(
    root: Path, line: str, expected: dict[str, tuple[str, int]]
) -> None:
    async with stage(root) as on:
        await on.press("/")
        await on.type(line)
        found = offers(on)
        assert {**found, **expected} == found
        for number, (key, (_, count)) in enumerate(expected.items()):
            if number:
                await on.press("ctrl+u")
                await on.press("escape", "F", "/")
                await on.type(line)
            await on.press(key)
            assert len(on.headlines()) == count, key


@pytest.mark.slow
async def test_a_branch_of_the_tree_without_matches_keeps_the_cursor(tmp_path: Path) -> None:
    async with changing(tmp_path, "engram", "ambient", size=(160, 45)) as on:
        await on.press("1", "G")
        branch = on.browse.entities.path
        await on.press("/")
        await on.type("zzqx")
        assert offers(on)["f2"][0] == "without zzqx"
        assert on.browse.entities.path == branch
        await on.press("f2")
        assert on.browse.entities.path == branch
        assert [chip.label for chip in on.browse.view.chip_list()] == ["store"]


async def test_a_key_that_drops_nothing_says_so(root: Path) -> None:
    async with stage(root, toasts=True) as on:
        await on.press("f2")
        await on.sees("where nothing matches")


async def test_a_click_drops_too_and_a_narrow_list_shows_the_keys(root: Path) -> None:
    async with stage(root, (40, 12)) as on:
        await on.press("/")
        await on.type("tea type:decision")
        assert set(offers(on)) == {"f2", "f3"}
        rows = on.text().split("\n")
        y = next(y for y, row in enumerate(rows) if "f3  without" in row)
        await on.pilot.click(offset=(10, y))
        await on.settle()
        assert len(on.headlines()) == 2
