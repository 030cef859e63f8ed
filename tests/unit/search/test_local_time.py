"""Days are those of this machine's zone, in typed times, filters, bars and on the screen."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from memtui.library import Library
from memtui.query import parse_query
from memtui.query.periods import parse_period
from memtui.search.columns import day_numbers, offsets, place_days
from memtui.text import date as shown_date

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def in_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ZoneInfo]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield ZoneInfo(request.param)
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("in_zone", ZONES, indirect=True)
def test_offsets_are_those_of_the_zone_at_every_hour_around_clock_changes(
    in_zone: ZoneInfo,
) -> None:
    first = at("2026-01-01T00:30:00")
    moments = [first + timedelta(hours=hour) for hour in range(0, 2 * 365 * 24)]
    expected = [moment.astimezone(in_zone).utcoffset() for moment in moments]
    found = offsets(np.array([moment.timestamp() for moment in moments]))
    assert found.tolist() == [each.total_seconds() for each in expected if each is not None]


@pytest.mark.parametrize("in_zone", ZONES, indirect=True)
def test_a_day_that_a_store_keeps_is_that_day_in_every_zone(in_zone: ZoneInfo) -> None:
    days = [date(2026, 1, 1) + timedelta(days=number) for number in range(400)]
    times = np.array([datetime(d.year, d.month, d.day, tzinfo=UTC).timestamp() for d in days])
    assert day_numbers(times).tolist() == [(day - date(1970, 1, 1)).days for day in days]
    for day, seconds, placed in zip(days, times.tolist(), place_days(times).tolist(), strict=True):
        assert datetime.fromtimestamp(placed, in_zone).date() == day
        assert shown_date(datetime.fromtimestamp(seconds, UTC)).startswith(day.isoformat())
        period = parse_period(day.isoformat(), at("2026-06-01T12:00"))
        assert period.start.timestamp() <= placed < period.end.timestamp()


@pytest.mark.parametrize("in_zone", ["Europe/Berlin"], indirect=True)
@pytest.mark.parametrize(
    ("day", "start", "hours"),
    [
        ("2026-03-29", "2026-03-28T23:00", 23),
        ("2026-10-25", "2026-10-24T22:00", 25),
        ("2026-11-20", "2026-11-19T23:00", 24),
    ],
)
def test_the_days_of_clock_changes_have_23_and_25_hours(
    in_zone: ZoneInfo, day: str, start: str, hours: int
) -> None:
    now = at(f"{day}T12:00")
    for typed in (day, "today"):
        period = parse_period(typed, now)
        assert period.start == at(start)
        assert period.end - period.start == timedelta(hours=hours)
    assert parse_period("yesterday", now).end == at(start)


@pytest.mark.parametrize("in_zone", ["America/New_York"], indirect=True)
def test_today_is_the_local_day_in_a_search_and_the_bars(in_zone: ZoneInfo, tmp_path: Path) -> None:
    """It is the evening of the 20th in New York, and the 21st in UTC."""
    now = at("2026-11-21T02:00")
    texts = {
        "2026-11-21T01:30:00Z": "an hour ago",
        "2026-11-20T04:30:00Z": "last night",
        "2026-11-20T05:30:00Z": "after midnight",
        "2026-11-20": "some time today",
        "2026-11-21": "some time tomorrow",
        "2026-11-21T00:00:00Z": "at seven in the evening",
    }
    folder = tmp_path / "memory" / "entities" / "noor"
    folder.mkdir(parents=True)
    facts = [
        {"id": f"0000000{n}-0000-4000-8000-000000000000", "content": text, "createdAt": when}
        | {"status": "active", "supersedes": None, "entityType": "person"}
        for n, (when, text) in enumerate(texts.items())
    ]
    (folder / "items.json").write_text(json.dumps(facts), encoding="utf-8")
    library = Library.open([tmp_path / "memory"], cache=None, now=lambda: now)
    library.load()
    library.index()
    found = library.find(parse_query("since:today until:today", now))
    rows = [library.snapshot.rows[slot].content for slot in found.slots]
    expected = ["after midnight", "an hour ago", "at seven in the evening", "some time today"]
    assert sorted(rows) == expected
    (moment,) = (m for m in library.memories("agent-memory") if m.content == expected[2])
    assert shown_date(moment.created, zoned=True) == "2026-11-20 19:00 EST"
    assert shown_date(at("2026-11-21T01:30"), zoned=True) == "2026-11-20 20:30 EST"
    assert library.find(parse_query("created:2026-11-19", now)).total == 1
