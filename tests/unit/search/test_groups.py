"""The memories beside a memory are those of a plain sorted list of its group."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memtui.model import Memory, Place
from memtui.search import columns, context
from memtui.search.context import REACH

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
Drawn = tuple[str, int | None, int, bool]
drawn = st.tuples(
    st.sampled_from("xyz"), st.none() | st.integers(0, 3), st.integers(0, 3), st.booleans()
)


def memory(number: int, each: Drawn) -> Memory:
    session, day, at, _ = each
    created = None if day is None else NOW + timedelta(days=day)
    place = Place("log.json", None, f"events[{at}]")
    return Memory(f"s:{number}", str(number), "s", "event", content="oak", entity=session,
                  created=created, origin=place)  # fmt: skip


@given(st.lists(drawn, max_size=12), st.booleans())
def test_windows_are_those_of_a_sorted_list(several: list[Drawn], is_sorted: bool) -> None:
    if is_sorted:
        several.sort(key=lambda each: (each[0], float("inf") if each[1] is None else each[1]))
    memories = [memory(number, each) for number, each in enumerate(several)]
    alive = [each[3] for each in several]
    dead = [at for at, is_alive in enumerate(alive) if not is_alive]
    table = columns.build(memories).without(dead)
    found = context.find_groups(table)
    slots = np.arange(len(memories))
    windows = found.windows(slots)
    position = table.position.tolist()
    none = len(memories)
    for slot in slots.tolist():
        beside = [none] * (2 * REACH + 1)
        beside[REACH] = slot
        if alive[slot]:
            group = [
                at for at in slots.tolist() if alive[at] and several[at][0] == several[slot][0]
            ]
            group.sort(
                key=lambda at: (
                    float("inf") if several[at][1] is None else several[at][1],
                    position[at],
                )
            )
            assert {int(found.of_slot[at]) for at in group} == {int(found.of_slot[slot])}
            place = group.index(slot)
            for step in range(-REACH, REACH + 1):
                if 0 <= place + step < len(group):
                    beside[REACH + step] = group[place + step]
        else:
            assert found.of_slot[slot] == found.count
        assert windows[:, slot].tolist() == beside
