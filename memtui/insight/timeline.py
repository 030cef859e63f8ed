"""How memories lie in time: a bar for each day, ISO week or month, the empty ones included."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal

Unit = Literal["day", "week", "month"]
UNITS: tuple[Unit, ...] = ("day", "week", "month")

MOST_BARS = 1_200
"""A hundred years of months. With more (a stray date in the year 1), the part is shown that
holds the most memories, and the rest is counted."""
STRAY = 0.01
"""Share of memories at either end that may not decide which unit fits."""
DEFAULT_WIDTH = 100
"""Bars that should suffice when the caller does not say how many fit."""

_DAY = 86_400
_QUARTER = 900
_EPOCH = date(1970, 1, 1).toordinal()
_LOWEST = float((date.min.toordinal() - _EPOCH + 1) * _DAY)
_HIGHEST = float((date.max.toordinal() - _EPOCH - 1) * _DAY)
"""Times that still have a date in every zone."""


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
    seconds: Iterable[float],
    unit: Unit | None = None,
    *,
    width: int = DEFAULT_WIDTH,
    zone: tzinfo = UTC,
) -> Timeline:
    """The timeline of times in seconds since 1970; nan is undated.

    Without a `unit` the finest is taken whose bars fit into `width`. Days begin at midnight in
    `zone`. 100,000 times take about 20 ms.
    """
    times = list(seconds)
    dated = [second for second in times if _LOWEST <= second < _HIGHEST]
    undated = len(times) - len(dated)
    if not dated:
        return Timeline(unit or "day", (), undated)
    days = _days(dated, zone)
    if unit is None:
        unit = _fitting(days, width)
    counts: Counter[int] = Counter()
    for day, number in days.items():
        counts[_bucket(day, unit)] += number
    first, last, earlier, later = _window(counts)
    bars = tuple(Bar(_start(at, unit), counts[at]) for at in range(first, last + 1))
    return Timeline(unit, bars, undated, earlier, later)


def range_of(start: date, unit: Unit) -> tuple[date, date]:
    """First and last day of the bar that begins on this day, both inclusive: to filter by it."""
    if unit == "day":
        return start, start
    if unit == "week":
        return start, start + min(timedelta(days=6), date.max - start)
    if (start.year, start.month) == (date.max.year, date.max.month):
        return start, date.max
    following = date(start.year + start.month // 12, start.month % 12 + 1, 1)
    return start, following - timedelta(days=1)


def _days(dated: Sequence[float], zone: tzinfo) -> Counter[int]:
    """Days since 1970 in the zone -> memories."""
    if zone is UTC:
        return Counter([int(second // _DAY) for second in dated])
    # Zones shift by whole quarters of an hour, on most days by the same all day long.
    quarters = Counter([int(second // _QUARTER) for second in dated])
    shift = {day: _shift(day, zone) for day in {at // 96 for at in quarters}}
    days: Counter[int] = Counter()
    for at, number in quarters.items():
        ahead = shift[at // 96]
        if ahead is None:
            ahead = _ahead(at * _QUARTER, zone)
        days[(at + ahead) // 96] += number
    return days


def _shift(day: int, zone: tzinfo) -> int | None:
    """Quarters that the zone is ahead all through this UTC day; None when it changes within."""
    first, last = _ahead(day * _DAY, zone), _ahead((day + 1) * _DAY, zone)
    return first if first == last else None


def _ahead(second: int, zone: tzinfo) -> int:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    offset = moment.astimezone(zone).utcoffset() or timedelta(0)
    return int(offset.total_seconds() // _QUARTER)


def _fitting(days: Counter[int], width: int) -> Unit:
    ordered = sorted(days)
    total = sum(days.values())
    low = _passing(ordered, days, total * STRAY)
    high = _passing(ordered[::-1], days, total * STRAY)
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
    if ordered[-1] - ordered[0] < MOST_BARS:
        return ordered[0], ordered[-1], 0, 0
    sums = [0]
    for at in ordered:
        sums.append(sums[-1] + counts[at])
    best, here = -1, 0
    for index, at in enumerate(ordered):  # the latest of equally full windows
        end = bisect_right(ordered, at + MOST_BARS - 1)
        if sums[end] - sums[index] >= best:
            best, here = sums[end] - sums[index], index
    first = ordered[here]
    end = bisect_left(ordered, first + MOST_BARS)
    return first, ordered[end - 1], sums[here], sums[-1] - sums[end]
