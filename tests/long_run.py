"""The long run: `pytest --long`, or MEMTUI_LONG=1 in the environment.

Random tests (lives, crowds, kills, fuzz) repeat one check with other numbers. The usual run takes
so many that a fault of the past would be found again; the long run takes several times as many, and
`python -m tests.torture` goes on until it is stopped.
"""

from __future__ import annotations

import os

VARIABLE = "MEMTUI_LONG"


def count(usual: int, long: int) -> int:
    """The repetitions of a test in this run."""
    return long if os.environ.get(VARIABLE) else usual
