"""`P`: what an agent would be given, and why."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from memtui.context import build_pack, find_recipe, read_settings
from memtui.tui.dialogs.context import PackScreen

from .stage import NOW, Stage, stage, write_store

SIZES = [(160, 45), (120, 35), (80, 24), (40, 12)]


@asynccontextmanager
async def pack_of(
    tmp_path: Path, task: str, size: tuple[int, int] = (80, 24), *, toasts: bool = False
) -> AsyncIterator[Stage]:
    """The screen over the small store, with the cursor in the pack for this task."""
    root = write_store(tmp_path / "store")
    async with stage(root, size, state=tmp_path / "state", toasts=toasts) as on:
        await on.press("P")
        await on.type(task)
        await on.press("enter")
        yield on


def screen_of(on: Stage) -> PackScreen:
    assert isinstance(on.app.screen, PackScreen)
    return on.app.screen


async def test_a_task_that_is_typed_gives_the_pack_of_the_command(tmp_path: Path) -> None:
    async with pack_of(tmp_path, "tea in the morning") as on:
        library = on.browse.worker.library
        assert library is not None
        settings = read_settings({}, {})
        recipe = find_recipe("tiers", settings)
        pack = build_pack(recipe, "tea in the morning", library, settings, NOW.astimezone())
        built = screen_of(on).built
        assert built is not None
        assert built.pack.text == pack.text
        shown = on.text()
        for line in pack.text.splitlines():
            assert line[:60] in shown
        assert f"{pack.tokens} tokens (estimated)" in shown
        await on.press("escape")
        assert on.app.screen is on.browse
