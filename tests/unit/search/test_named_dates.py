"""Dates in the words of a query become spans of time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.search.date_matches import MONTHS, YEARS_TRIED, find_dates

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def spans(text: str) -> list[tuple[str, str]]:
    def day(seconds: float) -> str:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()

    return [(day(span.first), day(span.end)) for span in find_dates(text, NOW)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what was on 2026-11-18?", [("2026-11-18", "2026-11-19")]),
        ("am 18.11.2026 in Halle", [("2026-11-18", "2026-11-19")]),
        ("2026-12", [("2026-12-01", "2027-01-01")]),
        ("in May 2023", [("2023-05-01", "2023-06-01")]),
        ("since 2024", [("2024-01-01", "2025-01-01")]),
        ("yesterday", [("2026-11-19", "2026-11-20")]),
        ("last week", [("2026-11-09", "2026-11-16")]),
        ("last month", [("2026-10-01", "2026-11-01")]),
        ("3 days ago", [("2026-11-17", "2026-11-18")]),
        ("may I march on", []),
        ("31.02.2026", []),
        ("version 2.7.4 of 1899", []),
    ],
)
def test_examples(text: str, expected: list[tuple[str, str]]) -> None:
    assert spans(text) == expected


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)))
def test_every_way_to_write_a_day(d: date) -> None:
    name = MONTHS[d.month - 1]
    end = (d + timedelta(days=1)).isoformat()
    for text in (
        f"{d}",
        f"{d.day} {name} {d.year}",
        f"{name.title()} {d.day}, {d.year}",
        f"{d.day}.{d.month}.{d.year}",
        f"{d.day}th of {name[:3]} {d.year}",
    ):
        assert spans(text) == [(str(d), end)], text


def test_a_day_without_a_year_may_be_of_several() -> None:
    found = spans("on November 18")
    assert found[0] == ("2026-11-18", "2026-11-19")
    assert len(found) == YEARS_TRIED


@given(st.text())
def test_no_text_raises(text: str) -> None:
    find_dates(text, NOW)
