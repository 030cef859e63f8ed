"""A closed dialog leaves nothing in memory, and does nothing any more."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
import textual.screen
from textual import events
from textual._styles_cache import StylesCache
from textual.geometry import Size

from tests.long_run import count

from .gallery import gallery, rest
from .stage import stage

pytestmark = pytest.mark.slow

KEYS = ("question_mark", "r", "H", "O", "x")
"""They open a text, a picker, two lists of lines, a form."""
HALF = count(15, 25)
"""Dialogs after which what is alive is counted, twice; one that stays has several caches."""


async def test_of_many_closed_dialogs_no_part_stays(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textual.screen, "UPDATE_PERIOD", 1 / 60)  # as the program has it
    async with stage(root) as on:
        opened: list[weakref.ref[object]] = []
        counts: list[int] = []
        for number in range(2 * HALF):
            await on.press(KEYS[number % len(KEYS)])
            assert on.app.screen is not on.browse
            opened.append(weakref.ref(on.app.screen))
            await on.press("escape")
            assert on.app.screen is on.browse
            if number % HALF == HALF - 1:
                gc.collect()
                counts.append(sum(isinstance(one, StylesCache) for one in gc.get_objects()))
        alive = [ref() for ref in opened if ref() is not None]
        # The last message of each queue and the last jobs know one; a kind that stays makes six.
        assert len(alive) <= 4
        assert counts[1] <= counts[0] + 30


async def test_a_dialog_closed_while_the_terminal_is_resized_does_not_end_the_program() -> None:
    async with gallery() as on:
        for key in ("R", "V", "P", "H"):
            await on.press(key)
            await rest(on)
            dialog = on.app.screen
            assert dialog is not on.browse, key
            dialog.post_message(events.Resize(Size(90, 30), Size(90, 30)))
            dialog.dismiss(None)
            await rest(on)
            assert on.app.screen is on.browse, key
            assert on.app.fault is None, key
