"""The glossary of CONTRIBUTING.md has exactly the words of the program's registries."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from memtui.changes import Act, Outcome
from memtui.cli.commands import COMMANDS
from memtui.model import KINDS, STATUSES
from memtui.tui.actions import ACTIONS
from tests.formats import FORMATS

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")

REGISTRIES: dict[str, Iterable[str]] = {
    "Formats": [known.name for known in FORMATS],
    "Kinds": KINDS,
    "Statuses": STATUSES,
    "Acts": Act,
    "Outcomes": Outcome,
    "Commands": set(COMMANDS) - set(Act),
    "Actions": [action.id for action in ACTIONS],
}


def words_of(section: str) -> list[str]:
    """The words in backticks of the first column of a section's table."""
    _, _, rest = TEXT.partition(f"\n### {section}\n")
    rows = re.findall(r"^\| (`[^|]*) \|", rest.partition("\n### ")[0], re.MULTILINE)
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize("section", REGISTRIES)
def test_the_glossary_has_each_word_of_the_registry_once(section: str) -> None:
    assert sorted(words_of(section)) == sorted(map(str, REGISTRIES[section]))
