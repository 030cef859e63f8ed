"""Only changed cells are written, so whatever else was written must be painted over on demand."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import termios
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Start = Callable[..., AbstractContextManager[Any]]

NOISE = "\x1b[3;5HBroadcast message from root@host\r\n\r\nNOISE " + "\n" * 12 + "NOISE NOISE"
WORSE = "\x1b(0\x0e\x1b[2;9r\x1b[4h\x1b[41mNOISE"
"""What `cat` of a binary may do: line-drawing letters, a scrolling region, insert mode."""
REDRAW, SUSPEND = "\x0c", "\x1a"


def store(folder: Path) -> Path:
    entity = folder / "memory" / "entities" / "alice"
    entity.mkdir(parents=True)
    items = [
        {
            "id": f"{number:08d}-0000-4000-8000-000000000000",
            "content": f"Alice knows thing {number}",
            "source": "conversation",
            "sourceRef": "",
            "entityType": "person",
            "createdAt": f"2026-01-{number + 1:02d}T10:00:00Z",
            "status": "active",
            "supersedes": None,
        }
        for number in range(9)
    ]
    (entity / "items.json").write_text(json.dumps(items), encoding="utf-8")
    return folder / "memory"


def panes(on: Any) -> None:
    """Every pane is there, to its corners."""
    for words in ("1 Entities", "2 Memories", "4 Timeline", "5 Statistics", "3 Detail"):
        on.wait_for(words)
    on.wait_for("Alice knows thing 0")


def test_noise_is_painted_over(memtui: Start, tmp_path: Path) -> None:
    """On the main screen, while typing, in a dialog; and another size needs no key."""
    with memtui([str(store(tmp_path))], tmp_path, size=(120, 30)) as on:
        panes(on)
        for key, words in (("", "? help"), ("/", "enter done"), ("?", "Search as you type")):
            on.wait_for("? help")
            on.send(key)
            on.wait_for(words)
            for noise in (NOISE, WORSE):
                on.write(noise)
                on.wait_for("NOISE")
                on.send(REDRAW)
                on.wait_until_gone("NOISE")
                assert "Broadcast" not in on.text()
                on.wait_for(words)
            on.escape()
            panes(on)
        on.write(NOISE)
        on.wait_for("NOISE")
        on.resize(140, 32)
        on.wait_until_gone("NOISE")
        panes(on)
        on.send("q")
        assert on.wait_for_end() == 0
        assert not on.modes_left_on()


def test_the_terminal_is_lent_and_taken_back(memtui: Start, tmp_path: Path) -> None:
    """To an editor, to one that does not start, and to the shell by ^Z."""
    root, editor = store(tmp_path), tmp_path / "editor"
    editor.write_text(f"#!{sys.executable}\ninput('EDITING\\n' * 40)\n")
    line = shlex.join([sys.executable, "-m", "memtui", str(root)])
    environ = {"EDITOR": str(editor), "PS1": "PROMPT "}
    with memtui([], tmp_path, size=(120, 30), environ=environ, program=("sh", "-i")) as on:
        on.wait_for("PROMPT")
        on.send(f"{line}\n")
        panes(on)
        on.send("o")
        on.wait_for("Permission denied")
        editor.chmod(0o700)
        on.send("j")
        on.wait_for("2 of 9")
        panes(on)
        on.send("o")
        on.wait_for("EDITING")
        on.send("\n")
        on.wait_until_gone("EDITING")
        panes(on)
        on.send(SUSPEND)
        on.wait_for("PROMPT")
        on.send("fg\n")
        on.wait_until_gone("PROMPT")
        panes(on)
        on.wait_for("? help")
        on.send("q")
        on.wait_for("PROMPT")
        on.send("exit\n")
        assert on.wait_for_end() == 0


def test_being_continued_starts_nothing_twice(memtui: Start, tmp_path: Path) -> None:
    """SIGCONT comes also without ^Z before it: when a terminal is closed, after `kill -STOP`.

    Two threads would read the keys, each some of them, and what they write would be swapped.
    """
    with memtui([str(store(tmp_path))], tmp_path, size=(120, 30)) as on:
        panes(on)
        for numbers in ((signal.SIGSTOP, signal.SIGCONT), (signal.SIGCONT,), (signal.SIGCONT,)):
            on.write(NOISE)
            on.wait_for("NOISE")
            for number in numbers:
                os.kill(on._child, number)
            on.wait_until_gone("NOISE")
            panes(on)
        on.send("/")
        on.wait_for("enter done")
        for letter in "authenticated things":
            on.send(letter)
        on.wait_for("authenticated things")
        on.escape()
        on.send("\x11")
        assert on.wait_for_end() == 0
        assert not on.modes_left_on()
        assert termios.tcgetattr(on._line) == on.attributes


def test_without_a_shell_it_does_not_stop(memtui: Start, tmp_path: Path) -> None:
    with memtui([str(store(tmp_path))], tmp_path) as on:
        on.wait_for("1 of 9")
        on.send(SUSPEND)
        on.wait_for("No shell to suspend to")
        on.send("q")
        assert on.wait_for_end() == 0
