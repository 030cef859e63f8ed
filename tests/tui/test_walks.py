"""Random walks over links, timeline and a searched list, key by key and all in one burst."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memtui.insight import timeline
from memtui.insight.timeline import find_bar_range
from memtui.tui.dialogs.link_tree import LinkTreeScreen, find_links, link_rows
from memtui.tui.layout import Pane
from tests.long_run import count

from .stage import Stage, fact, stage, write_store
from .test_repaint import COLUMNS, LINES, OnTerminal, agrees

pytestmark = pytest.mark.slow

EPOCH = date(1970, 1, 1)
SEEDS = range(count(1, 12))
LINK_KEYS = (
    *("left", "right", "right", "up", "down", "h", "j", "k", "l", "home") * 2,
    *("space", "space", "pagedown"),
)
TIME_KEYS = (
    *("left", "right", "shift+left", "shift+right", "home", "end", "up", "down") * 2,
    *("+", "-", "space", "enter", "F"),
)
LIST_KEYS = (
    *("v", "v", "shift+down", "shift+up", "space", "j", "k", "n", "n", "N", "N") * 2,
    *("g", "G", "ctrl+d", "ctrl+u", "*", "escape", "h", "l", "3", "2", "=", "b", "enter"),
)


def web(walk: random.Random) -> dict[str, list[dict[str, Any]]]:
    """Facts of three entities that link to each other and replace one another, in a circle too."""
    people = ("ann", "bo", "cy")
    facts: dict[str, list[dict[str, Any]]] = {name: [] for name in people}
    for number in range(1, 25):
        name = people[number % 3]
        older = walk.choice([None, *range(1, 25)])
        made = fact(
            number,
            f"Fact {number} on {name}, see [[{walk.choice(people)}]]",
            (date(2025, 1, 6) + timedelta(days=walk.randrange(600))).isoformat(),
            status=walk.choice(["active", "active", "historical"]),
            supersedes=older,
        )
        edge = {"subject": name, "predicate": "knows", "object": walk.choice(people)}
        facts[name].append({**made, "edge": edge} if number % 2 else made)
    return facts


async def press_all(
    on: Stage, keys: list[str], check: Callable[[], None], *, in_one_burst: bool
) -> None:
    """Press the keys, and check at the end or, pressed one by one, after each."""
    if in_one_burst:
        for key in keys:
            on._strike(key)
        await on.settle()
    else:
        for at, key in enumerate(keys):
            await on.press(key)
            check()
            if at % 6 == 5:
                await agrees(on, " ".join(keys[: at + 1]))
    check()


def check_links(screen: LinkTreeScreen) -> None:
    """The tree is what asking each opened node anew gives, each under the node that it links."""
    library = screen.worker.library
    assert library is not None
    rows = screen.rows.rows
    assert list(rows) == link_rows(screen._start, screen.below)
    assert screen.rows.current is not None
    for row in rows:
        if row.is_open:
            came = row.end.step.edge if row.end.step is not None else None
            found = find_links(library, row.end.node, screen.app.now(), came)
            assert found == screen.below[row.path]
        if row.end.step is not None:
            assert row.end.step.start == row.path[-2]


def state_of(screen: LinkTreeScreen) -> tuple[object, ...]:
    return list(screen.rows.rows), screen.rows.cursor


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_walk_over_the_links_and_the_same_keys_in_one_burst(
    tmp_path: Path, seed: int
) -> None:
    walk = random.Random(seed)
    root = write_store(tmp_path, web(walk))
    keys = walk.choices(LINK_KEYS, k=30)
    ends = []
    for burst in (False, True):
        async with stage(root, (COLUMNS, LINES), app_class=OnTerminal) as on:
            await on.press("O")
            screen = on.app.screen
            assert isinstance(screen, LinkTreeScreen)
            await press_all(on, keys, partial(check_links, screen), in_one_burst=burst)
            ends.append(state_of(screen))
    assert ends[0] == ends[1], " ".join(keys)


def check_timeline(on: Stage, dates: dict[str, date]) -> None:
    """List, chips and bars agree with the dates of the facts."""
    pane, chips = on.browse.timeline, on.browse.view.chips
    first = chips.since.time.date() if chips.since else date.min
    last = chips.until.time.date() if chips.until else date.max
    expected = {name for name, day in dates.items() if first <= day <= last}
    assert set(on.headlines()) == expected, (first, last)
    made = pane.timeline
    assert made is not None
    days = Counter((day - EPOCH).days for day in dates.values())
    assert made.bars == timeline.build(days, 0, made.unit).bars
    here = made.bars[pane.cursor]
    assert find_bar_range(here.start, made.unit)[0] == here.start


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_walk_over_the_timeline_and_the_same_keys_in_one_burst(
    tmp_path: Path, seed: int
) -> None:
    walk = random.Random(100 + seed)
    born = [date(2025, 12, 20) + timedelta(days=walk.randrange(90)) for _ in range(40)]
    facts = [fact(n, f"Fact {n} of the day", day.isoformat()) for n, day in enumerate(born)]
    dates = {f"Fact {n} of the day": day for n, day in enumerate(born)}
    root = write_store(tmp_path, {"bo": facts})
    keys = walk.choices(TIME_KEYS, k=30)
    ends = []
    for burst in (False, True):
        async with stage(root, (COLUMNS, LINES), app_class=OnTerminal) as on:
            await on.press("4")
            await press_all(on, keys, partial(check_timeline, on, dates), in_one_burst=burst)
            assert on.browse.pane is Pane.TIMELINE
            pane, chips = on.browse.timeline, on.browse.view.chips
            ends.append((pane.unit, pane.cursor, chips.since, chips.until))
    assert ends[0] == ends[1], " ".join(keys)


def check_list(on: Stage) -> None:
    """What is being marked reaches from where it began to the cursor, and the match is in view."""
    memories, detail = on.browse.memories, on.browse.detail
    shown = {int(slot) for slot in memories.slots}
    assert memories.marked <= shown
    if memories.is_marking:
        assert memories.slot in memories.marked
    if detail._match >= 0 and detail._matches:
        match = detail._matches[detail._match]
        words = detail._lines[match.line].words[match.start : match.end]
        assert words.casefold() == "harbour"


@pytest.mark.parametrize("seed", SEEDS)
async def test_a_walk_over_matches_and_ranges_and_the_same_keys_in_one_burst(
    tmp_path: Path, seed: int
) -> None:
    walk = random.Random(200 + seed)
    facts = []
    for number in range(1, 13):
        lines = [walk.choice(["A quiet line", "The harbour, a harbour"]) for _ in range(40)]
        facts.append(fact(number, "\n".join(["Harbour", *lines]), f"2026-{number:02}-02"))
    root = write_store(tmp_path, {"port": facts})
    keys = walk.choices(LIST_KEYS, k=40)
    ends = []
    for burst in (False, True):
        async with stage(root, (COLUMNS, LINES), app_class=OnTerminal) as on:
            await on.press("/")
            await on.type("harbour")
            await on.press("enter")
            await press_all(on, keys, partial(check_list, on), in_one_burst=burst)
            await agrees(on, " ".join(keys))
            memories, detail = on.browse.memories, on.browse.detail
            ends.append((memories.cursor, memories.marked, detail._match, detail.top))
    assert ends[0] == ends[1], " ".join(keys)
