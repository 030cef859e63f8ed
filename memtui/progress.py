"""Progress reports and cancellation, for every piece of work that takes long.

A function that works for long takes `report: Report = silent` and `cancelled: IsCancelled = never`.
It calls `report` now and then, asks `cancelled` as often, and raises `Cancelled` when that is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar


class Cancelled(Exception):
    """The work was cancelled. The message, if any, says to a person what was not done."""


class Progress(NamedTuple):
    """How far a piece of work is: what is being done, and how many of how many items are done."""

    what: str
    done: int = 0
    total: int = 0
    """0 where it is not known."""


Report = Callable[[Progress], None]
IsCancelled = Callable[[], bool]


def silent(_: Progress) -> None:
    """Ignore progress: the default `report`."""


_Item = TypeVar("_Item")


def stoppable(items: Iterable[_Item], cancelled: IsCancelled, every: int = 256) -> Iterator[_Item]:
    """Yield the items, and ask `cancelled` before each so many of them. Raises Cancelled."""
    for number, item in enumerate(items):
        if number % every == 0 and cancelled():
            raise Cancelled
        yield item


def never() -> bool:
    """Return False: the default `cancelled`."""
    return False
