"""What holds for every dialog of the program; `gallery.SCENES` lists them."""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from textual.geometry import Region
from textual.screen import Screen

from memtui import tui
from memtui.tui import dialogs
from memtui.tui.app import MemtuiApp
from memtui.tui.dialogs.dialog import Dialog

from .gallery import SCENES, gallery, leave, rest

FILLED_LATER = {"StoreChooser"}
"""Opens before the stores have been looked for, and then has their height."""


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

    CSS_PATH: ClassVar = [Path(tui.__path__[0]) / name for name in MemtuiApp.CSS_PATH]
    boxes: defaultdict[str, set[Region]]

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if isinstance(screen, Dialog) and renderable is not None:
            self.boxes[type(screen).__name__].update(
                box.region for box in screen.query(".box, .page")
            )
        super()._display(screen, renderable)


@pytest.mark.slow
async def test_every_dialog_says_how_it_is_left_and_has_its_size_at_once() -> None:
    """`esc cancel` where something would be lost or done, `esc back` in viewers."""
    wrong, moved = [], []
    async with gallery(app_class=PaintRecorder) as on:
        app = on.app
        assert isinstance(app, PaintRecorder)
        for scene in SCENES:
            app.boxes = defaultdict(set)
            await scene.open(on)
            await rest(on)
            assert type(app.screen).__name__ == scene.dialog, scene.name
            if f"esc {scene.way_out}" not in on.text():
                wrong.append(scene.name)
            if len(app.boxes[scene.dialog]) != 1 and scene.dialog not in FILLED_LATER:
                moved.append((scene.name, app.boxes[scene.dialog]))
            await leave(on)
    assert not wrong
    assert not moved
