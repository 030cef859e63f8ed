"""What a terminal pastes, in one write with the keys around it: one change, and no key runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from .test_program import store

pytestmark = pytest.mark.slow

Start = Callable[..., AbstractContextManager[Any]]
COMMANDS = "d\rqq\rn\x1bD\ry\x13\t:\r"
"""Keys that would retire, quit, add and save."""


def pasted(words: str) -> str:
    """The bytes that a terminal with bracketed paste sends."""
    return f"\x1b[200~{words}\x1b[201~"


def test_a_paste_is_one_change_wherever_it_goes(memtui: Start, tmp_path: Path) -> None:
    memory = store(tmp_path, "Alice keeps bees", "Bob reviews every migration")
    items = memory / "entities" / "alice" / "items.json"
    before = items.read_bytes()
    with memtui([str(memory)], tmp_path) as on:
        on.wait_for("1 of 2")
        on.send(pasted(COMMANDS))  # the list takes no text
        on.send("/" + pasted("bees\rkeeps\r\r") + "\r")
        on.wait_for("memtui / bees keeps")
        on.wait_for("1 of 1")
        assert items.read_bytes() == before
        on.send("e" + "\x1b[1;5F" + pasted(" one\r" + "two " * 5_000 + "\r" + COMMANDS) + "!")
        on.wait_for("Edit in")
        on.wait_for("qq")
        on.send("\x1a")
        on.wait_until_gone("!")
        on.send("\x1a")
        on.wait_for("No changes yet")
        on.send(pasted("; and so on\rin two lines") + "\x13")
        on.wait_for("Saved: ")
        assert "bees; and so on\nin two lines" in [
            each["content"].removeprefix("Alice keeps ") for each in json.loads(items.read_text())
        ]
