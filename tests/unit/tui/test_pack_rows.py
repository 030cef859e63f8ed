"""What the context screen lists of a pack, and how two packs stand side by side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.context import DroppedEntry, Pack, PackEntry, Section
from memtui.context.pack import COUNT_PLACEHOLDER, draft
from memtui.testing.hostile_values import CONTROLS, HIDDEN, MARKUP
from memtui.tui.context_packs import (
    ItemKind,
    PackDifference,
    compare_packs,
    find_next_left_out,
    list_items,
    step_budget,
)
from memtui.tui.widgets.pack_view import describe_compared

TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["- [a] tea\n", "two\nlines\n", "", *CONTROLS, *HIDDEN, *MARKUP]),
)
ENTRIES = st.builds(PackEntry, ref=st.sampled_from(["", "s:a", "s:b", "s:c", "s:d"]), text=TEXTS)
SECTIONS = st.builds(
    Section,
    title=st.sampled_from(["Facts", "Goals", "Facts and goals"]),
    entries=st.lists(ENTRIES, max_size=5).map(tuple),
    heading=st.sampled_from(["", "## H\n\n", f"## {COUNT_PLACEHOLDER} of it\n"]),
    ending=st.sampled_from(["", "\n"]),
    budget=st.sampled_from([None, 12]),
    is_counted=st.booleans(),
    is_exact=st.booleans(),
    dropped=st.lists(
        st.builds(DroppedEntry, st.just("Facts"), ENTRIES, st.just("number 3 of at most 2")),
        max_size=2,
    ).map(tuple),
)


def _pack(sections: list[Section], budget: int | None) -> Pack:
    return draft("r", "t", sections, head="<head>\n", tail="<tail>").fit(budget)


@pytest.mark.slow
@given(st.lists(SECTIONS, max_size=4), st.none() | st.integers(1, 80))
def test_the_items_that_are_in_are_the_text_of_the_pack(
    sections: list[Section], budget: int | None
) -> None:
    pack, whole = _pack(sections, budget), _pack(sections, None)
    items = list_items(pack, whole)
    texts = (ItemKind.FRAME, ItemKind.ENTRY)
    assert "".join(i.text for i in items if i.is_in and i.kind in texts) == pack.text
    assert all(item.reason for item in items if item.entry and not item.is_in)
    for at in range(len(items)):
        after = find_next_left_out(items, at)
        assert after is None or not after.is_in


@pytest.mark.slow
@given(st.lists(SECTIONS, max_size=3), st.lists(SECTIONS, max_size=3))
def test_a_comparison_has_every_entry_of_both_packs_once(
    left: list[Section], right: list[Section]
) -> None:
    one, two = _pack(left, None), _pack(right, None)
    lines = compare_packs(one, two)

    def entries(pack: Pack) -> list[PackEntry]:
        return [e for section in pack.sections for e in section.entries if e.text.strip()]

    assert [line.left for line in lines if line.left] == entries(one)
    assert [line.right for line in lines if line.right] == entries(two)
    same = [line for line in compare_packs(one, one) if line.difference is not PackDifference.SAME]
    assert same == []


def test_a_memory_at_another_place_is_in_both_packs() -> None:
    one, two = (PackEntry(f"s:{name}", f"{name}\n", tokens=1) for name in "ab")
    packs = [_pack([Section("S", entries)], None) for entries in ((one, two), (two, one))]
    words = describe_compared(compare_packs(*packs), ("left", "right"), (2, 2), wide=True)
    assert words.endswith("2 in both, 0 only left, 0 only right")


@given(st.integers(1, 10**6), st.lists(st.sampled_from([-1, 1]), max_size=60))
def test_the_budget_goes_from_a_step_to_none(most: int, steps: list[int]) -> None:
    budget: int | None = None
    for step in steps:
        before, budget = budget, step_budget(budget, most, step)
        assert budget is None or 0 < budget < most
        if step > 0 and before is None:
            assert budget is None
        if step < 0 and before is not None:
            assert budget is None or budget <= before
