"""Driving every screen over all stores changes not a byte and not a time in any of them (T18)."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui.testing.fixtures import fingerprint
from memtui.tui.actions import ACTIONS
from memtui.tui.layout import Pane
from tests.formats import FORMATS, ONE_OF_EACH_ENGINE
from tests.long_run import count, share
from tests.tui.sample_stage import ChangingStage, changing

pytestmark = pytest.mark.slow

CHANGES_AT_ONCE = {
    *("pin", "review", "accept", "decline", "rate", "restore", "undo", "redo", "again"),
}
"""Acts that ask nothing first. Every other one opens something that can be left again."""
LEAVES = {"quit", "source", "edit.outside", "suspend"}
"""They end or stop the program (and with it who tests it), or give the terminal to another."""
SIZES = [(160, 45), (80, 24)]
FEW = 20
"""The usual run shows the memories of one format of each engine in one of the sizes and with every
twentieth key, at those of the next with the next ones. On the first format each key is pressed in
one of them."""
MIN_SCREENS = count(4, 12)
"""Kinds of dialog that the keys must have opened, for this to prove something."""


async def leave(on: ChangingStage) -> None:
    """Back to the main screen, nothing confirmed."""
    for _ in range(6):
        if on.app.screen is on.browse:
            return
        await on.press("escape")
    raise AssertionError(f"escape does not leave {on.app.screen}")


@pytest.mark.parametrize(("part", "size"), list(enumerate(SIZES)))
async def test_every_key_that_only_looks(tmp_path: Path, part: int, size: tuple[int, int]) -> None:
    names = [format.name for format in FORMATS]
    shown = [format.name for format in ONE_OF_EACH_ENGINE]
    looking = [a for a in ACTIONS if a.keys and a.id not in CHANGES_AT_ONCE | LEAVES]
    of_memories = [action for action in looking if Pane.MEMORIES in action.scopes]
    opened = set()
    stores = tmp_path / "stores"
    async with changing(tmp_path, *names, size=size) as on:
        assert {store.format for store in on.library.stores} == set(names)
        before = fingerprint(stores)
        for number, store in enumerate((shown[0], *share(shown[1:], part, len(SIZES)))):
            await on.show(f"store:{store}")
            keys = share(of_memories, number, FEW) if number else share(looking, part, len(SIZES))
            for action in keys:
                await on.press(action.keys[0])
                opened.add(type(on.app.screen).__name__)
                await leave(on)
            on.browse.set_text("")
        for text in ("the", '"in the" -of', "b*", "type:decision", "status:all"):
            await on.show(text)
        assert fingerprint(stores) == before
    assert len(opened) > MIN_SCREENS, opened
    assert fingerprint(stores) == before, "leaving changes nothing either"
