"""A day is the same in lists, filters, bars and as-of times, whatever the zone of the machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from memtui.insight import timeline
from memtui.insight.timeline import UNITS, find_bar_range
from memtui.library import Library
from memtui.library.past_library import library_at
from memtui.library.time_views import read_times
from memtui.query import Query, parse_query, parse_time, parse_time_end
from memtui.text import date as shown
from tests.unit.library.stores_for_tests import fact, write_facts

ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia", "UTC")
BORDERS = (
    date(2024, 2, 28),  # a leap day follows
    date(2024, 3, 10),  # summer time begins in New York
    date(2024, 12, 29),  # Sunday of week 52; the next day is in week 1 of 2025
    date(2020, 12, 31),  # week 53
    date(2021, 1, 3),  # its last day
    date(2026, 3, 28),  # summer time begins in Berlin
    date(2026, 10, 24),  # and ends
    date(2026, 11, 1),  # and in New York
)
CLOCKS = ("00:00:00", "04:59:59", "05:00:00", "11:00:00", "18:29:59", "22:30:00", "23:59:59")


@pytest.fixture(params=ZONES, autouse=True)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def library(zone: str, tmp_path: Path) -> Iterator[Library]:
    """Memories at seven times of each day around the borders, read in the zone."""
    place = tmp_path
    days = sorted({day + timedelta(days=step) for day in BORDERS for step in range(3)})
    times = [f"{day.isoformat()}T{clock}Z" for day in days for clock in CLOCKS]
    facts = [fact(at, f"fact {at}", createdAt=made) for at, made in enumerate(times)]
    write_facts(place / "m", "bo", facts)
    opened = Library.open([place / "m"], cache=None, state=place / "state")
    opened.load()
    yield opened
    opened.close()


def days_of(library: Library, query: Query) -> list[str]:
    found = library.find(query)
    return sorted(shown(found.rows[slot].created)[:10] for slot in found.slots)


def test_a_bar_its_filter_and_the_shown_dates_have_the_same_memories(
    zone: str, library: Library
) -> None:
    every = library.find(Query())
    times = read_times(every)
    for unit in UNITS:
        made = timeline.build(times.days, 0, unit)
        bars = [bar for bar in made.bars if bar.count]
        assert sum(bar.count for bar in bars) + made.earlier + made.later == len(every.slots)
        for bar in bars:
            first, last = (end.isoformat() for end in find_bar_range(bar.start, unit))
            listed = days_of(library, parse_query(f"since:{first} until:{last}", library.now()))
            assert len(listed) == bar.count, (zone, unit, first)
            assert first <= listed[0] <= listed[-1] <= last


@pytest.mark.parametrize("border", BORDERS)
def test_words_mean_the_days_that_are_shown(library: Library, border: date) -> None:
    every = days_of(library, Query())
    for clock in CLOCKS:
        now = datetime.fromisoformat(f"{border + timedelta(days=1)}T{clock}+00:00")
        here = now.astimezone().date()
        for typed, day in (("today", here), ("yesterday", here - timedelta(days=1))):
            start, end = parse_time(typed, now).time, parse_time_end(typed, now).time
            assert f"{start.astimezone():%F %H:%M}" == f"{day} 00:00"
            assert f"{end.astimezone():%F %H:%M}" == f"{day} 23:59"
            wanted = parse_query(f"created:{typed}", now)
            assert days_of(library, wanted) == [each for each in every if each == str(day)]
        assert parse_time("1d", now).time == now - timedelta(hours=24)  # never 23 or 25
        monday = parse_time("this-week", now).time.astimezone().date()
        assert (monday.weekday(), (here - monday).days < 7) == (0, True)
        assert monday.isocalendar().week == here.isocalendar().week
        year = parse_time("this-year", now).time
        assert f"{year.astimezone():%F %H:%M}" == f"{here.year}-01-01 00:00"


def test_as_of_a_day_has_all_of_that_day(zone: str, library: Library) -> None:
    present = library
    for border in BORDERS:
        at = parse_time_end(border.isoformat(), library.now()).time
        assert f"{at.astimezone():%F %H:%M}" == f"{border} 23:59"
        past = days_of(library_at(present, at), Query())
        assert past == [day for day in days_of(library, Query()) if day <= border.isoformat()]


def test_a_leap_day_is_a_day_of_leap_years_only(library: Library) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    found = days_of(library, parse_query("created:2024-02-29", now))
    assert found == [day for day in days_of(library, Query()) if day == "2024-02-29"] != []
    assert parse_query("created:2025-02-29", now).problems
    for year, last in ((2024, 29), (2025, 28)):
        end = parse_time_end(f"{year}-02", now).time.astimezone()
        assert f"{end:%F %H:%M}" == f"{year}-02-{last} 23:59"
