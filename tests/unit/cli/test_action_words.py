"""What an action does and says when done is told by one table, to screen and commands alike."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from memtui.cli.commands import short_help
from memtui.cli.group import load_command, memtui
from memtui.tui.actions import ACTIONS

OF_ACTIONS = [action for action in ACTIONS if action.command]


@pytest.mark.parametrize("action", OF_ACTIONS, ids=lambda action: action.command)
def test_help_begins_with_the_line_of_the_table(action) -> None:
    assert short_help(action.command) == action.command_help
    for _ in range(2):  # it is loaded for every look at the help
        text = load_command(action.command).help or ""
        assert text.startswith(action.command_help)
        assert text.count(action.command_help) == 1
    shown = CliRunner().invoke(memtui, [action.command, "--help"]).stdout
    assert action.command_help in " ".join(shown.split())
