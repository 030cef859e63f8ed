"""Whatever a command is asked for, it prints nothing that a terminal would act on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memtui.testing.hostile_text_tests import run_and_look
from memtui.testing.hostile_values import ALL


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["show VALUE", "search VALUE", "search x --since VALUE", "add VALUE -e x"]
)
def test_no_argument_lets_it_act(
    command: str,
    tmp_path: Path,
    call: Callable[..., int],
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """The formats differ in what they print, not in what commands make of an argument."""
    notes = tmp_path / "hermes" / "memories" / "MEMORY.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("The port is 8123\n§\nDeploys wait for the staging check")
    for value in ALL.values():
        if "\0" not in value:  # no shell can give one
            words = [word.replace("VALUE", value) for word in command.split()]
            run_and_look(words, tmp_path / "hermes", capfdbinary)
