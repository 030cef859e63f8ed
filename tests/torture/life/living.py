"""Many lives of a store, and what they came to in one line."""

from __future__ import annotations

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.torture.life.machine import Life, life_of

STEPS = 30


def live(format: str, runs: int, seed: int | None = None, *, thorough: bool = False) -> str:
    """Run the machine; without a seed always the same lives. Raises what broke, with its steps."""
    machine = life_of(format, thorough=thorough)
    if seed is not None:
        machine = hypothesis.seed(seed)(machine)
    before = Life.steps
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=runs,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=seed is None,
            database=None,
            report_multiple_bugs=False,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
    steps = Life.steps - before
    return f"T9 lives [{format}]: {runs:,} runs, {steps:,} steps, each file as the model says"
