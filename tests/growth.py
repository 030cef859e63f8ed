"""How the work grows with its size, on whatever machine this is."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMES = 16
"""How much more the larger size is: with it straight growth takes 16 times as long, growth with the
square 256 times."""
LARGEST = 4.0
"""The larger size may take this many times what straight growth would: as far from the one as from
the other."""
ROUNDS = 3


def assert_straight(work: Callable[[int], object], size: int) -> None:
    """The work on `size` takes no more than its share of the work on a sixteenth of it.

    Both are measured here, in processor time, so that it does not matter how fast the machine is;
    what another program takes away from one round it leaves to the next.
    """
    small = size // TIMES
    work(small)  # what is compiled or imported only once
    found = []
    for _ in range(ROUNDS):
        few = _seconds(lambda: [work(small) for _ in range(TIMES)])
        found.append(_seconds(lambda: work(size)) / few)
        if found[-1] < LARGEST:
            return
    raise AssertionError(f"it takes {min(found):.1f} times what straight growth would")


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started
