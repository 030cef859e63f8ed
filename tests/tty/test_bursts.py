"""Keys that arrive many at once, in one write: every screen and every dialog stays sound."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.long_run import share
from tests.samples import SAMPLES

pytestmark = pytest.mark.slow

Start = Callable[..., AbstractContextManager[Any]]

ESC = "\x1b[27u"
"""Escape as one unmistakable sequence: followed by a letter, a bare one would be alt and letter."""
EVERY = 13
"""The usual run tries two of the dialogs at each of the two sizes, the long one all at both.
On an emulator without a process, `test_repaint` sends bursts to screens in each run."""
HOME = "q quit"
"""Stands in the last line of the browse screen, under a small dialog too."""
OPEN = (" esc ", "─ Commands ─")
"""Stands in every dialog."""
DIALOGS = {
    "browse": ("", HOME),
    "help": ("?", "Help:"),
    "commands": (":", "─ Commands ─"),
    "filter by type": ("t", "Filter by type"),
    "filter by recency": ("r", "Filter by recency"),
    "saved filters": ("f", "Saved filters"),
    "themes": ("T", "─ Theme ─"),
    "stores": ("0", "─ Stores ─"),
    "links": ("O", "─ Links of"),
    "context": ("P", "─ Context ·"),
    "review queue": ("V", "─ Review ─"),
    "what changed": ("N", "─ Changes ─"),
    "as of": ("@", "─ As of ─"),
    "unreadable": ("U", "Stores and unreadable"),
    "history": ("H", "History,"),
    "changes": ("C", "Changes, newest"),
    "edit": ("e", "Edit in"),
    "question": ("ezz" + ESC, "Discard changes?"),
    "new memory": ("n", "New memory in"),
    "supersede": ("S", "Supersede in"),
    "link": ("L", "Link to another"),
    "delete": ("\x1b[3~", "enter delete"),
    "export": ("x", "all stores, complete"),
    "import": ("I", "Import"),
}
"""The keys that open each, in one write too, and what comes up."""
KEYS = [
    *"yynNvbgGsxzejk /?tCHe",
    "\x04",
    "\x15",
    "\x1b[1;2B",
    ESC,
    ESC,
    "\r",
    "\t",
    "\x13",
    "\x1bOQ",
    "\x7f",
    " ",
    "\x1b[B",
    "\x0c",
]


def _home(on: Any) -> None:
    """Leave whatever is open, without saving."""
    for _ in range(200):
        screen = on.text()
        if HOME in screen.rpartition("\n")[2] and not any(word in screen for word in OPEN):
            return
        on.send("y" if "Discard changes?" in screen else ESC)
        _changed(on, screen)
    raise AssertionError(f"there is no way back:\n{on.text()}")


def _changed(on: Any, before: str) -> bool:
    """Whether the screen shows something else within a second."""
    for _ in range(20):
        on.read(0.05)
        if on.text() != before:
            return True
    return False


def _open(on: Any, opening: str, title: str) -> None:
    """Open a dialog; keys of an earlier burst may still be on their way and close it again."""
    for _ in range(50):
        _home(on)
        if "No matches" in on.text():  # a burst has typed a query
            on.send(f"/{CLEAR_LINE}\r")
            on.wait_until_gone("No matches")
        on.send(f"2g{opening}")  # in the list, on its first fact: some work only there
        while title not in (screen := on.text()):
            if not _changed(on, screen):
                break
        else:
            return
    raise AssertionError(f"{title!r} did not come up:\n{on.text()}")


CLEAR_LINE = "\x7f"
"""Backspace: `/` selects the words of a query."""


@pytest.mark.parametrize(("seed", "size"), [(0, (120, 35)), (1, (80, 24))])
def test_bursts_of_keys_leave_every_dialog_sound(
    memtui: Start, tmp_path: Path, seed: int, size: tuple[int, int]
) -> None:
    root = tmp_path / "agent-memory"
    shutil.copytree(SAMPLES / "agent-memory", root)
    chance = random.Random(seed)
    with memtui([str(root)], tmp_path, size=size, environ={"EDITOR": "true"}) as on:
        on.wait_for("e edit")
        for name, (opening, title) in share(list(DIALOGS.items()), seed, EVERY):
            _open(on, opening, title)
            burst = "".join(chance.choices(KEYS, k=14))
            on.send(burst)
            on.read(0.2)
            assert "Traceback" not in on.text(), (name, burst)
        _open(on, "?", "Help:")
        on.send(ESC)
        on.wait_until_gone("Help:")
        on.send("q")
        assert on.wait_for_end() == 0, on.text()
        assert b"Traceback" not in on.raw
        assert not on.modes_left_on()
    log = tmp_path / "state" / "memtui.log"
    assert not log.exists(), log.read_text()


def test_two_answers_in_one_write_close_one_question(memtui: Start, tmp_path: Path) -> None:
    """The second `y` used to close the form's own parent: ScreenStackError, values on screen."""
    root = tmp_path / "agent-memory"
    shutil.copytree(SAMPLES / "agent-memory", root)
    with memtui([str(root)], tmp_path) as on:
        on.wait_for("e edit")
        on.send("e")
        on.wait_for("Edit in")
        on.send("x")
        on.send("\x1b")
        on.wait_for("Discard changes?")
        on.send("yy")
        on.wait_until_gone("Edit in")
        on.send("q")
        assert on.wait_for_end() == 0, on.text()


NO_KEYS = (
    b"\xff\xc3(\xe5\x93\xd4",
    b"\x1b[1114112u",
    b"\x1b[99999999999;1u",
    b"\x1b[55296;5u",
    b"\x1b[48;35;120;0;0t\x1b[<35;5;5M",
)
"""Not UTF-8, codes above the last character, half of a pair, a mouse on a terminal of no pixels."""


def test_bytes_that_are_no_keys_leave_the_program_running(memtui: Start, tmp_path: Path) -> None:
    root = tmp_path / "agent-memory"
    shutil.copytree(SAMPLES / "agent-memory", root)
    with memtui([str(root)], tmp_path) as on:
        on.wait_for("e edit")
        for junk in NO_KEYS:
            os.write(on._handle, junk)
        on.send("/")
        on.wait_for("enter done")
        on.send(ESC)
        on.wait_for("e edit")
        on.send("q")
        assert on.wait_for_end() == 0, on.text()


def test_what_interrupts_the_editor_does_not_end_the_program(memtui: Start, tmp_path: Path) -> None:
    root = tmp_path / "agent-memory"
    shutil.copytree(SAMPLES / "agent-memory", root)
    editor, ran = tmp_path / "editor", tmp_path / "ran"
    editor.write_text(f"#!/bin/sh\nkill -QUIT $PPID\nkill -INT $PPID\ntouch {ran}\n")
    editor.chmod(0o700)
    with memtui([str(root)], tmp_path, environ={"EDITOR": str(editor)}) as on:
        on.wait_for("e edit")
        on.send("o")
        on.wait_until(ran.exists)
        on.send("?")
        on.wait_for("Help:")
        on.send(f"{ESC}q")
        assert on.wait_for_end() == 0, on.text()


def test_a_dialog_that_is_typed_ahead_does_not_keep_the_stores_closed(
    memtui: Start, tmp_path: Path
) -> None:
    root = tmp_path / "agent-memory"
    shutil.copytree(SAMPLES / "agent-memory", root)
    with memtui([str(root)], tmp_path) as on:
        on.send("?")
        on.wait_for("Help:")
        on.wait_for("current memories")
