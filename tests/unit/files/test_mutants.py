"""Each guard of the save is there because a test fails without it (T25)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.long_run import share
from tests.torture import mutants

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mutant", share(mutants.MUTANTS, 0, 2), ids=lambda mutant: mutant.name)
def test_a_save_without_this_guard_is_caught(
    tmp_path: Path, figures: Callable[[str], None], mutant: mutants.Mutant
) -> None:
    assert mutants.run(tmp_path, mutant), f"{mutant.name} survived {mutant.killer}"
    figures(f"T25 mutant killed: {mutant.name}")


def test_the_killers_pass_on_the_real_thing(tmp_path: Path) -> None:
    for killer in ("order", "locked", "mode", "points"):
        real = mutants.Mutant("none", "files.atomic_replace", "class Stale", "class Stale", killer)
        assert not mutants.run(tmp_path / killer, real), killer
