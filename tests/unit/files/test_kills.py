"""Killed at any instant, a file is old or new, and the journal knows which (P2, P6)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.torture import kills
from tests.torture.cases import AGENT, AMBIENT, GONE, NEW, NOTE, SIDECAR, Case


@pytest.mark.parametrize(
    ("case", "rounds"),
    [(AGENT, 10), (AMBIENT, 10), (NOTE, 10), (NEW, 4), (GONE, 4), (SIDECAR, 4)],
    ids=lambda value: value.name if isinstance(value, Case) else str(value),
)
def test_killed_at_every_point_of_a_save(
    tmp_path: Path, figures: Callable[[str], None], case: Case, rounds: int
) -> None:
    figures(kills.at_every_point(tmp_path, rounds, 1, [case]) + f" [{case.name}]")


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_times(tmp_path: Path, figures: Callable[[str], None], seed: int) -> None:
    figures(kills.at_random_times(tmp_path, 100, seed))


def test_killed_in_the_middle_of_two_files(tmp_path: Path, figures: Callable[[str], None]) -> None:
    figures(kills.at_random_times(tmp_path, 20, 3, AMBIENT))
