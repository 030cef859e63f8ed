"""A search result as a calendar heat map, as growth per store, and as spans in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from memtui.insight import activity, timeline
from memtui.insight.activity import Growth, HeatMap, TimeSpan
from memtui.insight.timeline import Timeline, Unit
from memtui.library.finding import SearchResult
from memtui.search import aggregates

SPAN_KINDS = ("episode", "note", "document")
"""Kinds of memory that can be a span."""


MOST_SPANS = 2_000
"""Memories that are looked at for spans: decoding more would hold up the screen."""


@dataclass(frozen=True, slots=True)
class TimeData:
    """What the views of a result's times are drawn from."""

    days: Mapping[int, int] = field(default_factory=dict)
    """Day since 1970 -> memories."""
    undated: int = 0
    growth: Growth = field(default_factory=lambda: Growth((), {}, {}))
    spans: tuple[TimeSpan, ...] = ()
    """Sessions, episodes and daily notes by their start; none if there are too many."""


def read_times(found: SearchResult) -> TimeData:
    """Count a result by day and by store over time, and find its spans."""
    days, undated = aggregates.count_days(found.columns, found.slots)
    slots = aggregates.slots_of_kinds(found.columns, found.slots, SPAN_KINDS)
    spans: list[TimeSpan] = []
    if len(slots) <= MOST_SPANS:
        spans = activity.spans((found.rows[slot] for slot in slots), date.min, date.max)
    return TimeData(days, undated, build_growth(found), tuple(spans))


def build_heat_map(
    found: SearchResult, last: date | None = None, weeks: int = activity.MOST_WEEKS
) -> HeatMap:
    """The memories of a result per day, in weeks up to a last day (None: of the newest memory)."""
    days, _ = aggregates.count_days(found.columns, found.slots)
    newest = max((day for day in days if abs(day) < 2_000_000), default=0)
    end = last or date(1970, 1, 1) + timedelta(days=newest)
    return activity.heat_map(days, end, weeks=weeks)


def build_growth(found: SearchResult, steps: int = 60) -> Growth:
    """How many memories of each store there were over time, by their creation."""
    days, undated = aggregates.count_days_by_store(found.columns, found.slots)
    return activity.growth(days, undated, steps=steps)


def build_range(
    found: SearchResult, unit: Unit | None, since: date, until: date, width: int
) -> Timeline:
    """A timeline of exactly these days, for panning and zooming."""
    days, undated = aggregates.count_days(found.columns, found.slots)
    return timeline.build(days, undated, unit, width=width, since=since, until=until)


def find_spans(found: SearchResult, first: date, last: date) -> list[TimeSpan]:
    """The sessions, episodes and daily notes of a result that touch these days."""
    slots = aggregates.slots_of_kinds(found.columns, found.slots, SPAN_KINDS)
    return activity.spans((found.rows[slot] for slot in slots), first, last)
