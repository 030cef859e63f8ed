"""A file is shown in its folder; a folder with the name of a program is not started."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from memtui.tui.app import MemtuiApp
from memtui.tui.terminal import open_folder


@pytest.mark.parametrize(("platform", "program"), [("darwin", "open"), ("linux", "xdg-open")])
def test_a_file_is_shown_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, program: str
) -> None:
    said = tmp_path / "said"
    tool = tmp_path / "bin" / program
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {said}.new\nmv {said}.new {said}\n')
    tool.chmod(0o755)
    folder = tmp_path / "notes.app"
    folder.mkdir()
    (folder / "note.md").touch()
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":0")
    app = cast(MemtuiApp, SimpleNamespace(notify=pytest.fail))
    for path, shown in ((folder / "note.md", folder / "note.md"), (folder / "gone.md", folder)):
        said.unlink(missing_ok=True)
        open_folder(app, path)
        while not said.exists():
            time.sleep(0.01)
        expected = ["-R", str(shown)] if program == "open" else [str(folder)]
        assert said.read_text().splitlines() == expected
