"""What holds for every dialog of the program; `gallery.SCENES` lists them."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from difflib import unified_diff
from typing import Any

import pytest
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from memtui.themes import Theme
from memtui.tui import dialogs
from memtui.tui.app import MemtuiApp
from memtui.tui.dialogs.dialog import Dialog
from memtui.tui.layout import Pane
from tests.long_run import share

from .gallery import SCENES, SIZES, gallery, leave, plain, resize, rest
from .stage import SNAPSHOTS, UPDATE, Stage, compare
from .test_contrast import SIGN, TEXT, THEMES, pages, seen

FILLED_LATER = {"StoreChooser"}
"""Opens before the stores have been looked for, and then has their height."""
HOME_SIZE = (120, 35)
DEEPEST = 2
"""Dialogs above each other, or a dialog and the input in it that escape leaves first."""
SHORT = {("conflict", (40, 12))}
"""Three choices and `esc` fill the line, so that there is no room for its word."""
LINES = dict.fromkeys(range(0x2500, 0x2580))
"""Characters that draw lines."""
SMALL = (80, 24)


def _sizes(number: int) -> list[tuple[int, int]]:
    """The sizes at which the dialog with this number is shown in this run.

    The usual one shows each at 80x24 and at one other, the next dialog at the next.
    """
    if os.environ.get(UPDATE):
        return SIZES
    others = [size for size in SIZES if size != SMALL]
    chosen = share(others, number, len(others))
    return [size for size in SIZES if size == SMALL or size in chosen]


def _expected(name: str, sizes: list[tuple[int, int]]) -> str:
    """What the snapshot shows at these sizes."""
    words = (SNAPSHOTS / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")
    shown = {
        part.partition("\n")[0]: part for part in re.split("^=== ", words, flags=re.MULTILINE)[1:]
    }
    return "\n".join(f"=== {shown[f'{x}x{y}']}".rstrip("\n") for x, y in sizes)


def _subclasses(of: type[Any]) -> Iterator[type[Any]]:
    for each in of.__subclasses__():
        yield each
        yield from _subclasses(each)


def test_every_dialog_is_in_the_gallery() -> None:
    for module in pkgutil.iter_modules(dialogs.__path__, f"{dialogs.__name__}."):
        importlib.import_module(module.name)
    found = {each for each in _subclasses(Dialog) if each.__module__.startswith("memtui.")}
    shown = {scene.dialog for scene in SCENES}
    opened = {each.__name__ for each in found if not each.__subclasses__()}
    assert opened <= shown
    assert shown <= {each.__name__ for each in found}


class PaintRecorder(MemtuiApp):
    """Remembers where the box of a dialog is at every paint."""

    boxes: defaultdict[str, set[Region]]

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if isinstance(screen, Dialog) and renderable is not None:
            self.boxes[type(screen).__name__].update(
                box.region for box in screen.query(".box, .page")
            )
        super()._display(screen, renderable)


def _is_within(region: Region, screen: Screen[Any]) -> bool:
    return region.height > 0 and screen.region.contains_region(region)


@pytest.mark.slow
async def test_every_dialog_is_whole_at_every_size() -> None:
    """It has its size when it is first painted, says how it is left (`esc cancel` where something
    would be lost or done, `esc back` in viewers), shows what has the focus, looks as it did, is
    the same again after the terminal had other sizes, and is left by escape or ctrl+c."""
    wrong, hidden, moved, stuck, other, looks = [], [], [], [], {}, {}
    async with gallery(app_class=PaintRecorder) as on:
        app = on.app
        assert isinstance(app, PaintRecorder)
        for number, scene in enumerate(SCENES):
            app.boxes = defaultdict(set)
            await scene.open(on)
            await rest(on)
            assert type(app.screen).__name__ == scene.dialog, scene.name
            if len(app.boxes[scene.dialog]) != 1 and scene.dialog not in FILLED_LATER:
                moved.append((scene.name, app.boxes[scene.dialog]))
            first, shown = on.text(), []
            for size in _sizes(number):
                await resize(on, size)
                words = plain(on.text())
                shown.append(f"=== {size[0]}x{size[1]}\n{words}")
                if f"esc {scene.way_out}" not in words and (scene.name, size) not in SHORT:
                    wrong.append((scene.name, size))
                if app.focused is not None and not _is_within(app.focused.region, app.screen):
                    hidden.append((scene.name, size, app.focused.region))
            looks[scene.name] = "\n".join(shown)
            await resize(on, HOME_SIZE)
            if on.text() != first and scene.dialog not in FILLED_LATER:
                other[scene.name] = list(unified_diff(first.split("\n"), on.text().split("\n")))
            for _ in range(DEEPEST):
                if on.app.screen is not on.browse:
                    await on.press(("escape", "ctrl+c")[number % 2])
            if on.app.screen is not on.browse:
                stuck.append(scene.name)
            await leave(on)
    assert not wrong
    assert not hidden
    assert not moved
    assert not stuck
    assert not other
    for number, (name, words) in enumerate(looks.items()):
        sizes = _sizes(number)
        if sizes == SIZES:
            compare(f"dialog-{name}", words)
        else:
            assert words == _expected(f"dialog-{name}", sizes), f"{name} looks different"


def _weak(strips: Iterable[Strip], region: Region, theme: Theme) -> Iterator[str]:
    """What is too faint on the screen: text below 4.5:1, signs below 3:1; lines are decoration."""
    page, ink = pages(theme)
    for strip in list(strips)[region.y : region.bottom]:
        for words, style, _ in strip.crop(region.x, region.right):
            drawn = words.strip()
            if style is None or not drawn.translate(LINES):
                continue
            letters = sum(character.isalnum() for character in drawn)
            block = letters == 1 and style.bgcolor is not None  # as the cursor of an input is
            least = TEXT if letters and not block else SIGN
            if (found := seen(style, page, ink)) < least:
                yield f"{drawn[:30]!r} {style.color} on {style.bgcolor}: {found:.2f} < {least}"


def _box(on: Stage) -> Region:
    screen = on.app.screen
    return next((box.region for box in screen.query(".box, .page")), screen.region)


@pytest.mark.slow
async def test_everything_drawn_can_be_read_in_every_theme() -> None:
    """The usual run draws each dialog in one theme, the next dialog in the next. Every role of
    every theme on every ground is computed in `test_contrast`."""
    faults: set[tuple[str, str, str]] = set()
    async with gallery(HOME_SIZE) as on:

        async def look(name: str, themes: Iterable[str]) -> None:
            for number, theme in enumerate(themes):
                on.app.theme = theme
                await rest(on)
                await resize(on, (HOME_SIZE[0] + number % 2, HOME_SIZE[1]))
                region = on.app.screen.region
                while (box := _box(on)) != region:  # it fits itself to the new size
                    region = box
                    await rest(on)
                strips = on.app.screen._compositor.render_strips()
                faults.update((name, theme, one) for one in _weak(strips, region, THEMES[theme]))
            await resize(on, HOME_SIZE)
            await leave(on)

        for pane in Pane:
            on.browse.set_text("tea OR ledger sort:new type:decision,preference")
            await on.press("2", "space", str(list(Pane).index(pane) + 1))
            await look(f"browse, {pane}", THEMES)
        for number, scene in enumerate(SCENES):
            await scene.open(on)
            await rest(on)
            await look(scene.name, share(list(THEMES), number, len(THEMES)))
    assert not faults, "\n".join(map(str, sorted(faults)))
