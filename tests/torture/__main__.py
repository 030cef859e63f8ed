"""Part B: every scenario over and over, with new random numbers, until the time is up.

    python -m tests.torture --minutes 60 --seed 1 [--only kills]

Prints one line a round; stops at the first broken promise with the seed that repeats it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.torture import agents, crowds, errors, kills, pairs, power
from tests.torture.cases import AGENT, AMBIENT, CASES
from tests.torture.life.living import KINDS, live

Round = Callable[[Path, int], str]

LIVES = 25
"""Of each format in a round: few, so that a short run has some of everything."""

ROUNDS: dict[str, Round] = {
    **{
        f"life of {kind}": lambda folder, seed, kind=kind: live(folder, kind, LIVES, seed)
        for kind in KINDS
    },
    "points": lambda folder, seed: kills.at_every_point(folder, 4, seed, CASES),
    "kills": lambda folder, seed: kills.at_random_times(folder, 200, seed, AGENT),
    "kills in two files": lambda folder, seed: kills.at_random_times(folder, 100, seed, AMBIENT),
    "errors": lambda folder, seed: errors.injected(folder),
    **{
        f"pairs of faults: {save.name}": lambda folder, seed, save=save: pairs.all_kept(
            folder, save, seed, 200, 400
        )
        for save in pairs.SAVES
    },
    "strace": lambda folder, seed: errors.traced(folder),
    "power cuts": lambda folder, seed: power.cut(folder, seed),
    "two agents": lambda folder, seed: agents.two_agents(folder, 20),
    "two memtui": lambda folder, seed: crowds.two_writers(folder, 1000, seed),
    "append": lambda folder, seed: crowds.appending(folder, 500, 1000, seed),
    **{
        style: lambda folder, seed, style=style: crowds.foreign(folder, style, 500, 500, seed)
        for style in [*crowds.REWRITING, "jq script"]
    },
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=sorted(ROUNDS), action="append")
    asked = parser.parse_args()
    until, seed, rounds = time.monotonic() + asked.minutes * 60, asked.seed, 0
    while time.monotonic() < until:
        for name in asked.only or ROUNDS:
            folder = Path(tempfile.mkdtemp(prefix="memtui-torture-"))
            started = time.monotonic()
            try:
                line = ROUNDS[name](folder / "round", seed)
            except AssertionError as error:
                again = f"python -m tests.torture --seed {seed} --only {name!r}"
                steps = getattr(error, "__notes__", [])
                print(f"BROKEN: {name}: {error}", *steps, f"repeat: {again}", sep="\n")
                print(f"kept: {folder}")
                return 1
            shutil.rmtree(folder)
            rounds += 1
            print(f"[seed {seed}, {time.monotonic() - started:.1f} s] {line}", flush=True)
            if time.monotonic() > until:
                break
        seed += 1
    print(f"{rounds} rounds, every promise kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
