"""How memories lie in time: a bar for each day, ISO week or month, the empty ones included."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

Unit = Literal["day", "week", "month"]
UNITS: tuple[Unit, ...] = ("day", "week", "month")

MAX_BARS = 1_200
"""A hundred years of months. With more (a stray date in the year 1), the part is shown that
holds the most memories, and the rest is counted."""
OUTLIER_SHARE = 0.01
"""Share of memories at either end that may not decide which unit fits."""
DEFAULT_WIDTH = 100
"""Bars that should suffice when the caller does not say how many fit."""

_EPOCH = date(1970, 1, 1).toordinal()
_FIRST = date.min.toordinal() - _EPOCH
_LAST = date.max.toordinal() - _EPOCH
"""Days that a calendar has."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of time and how many memories fall into it."""

    start: date
    """Its first day: for a week its Monday, for a month its first."""
    count: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """Bars without gaps, oldest first."""

    unit: Unit
    bars: tuple[Bar, ...] = ()
    undated: int = 0
    """Memories without a time, or with one that no calendar has."""
    earlier: int = 0
    """Memories before the first bar, left out because the bars would be too many."""
    later: int = 0


def build(
    days: Mapping[int, int],
    undated: int = 0,
    unit: Unit | None = None,
    *,
    width: int = DEFAULT_WIDTH,
) -> Timeline:
    """The timeline of days since 1970, each with how many memories lie there.

    Without a `unit` the finest is taken whose bars fit into `width`.
    """
    known = Counter({day: days[day] for day in days if _FIRST <= day <= _LAST})
    undated += sum(days.values()) - known.total()
    if not known:
        return Timeline(unit or "day", (), undated)
    if unit is None:
        unit = _fitting(known, width)
    counts: Counter[int] = Counter()
    for day, number in known.items():
        counts[_bucket(day, unit)] += number
    first, last, earlier, later = _window(counts)
    bars = tuple(Bar(_start(at, unit), counts[at]) for at in range(first, last + 1))
    return Timeline(unit, bars, undated, earlier, later)


def find_bar_range(start: date, unit: Unit) -> tuple[date, date]:
    """First and last day of the bar that begins on this day, both inclusive: to filter by it."""
    if unit == "day":
        return start, start
    if unit == "week":
        return start, start + min(timedelta(days=6), date.max - start)
    if (start.year, start.month) == (date.max.year, date.max.month):
        return start, date.max
    following = date(start.year + start.month // 12, start.month % 12 + 1, 1)
    return start, following - timedelta(days=1)


def _fitting(days: Counter[int], width: int) -> Unit:
    ordered = sorted(days)
    total = sum(days.values())
    low = _passing(ordered, days, total * OUTLIER_SHARE)
    high = _passing(ordered[::-1], days, total * OUTLIER_SHARE)
    for unit in UNITS:
        if _bucket(high, unit) - _bucket(low, unit) < width:
            return unit
    return "month"


def _passing(ordered: Sequence[int], days: Counter[int], allowed: float) -> int:
    """The first day before which more than the allowed number does not lie."""
    seen = 0
    for day in ordered:
        seen += days[day]
        if seen > allowed:
            return day
    return ordered[-1]


def _bucket(day: int, unit: Unit) -> int:
    """The number of the day's bar; neighbouring bars have neighbouring numbers."""
    if unit == "day":
        return day
    if unit == "week":
        return (day + _EPOCH - 1) // 7
    on = date.fromordinal(day + _EPOCH)
    return on.year * 12 + on.month - 1


def _start(bucket: int, unit: Unit) -> date:
    if unit == "day":
        return date.fromordinal(bucket + _EPOCH)
    if unit == "week":
        return date.fromordinal(bucket * 7 + 1)
    return date(bucket // 12, bucket % 12 + 1, 1)


def _window(counts: Counter[int]) -> tuple[int, int, int, int]:
    """First and last bar to show, and how many memories lie before and after them."""
    ordered = sorted(counts)
    if ordered[-1] - ordered[0] < MAX_BARS:
        return ordered[0], ordered[-1], 0, 0
    sums = [0]
    for at in ordered:
        sums.append(sums[-1] + counts[at])
    best, here = -1, 0
    for index, at in enumerate(ordered):  # the latest of equally full windows
        end = bisect_right(ordered, at + MAX_BARS - 1)
        if sums[end] - sums[index] >= best:
            best, here = sums[end] - sums[index], index
    first = ordered[here]
    end = bisect_left(ordered, first + MAX_BARS)
    return first, ordered[end - 1], sums[here], sums[-1] - sums[end]
