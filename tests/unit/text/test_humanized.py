"""Times and sizes in the words a person uses."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.text import ago, date, number, short_ago, size

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "long", "short"),
    [
        (timedelta(seconds=3), "just now", "now"),
        (timedelta(minutes=5), "5 minutes ago", "5m"),
        (timedelta(hours=3), "3 hours ago", "3h"),
        (timedelta(days=3), "3 days ago", "3d"),
        (timedelta(days=20), "2 weeks ago", "2w"),
        (timedelta(days=160), "5 months ago", "5mo"),
        (timedelta(days=800), "2 years ago", "2y"),
        (timedelta(hours=-2), "2 hours from now", "+2h"),
    ],
)
def test_how_long_ago(before: timedelta, long: str, short: str) -> None:
    assert ago(NOW - before, NOW) == long
    assert short_ago(NOW - before, NOW) == short


@given(st.timedeltas(timedelta(days=-99 * 365), timedelta(days=99 * 365)))
def test_the_short_form_fits_its_column_whatever_the_clock_says(before: timedelta) -> None:
    assert len(short_ago(NOW - before, NOW)) <= 4


def test_the_zone_of_a_time_does_not_matter() -> None:
    tokyo = (NOW - timedelta(days=3)).astimezone(timezone(timedelta(hours=9)))
    assert ago(tokyo, NOW) == "3 days ago"


def test_dates_are_those_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(zone: str, moment: datetime, *, zoned: bool = False) -> str:
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        return date(moment, zoned=zoned)

    try:
        assert shown("UTC", NOW, zoned=True) == "2026-11-21 12:00 UTC"
        assert shown("Asia/Tokyo", NOW) == "2026-11-21 21:00"
        assert shown("Asia/Tokyo", NOW, zoned=True) == "2026-11-21 21:00 JST"
        assert shown("Europe/Berlin", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)).endswith("02:30")
        assert shown("Europe/Berlin", datetime(2026, 10, 25, 1, 30, tzinfo=UTC)).endswith("02:30")
        first = datetime(1, 1, 1, 3, tzinfo=UTC)
        assert shown("America/New_York", first) == "0001-01-01 03:00"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_present_day_of_the_machine_is_not_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """In Tokyo the note of today is kept as nine o'clock, which comes later in the morning."""
    day, morning = datetime(2026, 11, 21, tzinfo=UTC), datetime(2026, 11, 20, 22, tzinfo=UTC)
    try:
        monkeypatch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        assert (ago(day, morning), short_ago(day, morning)) == ("today", "now")
        assert short_ago(day + timedelta(days=1), morning) == "+1d"
        assert short_ago(day - timedelta(hours=1), morning) == "+1h"
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
        assert (ago(day, morning), short_ago(day, morning)) == ("2 hours from now", "+2h")
    finally:
        monkeypatch.undo()
        time.tzset()


def test_no_time_is_a_dash() -> None:
    assert ago(None, NOW) == short_ago(None, NOW) == date(None) == "–"


def test_sizes_and_numbers() -> None:
    assert size(1234) == "1.2 kB"
    assert number(33000) == "33,000"


@pytest.mark.parametrize(
    ("before", "long", "short"),
    [
        (timedelta(hours=10, minutes=55), "10 hours ago", "10h"),
        (timedelta(seconds=30), "30 seconds ago", "30s"),
        (timedelta(minutes=1, seconds=50), "a minute ago", "1m"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago", "59m"),
        (timedelta(hours=1, minutes=59), "an hour ago", "1h"),
        (timedelta(hours=47), "a day ago", "1d"),
        (timedelta(days=13, hours=23), "13 days ago", "13d"),
        (timedelta(minutes=-5), "5 minutes from now", "+5m"),
        (timedelta(days=61), "8 weeks ago", "8w"),
        (timedelta(days=64), "2 months ago", "2mo"),
        (timedelta(days=272), "8 months ago", "8mo"),
        (timedelta(days=364), "11 months ago", "11mo"),
    ],
)
def test_the_long_and_the_short_form_name_the_same(
    before: timedelta, long: str, short: str
) -> None:
    assert ago(NOW - before, NOW) == long
    assert short_ago(NOW - before, NOW) == short
