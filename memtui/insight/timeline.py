"""Memories per day, week, month or year as bars (empty ones included), and spans of time."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import accumulate
from typing import Literal, NamedTuple

from msgspec import Struct

from memtui.model import Memory

Unit = Literal["day", "week", "month", "year"]
UNITS: tuple[Unit, ...] = ("day", "week", "month", "year")

MAX_BARS = 1_200
"""A hundred years of months. If there are more (one date in the year 1), the range with the most
memories is shown and the rest only counted."""
OUTLIER_SHARE = 0.01
"""Share of memories at each end that is ignored when the unit is chosen."""
DEFAULT_WIDTH = 100
"""Default width, in bars."""

_EPOCH = date(1970, 1, 1).toordinal()
_FIRST = date.min.toordinal() - _EPOCH
_LAST = date.max.toordinal() - _EPOCH
"""Days that `datetime.date` can represent."""


class Bar(Struct, frozen=True):
    """A day, week or month and how many memories are in it."""

    start: date
    """Its first day; the Monday of a week."""
    count: int


class Timeline(NamedTuple):
    """Bars without gaps, oldest first."""

    unit: Unit
    bars: tuple[Bar, ...] = ()
    undated: int = 0
    """Memories without a time, or with one that no calendar can show."""
    earlier: int = 0
    """Memories before the first bar; they would need too many bars."""
    later: int = 0


def build(
    days: Mapping[int, int],
    undated: int = 0,
    unit: Unit | None = None,
    *,
    width: int = DEFAULT_WIDTH,
    around: date | None = None,
) -> Timeline:
    """Build a timeline.

    Args:
        days: Day since 1970 -> number of memories.
        undated: Memories without a time.
        unit: None: the finest whose bars fit into `width`.
        width: How many bars fit.
        around: A day to show, or the nearest bar to it, where the bars are too many; None: the
            range with the most memories.
    """
    known = Counter({day: days[day] for day in days if _FIRST <= day <= _LAST})
    undated += sum(days.values()) - known.total()
    if not known:
        return Timeline(unit or "day", (), undated)
    if unit is None:
        unit = _choose_unit(known, width)
    counts: Counter[int] = Counter()
    for day, number in known.items():
        counts[_bucket(day, unit)] += number
    low, high = min(counts), max(counts)
    first, last = low, high
    if high - low >= MAX_BARS:
        first, last = _window(counts)
        if around is not None:
            at = max(low, min(_bucket(around.toordinal() - _EPOCH, unit), high))
            if not first <= at <= last:
                first = max(at - MAX_BARS // 2, low)
                last = min(first + MAX_BARS - 1, high)
    bars = tuple(Bar(_start(at, unit), counts[at]) for at in range(first, last + 1))
    earlier = sum(number for at, number in counts.items() if at < first)
    later = sum(number for at, number in counts.items() if at > last)
    return Timeline(unit, bars, undated, earlier, later)


def find_bar_range(start: date, unit: Unit) -> tuple[date, date]:
    """First and last day, inclusive, of the bar that starts on this day."""
    if unit == "day":
        return start, start
    if unit == "week":
        return start, start + min(timedelta(days=6), date.max - start)
    if unit == "year":
        return start, date(start.year, 12, 31)
    if (start.year, start.month) == (date.max.year, date.max.month):
        return start, date.max
    following = date(start.year + start.month // 12, start.month % 12 + 1, 1)
    return start, following - timedelta(days=1)


def _choose_unit(days: Counter[int], width: int) -> Unit:
    ordered = sorted(days)
    total = sum(days.values())
    low = _find_end(ordered, days, total * OUTLIER_SHARE)
    high = _find_end(ordered[::-1], days, total * OUTLIER_SHARE)
    for unit in UNITS[:-1]:  # years only if they are asked for
        if _bucket(high, unit) - _bucket(low, unit) < width:
            return unit
    return "month"


def _find_end(ordered: Sequence[int], days: Counter[int], allowed: float) -> int:
    """The first day at which the sum of memories exceeds the allowed number."""
    count = 0
    for day in ordered:
        count += days[day]
        if count > allowed:
            return day
    return ordered[-1]


def _bucket(day: int, unit: Unit) -> int:
    """The number of the day's bar; bars are numbered without gaps."""
    if unit == "day":
        return day
    if unit == "week":
        return (day + _EPOCH - 1) // 7
    on = date.fromordinal(day + _EPOCH)
    if unit == "year":
        return on.year
    return on.year * 12 + on.month - 1


def _start(bucket: int, unit: Unit) -> date:
    if unit == "day":
        return date.fromordinal(bucket + _EPOCH)
    if unit == "week":
        return date.fromordinal(bucket * 7 + 1)
    if unit == "year":
        return date(bucket, 1, 1)
    return date(bucket // 12, bucket % 12 + 1, 1)


def _window(counts: Counter[int]) -> tuple[int, int]:
    """First and last bar of the fullest range of `MAX_BARS`; the latest of equally full ones."""
    ordered = sorted(counts)
    sums = list(accumulate((counts[at] for at in ordered), initial=0))
    ends = [bisect_right(ordered, at + MAX_BARS - 1) for at in ordered]
    start = max(range(len(ordered)), key=lambda index: (sums[ends[index]] - sums[index], index))
    return ordered[start], ordered[ends[start] - 1]


SPAN_END_KEYS = ("end", "ended_at", "endTime", "end_time")
"""Keys of `Memory.extra` that say when an episode or session ended."""


class TimeSpan(Struct, frozen=True):
    """A session, an episode or a daily note, with its period."""

    ref: str
    kind: str
    """Kind of the memory."""
    label: str
    """Its headline. Untrusted text."""
    start: datetime
    end: datetime
    """The same as the start if no end is known; the end of the day for a daily note."""


def spans(memories: Iterable[Memory], first: date, last: date) -> list[TimeSpan]:
    """The sessions, episodes and daily notes that touch these days, by their start."""
    found = []
    for memory in memories:
        span = span_of(memory)
        if span is not None and span.start.date() <= last and first <= span.end.date():
            found.append(span)
    return sorted(found, key=lambda span: (span.start, span.end, span.ref))


def span_of(memory: Memory) -> TimeSpan | None:
    """The span of an episode, a session or a daily note; None for other memories."""
    start = memory.created or memory.updated
    if start is None:
        return None
    if memory.kind == "episode":
        from memtui.stores.values import from_iso

        ends = [time for key in SPAN_END_KEYS if (time := from_iso(memory.extra.get(key)))]
        end = max([start, *ends, *([memory.updated] if memory.updated else [])])
        return TimeSpan(memory.ref, memory.kind, memory.headline, start, end)
    if is_daily_note(memory):
        end = start.replace(hour=23, minute=59, second=59, microsecond=0)
        return TimeSpan(memory.ref, memory.kind, memory.headline, start, end)
    return None


def is_daily_note(memory: Memory) -> bool:
    """Whether the id of a note or document ends with the date of its day: `2026-03-01.md`."""
    if memory.kind not in ("note", "document") or memory.created is None:
        return False
    name = memory.id.rpartition("/")[2]
    return name.startswith(memory.created.date().isoformat())
