"""The context screen in a real terminal, from the first key to the file that it saves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.tui.stage import fact, write_store

pytestmark = pytest.mark.slow

Start = Callable[..., AbstractContextManager[Any]]
FACTS = [
    fact(number, f"Alice keeps harbour crane number {number}", f"2026-11-{number:02}", kind)
    for number, kind in [(1, "project"), *((number, "person") for number in range(2, 14))]
]


def test_a_pack_is_asked_for_cut_copied_and_saved(memtui: Start, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", {"alice": FACTS})
    with memtui([str(store)], tmp_path) as on:
        on.wait_for("13 of 13")
        on.wait_until_gone("Opening")
        on.send("P")
        on.wait_for("a task, in words that you would tell the agent")
        on.send("m")
        on.wait_for("Best by text")
        on.send("typed\r")
        on.wait_for("Context · typed")
        on.send("/harbour crane")
        on.wait_for("### Person")
        on.send("\r")
        on.wait_for("y copy")
        on.send("G")
        on.wait_for("Not in: ")
        on.wait_for("of at most 10")
        on.send("y")
        on.wait_for("the pack to the terminal's clipboard")
        on.send("\x13")
        on.wait_for("Save as Markdown")
        on.send("\r")
        on.wait_for("Saved to")
        (saved,) = tmp_path.glob("context-typed-*.md")
        document = saved.read_text(encoding="utf-8")
        assert "## Why these" in document
        assert "### Person" in document
        on.send("\x1b")
        on.wait_until_gone("Context · typed")
        on.send("q")
        assert on.wait_for_end() == 0
        assert not on.modes_left_on()
