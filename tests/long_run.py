"""The long run: `pytest --long`, or MEMTUI_LONG=1 in the environment.

Random tests (lives, crowds, kills, fuzz) repeat one check with other numbers. The usual run takes
so many that a fault of the past would be found again; the long run takes several times as many, and
`python -m tests.torture` goes on until it is stopped.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
VARIABLE = "MEMTUI_LONG"


def is_long() -> bool:
    return bool(os.environ.get(VARIABLE))


def count(usual: int, long: int) -> int:
    """The repetitions of a test in this run."""
    return long if is_long() else usual


def share(items: Sequence[T], number: int, every: int) -> Sequence[T]:
    """What the usual run takes of these: one of `every`, from the `number`th on; the long one all.

    For a loop in a loop (each format with each value): with the number of the outer one, each
    inner one is taken by some.
    """
    every = count(every, 1)
    return items[number % every :: every]
