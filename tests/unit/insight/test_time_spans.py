"""Spans of time, and the timeline of a range."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from memtui.insight import timeline
from memtui.insight.timeline import UNITS, Unit, is_daily_note, spans
from memtui.model import Memory

EPOCH = date(1970, 1, 1)


def number(day: date) -> int:
    return (day - EPOCH).days


DAYS = st.dictionaries(st.integers(-700_000, 2_900_000), st.integers(1, 9), max_size=30)


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
