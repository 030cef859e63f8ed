"""The screen as a browser shows it: no key starts a program, stops memtui, or changes a memory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memtui.paths import READ_ONLY, SERVED_VARIABLE
from memtui.tui.actions import ACTIONS, NOT_SERVED
from tests.long_run import share
from tests.samples import SAMPLES

from .conftest import Start

pytestmark = pytest.mark.slow
BYTES = {
    **{f"ctrl+{letter}": chr(ord(letter) - 96) for letter in "abcdefghijklmnopqrstuvwxyz"},
    "enter": "\r",
    "space": " ",
    "comma": ",",
    "slash": "/",
    "tab": "\t",
    "delete": "\x1b[3~",
    "insert": "\x1b[2~",
    "f2": "\x1bOQ",
    "f5": "\x1b[15~",
}


def test_keys_that_cannot_work_in_a_browser_are_not_shown_and_do_nothing(
    memtui: Start, tmp_path: Path
) -> None:
    store = tmp_path / "hermes"
    shutil.copytree(SAMPLES / "hermes", store)
    before = {file: file.read_bytes() for file in store.rglob("*") if file.is_file()}
    with memtui([str(store)], tmp_path, environ={SERVED_VARIABLE: READ_ONLY}) as on:
        shown = on.wait_for("enter open")
        for words in ("o source", "e edit", "d retire", "S supersede", "n new"):
            assert words not in shown
        for key, reason in (("o", "not in a browser"), (",", "not in a browser"), ("$", "browser")):
            on.send(key)
            on.wait_for(reason)
            on.escape()
        for key in ("e", "d", "n", "S", "m", "u", "p"):
            on.send(key)
            on.wait_for("read-only")
            on.escape()
        on.send("?")
        shown = on.wait_for("Help")
        assert "$EDITOR" not in shown
        assert "$PAGER" not in shown
        on.send("/open the page")
        on.wait_for("no matches")
        on.escape()
        on.escape()
        on.send("\x1a")  # ctrl+z
        on.send("/gateway")
        on.wait_for("memtui / gateway")
        on.escape()
        on.send("q")
        assert on.wait_for_end() == 0
    assert before == {file: file.read_bytes() for file in store.rglob("*") if file.is_file()}


def test_no_key_starts_a_program(memtui: Start, tmp_path: Path) -> None:
    """With programs around that would leave a file, and where writing is allowed, so that no key is
    refused for it: each key of what lends the terminal or starts a program, in help too, and a
    third of the others; all of them in the long run."""
    store = tmp_path / "hermes"
    shutil.copytree(SAMPLES / "hermes", store)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("vi", "less", "xdg-open", "xclip", "xsel", "wl-copy", "sh", "mine"):
        tool = tools / name
        tool.write_text(f"#!/bin/sh\ntouch {tmp_path}/started-{name}\n")
        tool.chmod(0o755)
    environ = {
        SERVED_VARIABLE: "write",
        "PATH": f"{tools}:/usr/bin:/bin",
        "DISPLAY": ":0",
        "WAYLAND_DISPLAY": "wayland-0",
        **dict.fromkeys(("EDITOR", "VISUAL", "PAGER", "BROWSER"), str(tools / "mine")),
    }
    leaves = {"q", "ctrl+c", "escape"}
    with memtui([str(store)], tmp_path, environ=environ) as on:
        on.wait_for("enter open")
        lending = {key for action in ACTIONS if action.id in NOT_SERVED for key in action.keys}
        others = {key for action in ACTIONS for key in action.keys} - leaves - lending
        for key in (*sorted(lending), *share(sorted(others), 0, 3), "?$"):
            on.send(BYTES.get(key, key if len(key) <= 2 else ""))
            on.escape()
            on.escape()
        on.send("\x15")  # what was typed into a line
        on.escape()
        on.send("/gateway")
        on.wait_for("memtui / gateway")
        on.escape()
        on.escape()
        on.send("q")
        assert on.wait_for_end() == 0
    assert not list(tmp_path.glob("started-*"))
