"""Sums over columns say what going through the memories says."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.model import Memory
from memtui.search import aggregates, columns

times = st.none() | st.datetimes(datetime(1, 1, 2), timezones=st.just(UTC))
memories = st.lists(
    st.builds(
        lambda at, pinned, type: Memory(
            ref=f"s:{at}", id=str(at), store="s", kind="fact", created=at, pinned=pinned, type=type
        ),
        times,
        st.booleans(),
        st.sampled_from(("", "decision", "goal")),
    ),
    max_size=20,
)


def as_kept(time: datetime) -> datetime:
    """A time as a double of seconds has it, which is exact to a microsecond until 2100."""
    return datetime.fromtimestamp(time.timestamp(), UTC)


@pytest.mark.slow
@given(memories, st.randoms(use_true_random=False))
def test_numbers_and_days_of_some(held: list[Memory], draw: object) -> None:
    slots = [slot for slot in range(len(held)) if draw.random() < 0.7]  # type: ignore[attr-defined]
    table = columns.build(held)
    some = [held[slot] for slot in slots]
    dated = [memory.created for memory in some if memory.created]
    assert aggregates.summarize(table, slots) == {
        "pinned": sum(memory.pinned for memory in some),
        "undated": len(some) - len(dated),
        "oldest": as_kept(min(dated)) if dated else None,
        "newest": as_kept(max(dated)) if dated else None,
    }
    assert aggregates.count_values(table, slots)["type"] == Counter(
        memory.shown_type for memory in some
    )
    first = datetime(1970, 1, 1, tzinfo=UTC)
    days, undated = aggregates.count_days(table, slots)
    assert days == Counter((time - first).days for time in dated)
    assert undated == len(some) - len(dated)
