"""The settings dialog: each change is used at once and saved with the file's comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from memtui import config
from memtui.config.settings import SCHEMA
from memtui.tui.dialogs.settings import SettingsScreen

from .stage import Stage, stage

COMMENTED = """\
# mine
theme = "dusk"  # at night

[list]
# rows
density = "compact"
"""


async def go_to(on: Stage, key: str) -> None:
    """Open the settings at one of them."""
    if not isinstance(on.app.screen, SettingsScreen):
        await on.press("comma")
    await on.press("home", *["down"] * [setting.key for setting in SCHEMA].index(key))


@pytest.mark.slow
async def test_a_changed_setting_is_used_at_once_and_the_comments_stay(
    root: Path, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(COMMENTED)
    async with stage(root, (80, 24), config_file=file) as on:
        await go_to(on, "list.density")
        await on.sees("Rows per memory")
        await on.press("enter", "down", "down", "enter")
        assert on.browse.memories.line_height == 3
        await go_to(on, "list.dates")
        await on.press("enter", "down", "enter")
        await go_to(on, "theme")
        names = [name for name, _ in on.app.colours.choices()]
        await on.press("enter", "home", *["down"] * names.index("paper"), "enter")
        assert on.app.theme == "paper"
        await on.press("escape")
        await on.sees("2026-11-20")
    saved = file.read_text()
    for line in ("# mine", 'theme = "paper"  # at night', "# rows", 'density = "roomy"'):
        assert line in saved
    assert config.load(file).settings.dates == "date"


@pytest.mark.slow
async def test_default_removes_the_setting_from_the_file(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(COMMENTED)
    async with stage(root, settings=config.load(file).settings, config_file=file) as on:
        await go_to(on, "list.sort")
        await on.press("enter", "down", "down", "enter")
        assert on.headlines()[0].startswith("Use Postgres")
        assert config.load(file).settings.sort == "old"
        await on.press("delete")
        assert config.load(file).settings.sort == ""
        assert not on.headlines()[0].startswith("Use Postgres")


@pytest.mark.slow
async def test_a_wrong_value_is_refused_with_the_reason(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    async with stage(root, config_file=file, toasts=True) as on:
        await go_to(on, "search.half_life_days")
        await on.sees("takes effect at the next start")
        await on.press("enter", "ctrl+u")
        await on.type("many")
        await on.press("enter")
        assert "must be a number of days" in [t.message for t in on.app._notifications][-1]
        assert not file.exists()
        await on.press("enter", "ctrl+u")
        await on.type("45")
        await on.press("enter")
        assert config.load(file).settings.half_life_days == 45


@pytest.mark.slow
async def test_an_unknown_theme_in_the_edited_file_is_told(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    async with stage(root, config_file=file, toasts=True) as on:
        for name in ("papr", "duks"):
            file.write_text(f'theme = "{name}"\n')
            problems = on.app.reload_settings()
            assert [f"there is no theme '{name}'" in str(each) for each in problems] == [True]
        assert on.app.reload_settings() == []


@pytest.mark.slow
async def test_every_setting_is_listed_and_explained(root: Path) -> None:
    async with stage(root, (120, 45)) as on:
        await on.press("comma")
        shown = await on.still()
        assert all(setting.key in shown for setting in SCHEMA)
        for setting in SCHEMA:
            assert " ".join(setting.about.split()[:3]) in on.text(), setting.key
            await on.press("down")
