"""Every memory is in exactly one bar, and the bar says which days it covers."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.insight.timeline import MOST_BARS, UNITS, Unit, build, range_of


def at(year: int, month: int, day: int, hour: int = 12) -> float:
    return datetime(year, month, day, hour, tzinfo=UTC).timestamp()


times = st.one_of(
    st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)).map(
        datetime.timestamp
    ),
    st.floats(),
)
zones = st.sampled_from(
    [UTC, timezone(timedelta(hours=9)), ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kathmandu")]
)


@given(st.lists(times), st.sampled_from([None, *UNITS]), st.integers(1, 200), zones)
def test_nothing_is_lost_and_bars_have_no_gaps(
    seconds: list[float], unit: Unit | None, width: int, zone: timezone
) -> None:
    timeline = build(seconds, unit, width=width, zone=zone)
    counted = sum(bar.count for bar in timeline.bars)
    assert counted + timeline.undated + timeline.earlier + timeline.later == len(seconds)
    assert len(timeline.bars) <= MOST_BARS
    for bar, following in zip(timeline.bars, timeline.bars[1:], strict=False):
        assert range_of(bar.start, timeline.unit)[1] + timedelta(days=1) == following.start
    if timeline.bars:
        assert timeline.bars[0].count
        assert timeline.bars[-1].count


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)),
    st.sampled_from(UNITS),
    zones,
)
def test_a_memory_lies_within_the_range_of_its_bar(
    time: datetime, unit: Unit, zone: timezone
) -> None:
    (bar,) = build([time.timestamp()], unit, zone=zone).bars
    first, last = range_of(bar.start, unit)
    assert first <= time.astimezone(zone).date() <= last


def test_days_weeks_and_months() -> None:
    seconds = [at(2026, 3, 1), at(2026, 3, 1), at(2026, 3, 3), at(2026, 4, 1), math.nan]
    days = build(seconds, "day")
    assert [bar.count for bar in days.bars[:3]] == [2, 0, 1]
    assert days.bars[0].start == date(2026, 3, 1)
    weeks = build(seconds, "week")
    assert weeks.bars[0].start == date(2026, 2, 23)  # the ISO week of Sunday, 1 March
    assert [bar.count for bar in weeks.bars] == [2, 1, 0, 0, 0, 1]
    months = build(seconds, "month")
    assert [(bar.start, bar.count) for bar in months.bars] == [
        (date(2026, 3, 1), 3),
        (date(2026, 4, 1), 1),
    ]
    assert days.undated == weeks.undated == months.undated == 1


def test_the_first_days_of_a_year_belong_to_the_week_iso_says() -> None:
    (bar,) = build([at(2027, 1, 1)], "week").bars
    assert bar.start == date(2026, 12, 28)
    assert bar.start.isocalendar().week == 53


@pytest.mark.parametrize(
    ("last", "width", "unit"),
    [
        (at(2026, 1, 30), 60, "day"),
        (at(2026, 9, 30), 60, "week"),
        (at(2026, 9, 30), 20, "month"),
        (at(2026, 9, 30), 400, "day"),
        (at(2036, 9, 30), 60, "month"),
    ],
)
def test_the_finest_unit_that_fits_is_taken(last: float, width: int, unit: str) -> None:
    assert build([at(2026, 1, 1), last], width=width).unit == unit


def test_one_stray_date_does_not_coarsen_the_rest() -> None:
    seconds = [at(2026, 1, 1) + 3600 * n for n in range(1000)]
    timeline = build([*seconds, at(1970, 1, 2), at(9999, 1, 2)], width=60)
    assert timeline.unit == "day"
    assert timeline.bars[0].start == date(2026, 1, 1)
    assert (timeline.earlier, timeline.later) == (1, 1)


def test_days_begin_at_midnight_in_the_zone() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert build([at(2026, 3, 1, 16)], "day", zone=tokyo).bars[0].start == date(2026, 3, 2)
    berlin = ZoneInfo("Europe/Berlin")
    assert build([at(2026, 6, 1, 22)], "day", zone=berlin).bars[0].start == date(2026, 6, 2)
    assert build([at(2026, 12, 1, 22)], "day", zone=berlin).bars[0].start == date(2026, 12, 1)


def test_nothing_dated_is_an_empty_timeline() -> None:
    assert build([]).bars == ()
    assert build([math.nan, math.inf, 1e300]).undated == 3


def test_range_of_at_the_end_of_time() -> None:
    assert range_of(date(9999, 12, 1), "month") == (date(9999, 12, 1), date.max)
    assert range_of(date(9999, 12, 27), "week") == (date(9999, 12, 27), date.max)
    assert range_of(date(2026, 12, 1), "month") == (date(2026, 12, 1), date(2026, 12, 31))
