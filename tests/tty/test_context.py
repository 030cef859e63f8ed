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
    for number, kind in ((1, "person"), (2, "person"), (3, "project"))
]


def test_a_pack_is_asked_for_cut_compared_changed_and_saved(memtui: Start, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", {"alice": FACTS})
    with memtui([str(store)], tmp_path) as on:
        on.wait_for("3 of 3")
        on.wait_until_gone("Opening")
        on.send("P")
        on.wait_for("Press m for more recipes")
        on.send("m")
        on.wait_for("Best by text")
        on.send("jj\r")
        on.wait_for("Type a task in plain words")
        on.send("/harbour crane")
        on.wait_for("### Person")
        on.wait_for("no limit")
        on.send("\r")
        on.wait_for("b compare")
        on.send("t")
        on.wait_for("Prefer types")
        on.send("j ")
        on.wait_for("[✓] project")
        on.send("\r")
        on.wait_for("prefers project")
        on.send("-" * 12)
        on.wait_for("left out")
        on.send("+" * 14)
        on.wait_for("no limit")
        on.send("b")
        on.wait_for("Compare with")
        on.send("prime")
        on.wait_for("Relevant, salient and diverse")
        on.send("\r")
        on.wait_for("in both")
        on.send("b")
        on.wait_for("### Project")
        on.send("d")
        on.wait_for("retire")
        on.send("y")
        on.wait_for("before the change")
        on.send("\x13")
        on.wait_for("Save as Markdown")
        on.send("\r")
        on.wait_for("Saved to")
        (saved,) = tmp_path.glob("context-typed-*.md")
        assert "## Why these" in saved.read_text(encoding="utf-8")
        on.send("\x1b")
        on.wait_until_gone("Budget")
        on.send("q")
        assert on.wait_for_end() == 0
        assert not on.modes_left_on()
