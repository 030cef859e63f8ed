"""Every way out of a form with changes keeps a draft, and the terminal is left as it was."""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.tui.stage import write_store

pytestmark = pytest.mark.slow

Start = Callable[..., AbstractContextManager[Any]]
WRITTEN = "hinterland 4711 "


def _store(folder: Path) -> Path:
    root = folder / "agent-memory"
    return root / "memory" if root.exists() else write_store(root)


def _write_in_a_form(on: Any) -> None:
    on.wait_for("e edit")
    on.send("e")
    on.wait_for("Edit in")
    on.send(WRITTEN)
    on.wait_for(WRITTEN.strip())


def _offered_again(memtui: Start, home: Path) -> None:
    """The next start tells of the draft, opens it, and forgets it once it is saved."""
    with memtui([str(_store(home))], home) as on:
        on.wait_for("Unsaved draft")
        on.send("K")
        on.wait_for("Edit in")
        on.wait_for(WRITTEN.strip())
        on.send("\x13")
        on.wait_for("Saved: hinterland 4711")
        on.send("q")
        assert on.wait_for_end() == 0
    assert not list((home / "state" / "drafts").iterdir())


def _assert_draft(home: Path) -> None:
    """The draft is there, for its owner only."""
    (draft,) = (home / "state" / "drafts").iterdir()
    assert draft.stat().st_mode & 0o777 == 0o600
    assert WRITTEN.strip() in draft.read_text()


def _ends(by: str, on: Any) -> int:
    if by == "ctrl+q":
        on.send("\x11")
        return 0
    if by == "killed":
        # What is typed is kept when the keys rest for a moment.
        drafts = Path(os.readlink(f"/proc/{on._child}/cwd")) / "state" / "drafts"
        on.wait_until(
            lambda: any(WRITTEN.strip() in file.read_text() for file in drafts.glob("*.json"))
        )
        number = signal.SIGKILL
    else:
        number = signal.Signals[by]
    os.kill(on._child, number)
    return -9 if by == "killed" else 128 + number


@pytest.mark.parametrize("by", ["ctrl+q", "SIGTERM", "killed"])
def test_a_form_that_is_left_in_any_way_keeps_its_text(
    memtui: Start, tmp_path: Path, by: str
) -> None:
    with memtui([str(_store(tmp_path))], tmp_path) as on:
        _write_in_a_form(on)
        code = _ends(by, on)
        assert on.wait_for_end() == code
        if by != "killed":
            assert not on.modes_left_on()
            assert termios.tcgetattr(on._line) == on.attributes
            assert "the unsaved draft is kept" in on.text()
            assert b"Traceback" not in on.raw
    _assert_draft(tmp_path)
    if by == "killed":  # by the next start: the file is the same in each way
        _offered_again(memtui, tmp_path)


def test_a_closed_terminal_ends_the_program_and_keeps_the_text(
    memtui: Start, tmp_path: Path
) -> None:
    with memtui([str(_store(tmp_path))], tmp_path) as on:
        _write_in_a_form(on)
        on.hang_up()
        assert on.wait_for_end() == 128 + signal.SIGHUP
    _assert_draft(tmp_path)
