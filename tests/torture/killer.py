"""A small scenario by name: for mutants, which must make it fail."""

from __future__ import annotations

import random
import stat
from pathlib import Path

from memtui.errors import SaveError
from memtui.files.locking import locked
from memtui.files.save_hooks import NullRecorder
from memtui.files.save_transaction import commit
from tests.torture import crowds, errors, kills
from tests.torture.cases import AGENT, NOTE


def foreign(folder: Path) -> None:
    """Several short races: one may go well by luck."""
    for seed in range(6):
        crowds.foreign(folder / str(seed), "rename", 150, 150, seed)


def mode(folder: Path) -> None:
    folder.mkdir()
    NOTE.make(folder)
    path = folder / NOTE.files[0]
    path.chmod(0o644)
    commit(NOTE.plan(folder, random.Random(1)), NullRecorder(folder / "state"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def one_at_a_time(folder: Path) -> None:
    path = folder / "x"
    with locked(path, folder):
        try:
            with locked(path, folder, patience=0.01):
                raise AssertionError("two hold the lock")
        except SaveError:
            pass


SCENARIOS = {
    "order": errors.order,
    "foreign": foreign,
    "points": lambda folder: kills.at_every_point(folder, 1, 1, [AGENT]),
    "locked": one_at_a_time,
    "mode": mode,
    "limit": errors.size_limit,
}
