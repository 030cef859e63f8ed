"""Heat map, growth per store, spans, and the timeline of a range."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memtui.insight import timeline
from memtui.insight.timeline import MAX_WEEKS, UNITS, Unit, growth, heat_map, is_daily_note, spans
from memtui.model import Memory

EPOCH = date(1970, 1, 1)


def number(day: date) -> int:
    return (day - EPOCH).days


DAYS = st.dictionaries(st.integers(-700_000, 2_900_000), st.integers(1, 9), max_size=30)


def test_a_heat_map_has_each_day_in_its_week_and_weekday() -> None:
    days = {number(date(2026, 3, 2)): 1, number(date(2026, 3, 8)): 9, number(date(2026, 3, 10)): 3}
    made = heat_map(days, date(2026, 3, 11), weeks=2)  # a Wednesday
    assert made.first == date(2026, 3, 2)
    assert made.weeks == ((1, 0, 0, 0, 0, 0, 9), (0, 3, 0, -1, -1, -1, -1))
    assert made.day(1, 1) == date(2026, 3, 10)
    assert [made.level(count) for count in (0, 1, 9)] == [0, 1, 4]
    assert heat_map(days, date(2026, 3, 9), weeks=1).earlier == 10
    assert heat_map(days, date(2026, 3, 9), weeks=1).later == 3


@given(DAYS, st.dates(), st.integers(1, MAX_WEEKS))
def test_every_memory_is_in_the_heat_map_or_counted_outside(
    days: dict[int, int], last: date, weeks: int
) -> None:
    made = heat_map(days, last, weeks=weeks)
    inside = sum(count for week in made.weeks for count in week if count > 0)
    assert inside + made.earlier + made.later == sum(days.values())
    assert len(made.weeks) <= weeks
    assert made.first.weekday() == 0
    assert all(0 <= made.level(count) <= 4 for week in made.weeks for count in week)


def test_growth_is_cumulative_per_store_and_ends_with_all() -> None:
    first = number(date(2026, 3, 1))
    made = growth({"a": {first: 2, first + 2: 1}, "b": {first + 1: 5}}, {"b": 4})
    assert made.ends == (date(2026, 3, 1), date(2026, 3, 2), date(2026, 3, 3))
    assert dict(made.lines) == {"b": (0, 5, 5), "a": (2, 2, 3)}
    assert list(made.lines) == ["b", "a"]
    assert made.undated == {"b": 4}


@given(st.dictionaries(st.sampled_from("abc"), DAYS, max_size=3), st.integers(1, 80))
def test_growth_never_falls_and_has_at_most_the_steps(
    days: dict[str, dict[int, int]], steps: int
) -> None:
    days = {
        store: {d: n for d, n in own.items() if abs(d) < 700_000} for store, own in days.items()
    }
    made = growth(days, steps=steps)
    assert len(made.ends) <= steps
    for store, line in made.lines.items():
        assert list(line) == sorted(line)
        assert not made.ends or line[-1] == sum(days[store].values())


@given(DAYS, st.sampled_from([None, *UNITS]), st.dates(), st.integers(1, 200))
def test_a_timeline_around_a_day_counts_what_is_outside(
    days: dict[int, int], unit: Unit | None, day: date, width: int
) -> None:
    made = timeline.build(days, 0, unit, width=width, around=day)
    shown = sum(bar.count for bar in made.bars)
    assert shown + made.earlier + made.later + made.undated == sum(days.values())
    assert len(made.bars) <= timeline.MAX_BARS


def test_sessions_episodes_and_daily_notes_are_spans() -> None:
    start = datetime(2026, 3, 1, 9, tzinfo=UTC)
    end = start + timedelta(hours=2)

    def one(id: str, kind: str, **values: object) -> Memory:
        return Memory(f"a:{id}", id, "a", kind, content=id, created=start, **values)  # type: ignore[arg-type]

    found = spans(
        [
            one("ep_1", "episode", extra={"end": "2026-03-01T11:00:00Z"}),
            one("sessions/x", "episode", updated=end),
            one("2026-03-01.md", "note"),
            one("journal/2026-03-01-rain.md", "document"),
            one("fact", "fact"),
            one("ARCHITECTURE.md", "document"),
        ],
        date(2026, 3, 1),
        date(2026, 3, 2),
    )
    assert {(span.ref, span.end) for span in found[:2] if span.kind == "episode"} <= {
        ("a:ep_1", end),
        ("a:sessions/x", end),
    }
    assert len(found) == 4
    assert spans([one("2026-03-01.md", "note")], date(2026, 3, 2), date(2026, 3, 3)) == []
    assert not is_daily_note(one("2025-03-01.md", "note"))
