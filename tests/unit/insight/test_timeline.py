"""Every memory is in exactly one bar, and the bar says which days it covers."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.insight import timeline
from memtui.insight.timeline import DEFAULT_WIDTH, MAX_BARS, UNITS, Timeline, Unit, find_bar_range


def at(year: int, month: int, day: int, hour: int = 12) -> float:
    return datetime(year, month, day, hour, tzinfo=UTC).timestamp()


def build(
    seconds: list[float], unit: Unit | None = None, *, width: int = DEFAULT_WIDTH
) -> Timeline:
    """The timeline of these times."""
    days = Counter(int(second // 86_400) for second in seconds if not math.isnan(second))
    return timeline.build(days, len(seconds) - days.total(), unit, width=width)


times = st.one_of(
    st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)).map(
        datetime.timestamp
    ),
    st.floats(allow_infinity=False),
)


@given(st.lists(times), st.sampled_from([None, *UNITS]), st.integers(1, 200))
def test_nothing_is_lost_and_bars_have_no_gaps(
    seconds: list[float], unit: Unit | None, width: int
) -> None:
    made = build(seconds, unit, width=width)
    counted = sum(bar.count for bar in made.bars)
    assert counted + made.undated + made.earlier + made.later == len(seconds)
    assert len(made.bars) <= MAX_BARS
    for bar, following in zip(made.bars, made.bars[1:], strict=False):
        assert find_bar_range(bar.start, made.unit)[1] + timedelta(days=1) == following.start
    if made.bars:
        assert made.bars[0].count
        assert made.bars[-1].count


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)),
    st.sampled_from(UNITS),
)
def test_a_memory_lies_within_the_range_of_its_bar(time: datetime, unit: Unit) -> None:
    (bar,) = build([time.timestamp()], unit).bars
    first, last = find_bar_range(bar.start, unit)
    assert first <= time.date() <= last


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
    made = build([*seconds, at(1970, 1, 2), at(9999, 1, 2)], width=60)
    assert made.unit == "day"
    assert made.bars[0].start == date(2026, 1, 1)
    assert (made.earlier, made.later) == (1, 1)


def test_nothing_dated_is_an_empty_timeline() -> None:
    assert build([]).bars == ()
    assert build([math.nan, -1e300, 1e300]).undated == 3


def test_range_of_at_the_end_of_time() -> None:
    assert find_bar_range(date(9999, 12, 1), "month") == (date(9999, 12, 1), date.max)
    assert find_bar_range(date(9999, 12, 27), "week") == (date(9999, 12, 27), date.max)
    assert find_bar_range(date(2026, 12, 1), "month") == (date(2026, 12, 1), date(2026, 12, 31))


def test_what_is_zoomed_into_stays_in_sight_however_many_bars_there_are() -> None:
    days = dict.fromkeys(range(0, 20000, 7), 1)
    for at in (date(1970, 1, 1), date(1990, 5, 5), date(2024, 9, 30)):
        made = timeline.build(days, 3, "day", around=at)
        assert made.bars[0].start <= at <= made.bars[-1].start
        assert len(made.bars) <= timeline.MAX_BARS
        inside = sum(bar.count for bar in made.bars)
        assert inside + made.earlier + made.later == len(days)
    assert timeline.build(days, 3, "week", around=date(1990, 5, 5)).undated == 3
    assert timeline.build({}, 3, "day", around=date(1990, 5, 5)).bars == ()
