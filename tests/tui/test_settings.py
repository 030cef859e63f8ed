"""`,` opens config.toml in the editor; what is saved there is used at once, faults are named."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest

from memtui import config
from memtui.config import Settings

from .stage import Stage, stage

pytestmark = pytest.mark.slow


def lend(on: Stage, tmp_path: Path, text: str) -> None:
    """Let the editor write this text; the pilot has no terminal to suspend."""
    editor = tmp_path / "editor.py"
    editor.write_text(f"import sys, pathlib\npathlib.Path(sys.argv[-1]).write_text({text!r})\n")
    on.app.settings = Settings(editor=f"{sys.executable} {editor}")
    on.app.suspend = contextlib.nullcontext  # type: ignore[method-assign,assignment]


async def test_what_is_saved_in_the_editor_is_used_at_once_and_faults_are_named(
    root: Path, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    async with stage(root, (80, 24), config_file=file, toasts=True) as on:
        for name in ("papr", "duks"):  # each is named, also while no known theme is set
            lend(on, tmp_path, f'theme = "{name}"\n')
            await on.press("comma")
            assert f"there is no theme '{name}'" in on.text()
            on.app.clear_notifications()
        settings = 'theme = "paper"\n[list]\ndensity = "roomy"\ndates = "dates"\n'
        lend(on, tmp_path, f"{settings}[search]\nhalf_life_days = 45\n")
        await on.press("comma")
        assert (on.app.theme, on.browse.memories.line_height) == ("paper", 3)
        told = [toast.message for toast in on.app._notifications]
        assert "config.toml:4: list.dates must be one of ago, date" in " ".join(told[0].split())
        assert told[1:] == ["From the next start: search.half_life_days."]


async def test_an_editor_gets_the_settings_explained_where_there_is_no_file(
    root: Path, tmp_path: Path
) -> None:
    file = tmp_path / "new" / "config.toml"
    async with stage(root, config_file=file) as on:
        on.app.settings = Settings(editor="true")
        on.app.suspend = contextlib.nullcontext  # type: ignore[method-assign,assignment]
        await on.press("comma")
        assert file.read_text() == config.default_text()
