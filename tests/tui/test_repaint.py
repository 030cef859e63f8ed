"""The terminal shows what a repaint from nothing would show, whatever was pressed or changed."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyte
import pytest
from rich.console import Console, RenderableType
from textual._compositor import CompositorUpdate
from textual.screen import Screen
from textual.widgets import Input, TextArea

from memtui.tui.app import MemtuiApp
from memtui.tui.app_base import Launch
from memtui.tui.controllers.panes import RUN_SECONDS
from memtui.tui.unreadable import UnreadablePage
from memtui.tui.widgets.line_api import ThemedWidget
from tests.long_run import count, share

from .gallery import gallery, leave, rest
from .stage import Stage, fact, stage, write_store

pytestmark = pytest.mark.slow

COLUMNS, LINES = 100, 28
STEPS = 25
KEYS = (
    *("j", "k", "g", "G", "ctrl+d", "ctrl+u", "pagedown", "pageup", "v", "shift+down", "shift+up"),
    *("1", "2", "3", "4", "5", "tab", "shift+tab", "enter", "escape", "z"),
    *("]", "[", "backspace", "h", "l", "space", "*", "p", "u", "ctrl+r", "b", "F", "T", "U", "H"),
)
CONSOLE = Console(color_system="truecolor", force_terminal=True)


class OnTerminal(MemtuiApp):
    """The app, with a terminal emulator that is told what a terminal would be told."""

    extent = (COLUMNS, LINES)

    def __init__(self, launch: Launch) -> None:
        super().__init__(launch)
        self.terminal = pyte.Screen(*self.extent)
        self.frames: list[str] = []

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if isinstance(renderable, CompositorUpdate) and not self._batch_count:
            written = self.shown_lines.reduced(renderable).render_segments(CONSOLE)
            pyte.Stream(self.terminal).feed(written)
            self.frames += [written] if written else []


class OnWideTerminal(OnTerminal):
    """The same on a terminal that has room for all panes."""

    extent = (160, 45)


def shown(terminal: pyte.Screen) -> list[list[tuple[object, ...]]]:
    """What can be seen of every cell: a blank has no colour of its own."""
    return [
        [
            (cell.data, cell.bg, cell.reverse, cell.underscore)
            + (() if cell.data == " " and not cell.reverse else (cell.fg, cell.bold))
            for cell in (terminal.buffer[y][x] for x in range(terminal.columns))
        ]
        for y in range(terminal.lines)
    ]


def lines(cells: Sequence[Sequence[tuple[object, ...]]]) -> list[str]:
    return ["".join(str(cell[0]) for cell in line) for line in cells]


async def painted(on: Stage) -> list[list[tuple[object, ...]]]:
    """What the terminal shows once everything is drawn, screens below a dialog as well."""
    assert isinstance(on.app, OnTerminal)
    await on.settle()
    await rest(on)  # a form waits after the last key before it previews
    await on.settle()
    for field in [*on.app.screen.query(Input), *on.app.screen.query(TextArea)]:
        field.cursor_blink = False  # its phase would differ between two looks
    # What looks for news at intervals does so now, not between two looks at the terminal.
    if on.browse._editing.review._is_due:
        on.browse._editing.review._rescan()
        await on.settle()
    for screen in on.app.screen_stack:
        if isinstance(screen, UnreadablePage):
            screen.refill_if_changed()
            await on.settle()
        screen._on_timer_update()
    await on.settle()
    return shown(on.app.terminal)


async def agrees(on: Stage, what: object) -> None:
    """The terminal shows what it shows after everything is drawn anew."""
    assert isinstance(on.app, OnTerminal)
    before = await painted(on)
    on.app.terminal = pyte.Screen(*on.app.extent)
    await on.press("ctrl+l")
    whole = await painted(on)
    for y, (line, anew) in enumerate(zip(lines(before), lines(whole), strict=True)):
        assert line == anew, f"{what}, line {y}"
    assert before == whole, f"{what}: other colours"


LONG = "\n".join(f"line {number} of a long note" for number in range(60))


def long_facts() -> dict[str, list[dict[str, Any]]]:
    """Facts that refer to each other, each longer than the pane."""
    facts = [fact(n, f"Note {n}\n{LONG}", f"2026-0{n}-02") for n in range(1, 6)]
    facts.append(fact(6, f"Note 6\n{LONG}", "2026-07-02", supersedes=5))
    return {"people/alice": facts, "people/bob": [fact(9, f"Bob\n{LONG}", "2026-08-02")]}


def change(items: Path, what: Callable[[list[dict[str, Any]]], object]) -> None:
    """Write the file as another program would."""
    facts = json.loads(items.read_text(encoding="utf-8"))
    what(facts)
    temporary = items.with_suffix(".new")
    temporary.write_text(json.dumps(facts, indent=2), encoding="utf-8")
    temporary.replace(items)


def outside(items: Path, walk: random.Random) -> Mapping[str, Callable[[], None]]:
    """What other programs do to a file."""

    def longer(facts: list[dict[str, Any]]) -> None:
        one = walk.choice(facts)
        one["content"] = "An agent wrote this\nabove.\n" + one["content"]

    def shorter(facts: list[dict[str, Any]]) -> None:
        one = walk.choice(facts)
        one["content"] = "\n".join(one["content"].split("\n")[: walk.randrange(1, 40)])

    def other(facts: list[dict[str, Any]]) -> None:
        walk.choice(facts)["content"] = f"Something else {walk.random()}"

    def more(facts: list[dict[str, Any]]) -> None:
        facts.append(fact(walk.randrange(100, 10**6), f"New\n{LONG}", "2026-11-01"))

    def fewer(facts: list[dict[str, Any]]) -> None:
        del facts[walk.randrange(len(facts))]

    changes = (longer, shorter, other, more, fewer)
    return {each.__name__: lambda each=each: change(items, each) for each in changes}  # type: ignore[misc]


def detail_rows(on: Stage) -> list[str]:
    """What the detail draws, its scrollbar left out."""
    detail = on.browse.detail
    return [detail.render_line(y).text[:-1].rstrip() for y in range(detail.size.height)]


@pytest.mark.textual
async def test_the_same_memory_keeps_its_scroll(tmp_path: Path) -> None:
    """When it is pinned, and when another program changes it; another memory begins at its top."""
    root = write_store(tmp_path, long_facts())
    items = root / "entities" / "people-bob" / "items.json"
    async with stage(root, (COLUMNS, LINES), state=tmp_path / "state", app_class=OnTerminal) as on:
        await on.press("3", "ctrl+d", "ctrl+d")
        before, top = detail_rows(on), on.browse.detail.top
        assert top > 0
        await on.press("p")
        assert on.browse.detail.memory is not None
        assert on.browse.detail.memory.pinned
        assert (detail_rows(on), on.browse.detail.top) == (before, top)
        await agrees(on, "pinned")

        def cut(facts: list[dict[str, Any]]) -> None:
            facts[0]["content"] = f"{LONG}\nand more"

        change(items, cut)
        await on.press("f5")
        assert on.browse.detail.top == top
        assert detail_rows(on) == [*before[1:], detail_rows(on)[-1]], "one line less above"
        await agrees(on, "changed by another program")
        await on.press("2", "j")
        assert on.browse.detail.top == 0
        await agrees(on, "another memory")


async def test_the_chosen_reference_stays_chosen_when_lines_come_above_it(tmp_path: Path) -> None:
    root = write_store(tmp_path, long_facts())
    items = root / "entities" / "people-alice" / "items.json"
    async with stage(root, (COLUMNS, LINES), state=tmp_path / "state", app_class=OnTerminal) as on:
        await on.press("j", "3")
        await on.act("follow")
        detail = on.browse.detail
        assert detail._chosen is not None
        chosen = detail._chosen.ref
        assert chosen

        def longer(facts: list[dict[str, Any]]) -> None:
            facts[-1]["content"] += "\none more line"

        change(items, longer)
        await on.press("f5")
        assert detail._chosen is not None
        assert detail._chosen.ref == chosen
        await agrees(on, "the reference moved down")


@pytest.mark.textual
async def test_a_widget_that_is_drawn_alone_leaves_what_is_beside_it() -> None:
    """As a click in the statistics does, which moves the focus there from another pane."""
    async with gallery(OnWideTerminal.extent, app_class=OnWideTerminal) as on:
        for widget in on.browse.query(ThemedWidget):
            before = lines(await painted(on))
            widget.refresh()
            after = lines(await painted(on))
            assert after == before, f"{widget} was drawn alone"


SCREENS = {
    "entities": ("1",),
    "detail": ("3",),
    "timeline": ("4",),
    "statistics": ("5",),
    "links": ("O",),
    "review": ("V",),
    "context": ("P",),
    "compare": ("2", "g", "space", "j", "space", "|"),
    "history": ("H",),
    "changes": ("R",),
    "help": ("?",),
}
"""Keys that open each."""
BURST = (
    *("j", "k", "h", "l", "g", "G", "ctrl+d", "ctrl+u", "pagedown", "pageup", "up", "down"),
    *("left", "right", "tab", "shift+tab", "space", "enter", "plus", "minus", "=", ".", "z"),
    *("]", "[", "*", "b", "t", "v", "n", "N", "shift+down", "shift+up", "escape", "ctrl+l"),
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(count(1, 4)))
async def test_a_burst_on_every_screen_leaves_what_a_repaint_would(seed: int) -> None:
    """Thirty keys that arrive before the first of them is handled."""
    chance = random.Random(seed)
    async with gallery((COLUMNS, LINES), app_class=OnTerminal) as on:
        for name, opening in share([*SCREENS.items()], seed, 2):
            burst = chance.choices(BURST, k=30)
            what = f"{name} {seed}: {' '.join(burst)}"
            await strike_together(on, opening, burst)
            await agrees(on, what)
            await leave(on)


async def strike_together(on: Stage, opening: Sequence[str], burst: Sequence[str]) -> None:
    for key in opening:
        await on.press(key)
        await rest(on)
    for key in burst:
        on._strike(key)
    await rest(on)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(count(1, 4)))
async def test_a_random_walk_leaves_the_screen_as_a_repaint_would(
    tmp_path: Path, seed: int
) -> None:
    root = write_store(tmp_path, long_facts())
    items = root / "entities" / "people-alice" / "items.json"
    walk = random.Random(seed)
    programs = outside(items, walk)
    taken: list[str] = []
    async with stage(root, (COLUMNS, LINES), state=tmp_path / "state", app_class=OnTerminal) as on:
        for _ in range(STEPS):
            if walk.random() < 0.3:
                name = walk.choice(sorted(programs))
                programs[name]()
                on.browse.worker.refresh()
            else:
                name = walk.choice(KEYS)
                await on.press(name)
            taken.append(name)
            await agrees(on, f"walk {seed}: {' '.join(taken)}")


@pytest.mark.textual
async def test_a_step_takes_few_bytes_and_a_burst_ends_on_the_right_row(tmp_path: Path) -> None:
    many = {"shop": [fact(n, f"Number {n}", "2026-10-01") for n in range(200)]}
    async with stage(write_store(tmp_path, many), (COLUMNS, LINES), app_class=OnTerminal) as on:
        assert isinstance(on.app, OnTerminal)
        await asyncio.sleep(
            RUN_SECONDS
        )  # since the first memory was shown: two within it are a run
        on.app.frames, terminal = [], copy.deepcopy(on.app.terminal)
        await on.press("j")
        step = "".join(on.app.frames)
        assert len(step.encode()) < 4_000
        pyte.Stream(terminal).feed(step)
        assert on.browse.memories.memory is not None
        assert on.browse.memories.memory.id in "".join(lines(shown(terminal))), "the detail too"
        for _ in range(60):
            on._strike("j")
        await on.settle()
        assert on.browse.memories.cursor == 61
        await agrees(on, "a held key")
