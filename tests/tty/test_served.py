"""The screen as a browser shows it: no key starts a program, stops memtui, or changes a memory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memtui.paths import READ_ONLY, SERVED_VARIABLE
from tests.samples import SAMPLES

from .conftest import Start

pytestmark = pytest.mark.slow


def test_keys_that_cannot_work_in_a_browser_are_not_shown_and_do_nothing(
    memtui: Start, tmp_path: Path
) -> None:
    store = tmp_path / "hermes"
    shutil.copytree(SAMPLES / "hermes", store)
    with memtui([str(store)], tmp_path, environ={SERVED_VARIABLE: READ_ONLY}) as on:
        shown = on.wait_for("enter open")
        for words in ("o source", "e edit", "d retire", "S supersede", "n new"):
            assert words not in shown
        for key, reason in (("o", "not in a browser"), ("E", "not in a browser"), ("$", "browser")):
            on.send(key)
            on.wait_for(reason)
            on.escape()
        for key in ("e", "d", "u", "p"):
            on.send(key)
            on.wait_for("read-only")
            on.escape()
        on.send("\x1a")  # ctrl+z
        on.send("/gateway")
        on.wait_for("/ gateway")
        on.escape()
        on.send("q")
        assert on.wait_for_end() == 0
