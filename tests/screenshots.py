"""The screenshots of the documentation, taken from the running app on a copy of the sample stores.

python -m tests.screenshots [FOLDER]   FOLDER is docs by default
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

from textual.widgets import Input, TextArea

from memtui import paths
from memtui.cli.demo_story import copy_story
from memtui.config import LoadedSettings, Settings
from memtui.library import Library
from memtui.stores import registry
from memtui.tui.app import MemtuiApp
from memtui.tui.app_base import Launch
from tests.tui.stage import Stage

SIZE = (120, 35)
README_SIZE = (150, 42)
NOW = datetime(2026, 11, 20, 16, tzinfo=UTC)
"""The moment at which the story of the sample data ends."""


async def _search(on: Stage, words: str) -> None:
    """Search for these words and go to the list."""
    await on.press("/", "ctrl+u")
    await on.type(words)
    await on.press("enter")


async def _searching(on: Stage) -> None:
    await on.press("/")
    await on.type("why drizzle type:decision")


async def _look(_on: Stage) -> None:
    """The screen as it starts."""


async def _edit(on: Stage) -> None:
    await _search(on, 'store:agent-memory "Lena confirms"')
    await on.press("e", "end")
    await on.type(", nor a message")


async def _why(on: Stage) -> None:
    await _search(on, "why drizzle")
    await on.press("w")


async def _otherwise(on: Stage) -> None:
    """Who says otherwise than Codex's memory of the port."""
    await _search(on, "store:codex 8080")
    scan = on.browse.editing.review
    await on.until(lambda: scan.queue is not None and not scan.is_scanning, "the scan ends")
    await on.press("%")


async def _rest(on: Stage) -> None:
    """Wait until the screen on top has finished its work and stays the same."""
    busy = ("judging", "searching", "working")
    await asyncio.sleep(0.5)
    while await on.still() and any(getattr(on.app.screen, name, False) for name in busy):
        await asyncio.sleep(0.05)


SHOWN: dict[tuple[str, str], Callable[[Stage], Awaitable[None]]] = {
    ("search", "dusk"): _searching,
    ("edit", "dusk"): _edit,
    ("why", "dusk"): _why,
    ("otherwise", "dusk"): _otherwise,
    ("browse", "paper"): _look,
}
"""Scene and theme of each picture that a page of the documentation shows."""


@asynccontextmanager
async def _running(theme: str, size: tuple[int, int]) -> AsyncIterator[Stage]:
    """Run the app at a fixed time, in a folder whose name is always the same."""
    folder = Path(tempfile.gettempdir()) / "memtui-screens"
    folder.mkdir(mode=0o700)
    try:
        copy_story(paths.bundled_folder("sample-data"), folder / "laptop", NOW)
        roots = [root for _, root in registry.detect_within(folder / "laptop")]
        state = folder / "state"
        launch = Launch(
            lambda: Library.open(roots, cache=folder / "cache", state=state, now=lambda: NOW),
            loaded=LoadedSettings(Settings(theme=theme, restore=False)),
            state=state,
            themes=(paths.bundled_folder("themes"),),
            roots=roots,
            now=lambda: NOW,
        )
        clock = SimpleNamespace(time=NOW.timestamp)
        with patch("memtui.journal.journal.time", clock):
            app = MemtuiApp(launch)
            async with app.run_test(size=size) as pilot:
                on = Stage(app, pilot)
                await pilot.pause()
                await on.ready()
                await on.still()
                yield on
    finally:
        shutil.rmtree(folder)


async def _take(
    path: Path, theme: str, size: tuple[int, int], prepare: Callable[[Stage], Awaitable[None]]
) -> None:
    async with _running(theme, size) as on:
        await prepare(on)
        for text in on.app.screen.query("Input, TextArea").results(Input | TextArea):
            text.cursor_blink = False
        await _rest(on)
        path.write_text(on.app.export_screenshot(title="memtui"), encoding="utf-8")
        print(path)


async def take_all(folder: Path) -> None:
    """Write FOLDER/screenshot.svg and FOLDER/screens/SCENE-THEME.svg."""
    (folder / "screens").mkdir(parents=True, exist_ok=True)
    await _take(folder / "screenshot.svg", "dusk", README_SIZE, _look)
    for (scene, theme), prepare in SHOWN.items():
        await _take(folder / "screens" / f"{scene}-{theme}.svg", theme, SIZE, prepare)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", default="docs", type=Path)
    asyncio.run(take_all(parser.parse_args().folder))


if __name__ == "__main__":
    main()
