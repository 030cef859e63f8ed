"""Many lives of a store, and what they came to in one line."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import engine
from hypothesis.stateful import run_state_machine_as_test

from tests.torture.life.engram import EngramLife
from tests.torture.life.machine import Life
from tests.torture.life.small import KEPT

STEPS = 30
"""Of one life."""
ENGRAM = ("engram july", "engram v3")
KINDS = (*KEPT, *ENGRAM)
"""Every store whose life is lived: formats, and both schemas of Engram."""
PATIENCE = 30.0
"""Seconds in which a life that broke something is made shorter; then it is shown as it is."""


def live(
    folder: Path, kind: str, runs: int, seed: int | None = None, *, thorough: bool = False
) -> str:
    """Run the machine in this folder; without a seed always the same lives.

    Raises what broke, with its steps. `thorough`: with the index on disk.
    """
    folder.mkdir(parents=True, exist_ok=True)
    machine = _life_of(kind, folder, thorough)
    if seed is not None:
        machine = hypothesis.seed(seed)(machine)
    asked = settings(
        max_examples=runs,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=seed is None,
        database=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    with pytest.MonkeyPatch.context() as patch:  # no setting says it, and five minutes are too many
        patch.setattr(engine, "MAX_SHRINKING_SECONDS", PATIENCE, raising=False)
        run_state_machine_as_test(machine, settings=asked)
    steps = f"{runs:,} runs, {machine.steps:,} steps"
    return f"T9 lives [{kind}]: {steps}, each file as the model says"


def _life_of(kind: str, folder: Path, thorough: bool) -> type[Life]:
    """The machine of one format, or of one schema of Engram."""
    named = {"folder": folder, "thorough": thorough, "steps": 0}
    if kind in ENGRAM:
        return type("Life", (EngramLife,), {**named, "schema": kind.partition(" ")[2]})
    return type("Life", (Life,), {**named, "format": kind})
