"""Real copies of the sample stores under the app, for tests of acts that change memories."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from textual.worker import WorkerCancelled

from memtui import paths
from memtui.config import LoadedSettings, Settings
from memtui.library import Library
from memtui.model import Memory
from memtui.testing.fixtures import contents
from memtui.tui.app import MemtuiApp
from memtui.tui.app_base import Launch
from tests.samples import SAMPLES

from .stage import NOW, Stage

LEFT_OUT = shutil.ignore_patterns(
    *("2026-0*", "carillon-score", "dayo-*", "ines-*", "kenji-*", "kirigane-*", "marit-*"),
    *("nordlot-*", "pappelhof-*", "stadt-*", "sundial", "yael-*"),
)
"""Two thirds of the memories of the sample for agent-memory, and some notes of others: each start
would read, index and review them for nothing."""


@dataclass
class ChangingStage(Stage):
    """The running app over real stores, and what a test of changes asks of it."""

    folder: Path

    @property
    def library(self) -> Library:
        library = self.browse.worker.library
        assert library is not None
        return library

    @property
    def toasts(self) -> list[str]:
        return [toast.message for toast in self.app._notifications]

    async def settle(self) -> None:
        """As for any stage; a question that a newer one replaced is no fault."""
        while True:
            with contextlib.suppress(WorkerCancelled):
                await super().settle()
                return

    async def rest(self) -> None:
        """Wait until the screen on top has nothing left to find out."""
        busy = ("is_previewing", "searching", "working")
        await self.until(
            lambda: not any(getattr(self.app.screen, name, False) for name in busy),
            "the screen comes to rest",
        )

    async def keys(self, *keys: str) -> None:
        """Press keys, each followed by everything that comes of it."""
        for key in keys:
            await self.press(key)
            await self.rest()

    async def show(self, words: str) -> None:
        """Search for these words, so that the list holds what they find."""
        self.browse.set_text(words)
        await self.rest()

    async def stand(self, ref: str) -> Memory:
        """Put the cursor on the memory with this ref."""
        await self.show("status:all")
        memories = self.browse.memories
        rows = self.library.snapshot.rows
        index = next(i for i, slot in enumerate(memories.slots) if rows[slot].ref == ref)
        memories.go(index)
        await self.rest()
        return self.library.get(ref)

    def files(self) -> dict[str, bytes]:
        """Every file of the stores, but for what memtui keeps beside them."""
        return contents(self.folder)

    def memory(self, ref: str) -> Memory:
        return self.library.get(ref)

    def first(self, store: str, **wanted: object) -> Memory:
        """The first memory of a store whose fields are as wanted."""
        for memory in self.library.memories(store):
            if all(getattr(memory, name) == value for name, value in wanted.items()):
                return memory
        raise AssertionError(f"no memory of {store} is {wanted}")


@asynccontextmanager
async def changing(
    tmp_path: Path,
    *stores: str,
    size: tuple[int, int] = (120, 35),
    theme: str = "dusk",
    editor: str = "",
    state: Path | None = None,
) -> AsyncIterator[ChangingStage]:
    """Run the app over copies of these sample stores; the copies stay for another run."""
    folder = tmp_path / "stores"
    for store in stores:
        if not (folder / store).exists():
            shutil.copytree(SAMPLES / store, folder / store, ignore=LEFT_OUT)
    roots = [folder / store for store in stores]
    state = state or tmp_path / "state"
    launch = Launch(
        lambda: Library.open(roots, cache=None, state=state, now=lambda: NOW),
        loaded=LoadedSettings(Settings(theme=theme, editor=editor, restore=False)),
        state=state,
        themes=(paths.bundled_folder("themes"),),
        roots=roots,
        now=lambda: NOW,
    )
    app = MemtuiApp(launch)
    async with app.run_test(size=size, notifications=True) as pilot:
        on = ChangingStage(app, pilot, folder)
        await on.ready()
        await on.rest()
        try:
            yield on
        finally:
            app.is_ending = True  # Textual's `run_test` ends it without `exit`
        assert app.backstop.hits == 0, "a call of visible() is missing"
    if app.fault is not None:
        raise app.fault


def touched(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    """The files that differ."""
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
