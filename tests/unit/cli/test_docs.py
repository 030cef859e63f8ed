"""What the documents say is so."""

from __future__ import annotations

from pathlib import Path

from memtui.cli.commands import COMMANDS
from memtui.cli.group import memtui
from memtui.paths import bundled_folder
from tests import commands_page, keys_page
from tests.formats import EVERY_FORMAT

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_page_of_keys_is_what_the_screen_has() -> None:
    assert (ROOT / "docs" / "keys.md").read_text(encoding="utf-8") == keys_page.page(), (
        "python -m tests.keys_page > docs/keys.md writes it anew"
    )


def test_the_page_of_commands_is_what_the_program_has() -> None:
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == commands_page.page(), (
        "python -m tests.commands_page > docs/commands.md writes it anew"
    )


def test_the_readme_names_every_command_and_every_command_has_help() -> None:
    for name in COMMANDS:
        if name != "open":
            assert f"{name}" in README, name
        command = memtui.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        assert command.help, name


def test_the_readme_names_every_theme_and_every_format() -> None:
    for theme in bundled_folder("themes").glob("*.toml"):
        assert f"`{theme.stem}`" in README, theme
    for known in EVERY_FORMAT:
        assert known.name.split("-")[0] in README.lower(), known.name


def test_the_page_of_the_tests_shows_a_test_that_runs() -> None:
    example = (ROOT / "tests" / "tui" / "test_first_example.py").read_text(encoding="utf-8")
    page = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    assert f"```python\n{example}```" in page
