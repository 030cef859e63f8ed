"""Several programs write one file at once, and nobody's work is lost (P3, P4)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.long_run import count
from tests.torture import agents, busy, crowds

pytestmark = pytest.mark.slow

EDITS = count(60, 500)
"""Of each writer."""


def test_two_memtui(tmp_path: Path, figures: Callable[[str], None]) -> None:
    figures(crowds.two_writers(tmp_path, EDITS * 2, 1))


@pytest.mark.parametrize("style", [*crowds.REWRITING, "jq script"])
def test_a_program_that_takes_no_lock(
    tmp_path: Path, figures: Callable[[str], None], style: str
) -> None:
    edits = count(20, EDITS) if style == "jq script" else EDITS  # each starts a process
    figures(crowds.foreign(tmp_path, style, edits, edits, 1))


def test_a_program_that_appends(tmp_path: Path, figures: Callable[[str], None]) -> None:
    figures(crowds.appending(tmp_path, EDITS, EDITS, 1))


def test_files_that_others_have_destroyed(tmp_path: Path, figures: Callable[[str], None]) -> None:
    figures(crowds.broken_by_others(tmp_path))


def test_two_agents_break_their_file(tmp_path: Path, figures: Callable[[str], None]) -> None:
    figures(agents.two_agents(tmp_path, 3))


@pytest.mark.parametrize(("edits", "forgetful"), [(5, False), (1, True)])
def test_a_program_that_never_stops_writing(
    tmp_path: Path, figures: Callable[[str], None], edits: int, forgetful: bool
) -> None:
    """Its book-keeping differs each time; that must not keep our action from ending as done."""
    figures(busy.beside_a_busy_program(tmp_path, edits, 1, forgetful=forgetful))
