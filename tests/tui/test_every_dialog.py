"""What holds for every dialog of the program; `gallery.SCENES` lists them."""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
from difflib import unified_diff
from typing import Any

import pytest
from textual.geometry import Region
from textual.screen import Screen

from memtui import tui
from memtui.tui.app import MemtuiApp
from memtui.tui.dialogs.dialog import Dialog

from .gallery import SCENES, gallery, leave, plain, resize, rest
from .stage import compare

FILLED_LATER = {"StoreChooser"}
"""Opens before the stores have been looked for, and then has their height."""
HOME_SIZE = (80, 24)
DEEPEST = 2
"""Dialogs above each other, or a dialog and the input in it that escape leaves first."""
SHORT = {("conflict", (40, 12))}
"""Three choices and `esc` fill the line, so that there is no room for its word."""
SIZES = [(80, 24), (40, 12)]


def _subclasses(of: type[Any]) -> Iterator[type[Any]]:
    for each in of.__subclasses__():
        yield each
        yield from _subclasses(each)


def test_every_dialog_is_in_the_gallery() -> None:
    for module in pkgutil.walk_packages(tui.__path__, f"{tui.__name__}."):
        importlib.import_module(module.name)
    found = {each for each in _subclasses(Dialog) if each.__module__.startswith("memtui.")}
    shown = {scene.dialog for scene in SCENES}
    opened = {each.__name__ for each in found if not each.__subclasses__()}
    assert opened <= shown
    assert shown <= {each.__name__ for each in found}


class PaintRecorder(MemtuiApp):
    """Remembers where the box of a dialog is at every paint."""

    boxes: defaultdict[str, set[Region]]
    reads_paints = True
    """Only until the dialog stands: its other sizes are looked at as a whole."""

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
    async with gallery(HOME_SIZE, app_class=PaintRecorder) as on:
        app = on.app
        assert isinstance(app, PaintRecorder)
        for number, scene in enumerate(SCENES):
            app.boxes, app.reads_paints = defaultdict(set), True
            await scene.open(on)
            await rest(on)
            assert type(app.screen).__name__ == scene.dialog, scene.name
            if len(app.boxes[scene.dialog]) != 1 and scene.dialog not in FILLED_LATER:
                moved.append((scene.name, app.boxes[scene.dialog]))
            app.reads_paints = False
            first, shown = on.text(), []
            for size in SIZES:
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
    assert not other, "\n".join(line for lines in other.values() for line in lines)
    for name, words in looks.items():
        compare(f"dialog-{name}", words)
