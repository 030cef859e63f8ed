"""The arithmetic of recency, importance, frequency and salience, on the documents' own examples."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.context.choosing import choose_diverse, text_words
from memtui.library import SearchResult
from memtui.model import IMPORTANCES
from memtui.query import parse_query
from memtui.search.ordering import priority_parts, salience_now
from memtui.search.salience import (
    base_salience,
    count_accesses,
    count_revisions,
    decayed_salience,
    describe_range,
    find_last_access,
    frequency,
    halved,
)
from memtui.upkeep.similarity import jaccard
from tests.unit.context.packs_for_tests import NOW, library_of, memory


@pytest.mark.parametrize(
    ("days", "score"),
    [(0, "1.000"), (1, "0.977"), (7, "0.851"), (30, "0.500"), (60, "0.250"), (90, "0.125")],
)
def test_recency_as_in_agent_memorys_table_with_the_week_corrected(days: int, score: str) -> None:
    assert f"{halved(days):.3f}" == score


def test_the_frequency_of_simple_memory_grows_with_the_logarithm_to_one() -> None:
    assert frequency(0) == 0
    assert frequency(32) == frequency(1_000) == 1
    assert frequency(3) == pytest.approx(np.log(4) / np.log(33))


def test_priority_is_half_recency_three_tenths_importance_two_tenths_frequency() -> None:
    day, month = NOW - timedelta(days=0), NOW - timedelta(days=30)
    library = library_of(
        memory("new", "a", created=day, importance="low"),
        memory("old-high-used", "b", created=month, importance="high", extra={"hits": 32}),
        memory("old", "c", created=month, importance="medium"),
    )
    found = library.find(parse_query("sort:priority", NOW))
    # .3 + .2 + .5 / e = .68; .5; .15 + .5 / e = .33
    assert [found.rows[s].id for s in found.slots] == ["old-high-used", "new", "old"]


def _salience(base: float, accesses: float, days: float) -> float:
    last = np.array([NOW.timestamp() - days * 86_400])
    return float(decayed_salience(np.array([base]), np.array([accesses]), last, NOW)[0])


def test_salience_adds_a_tenth_for_each_access_and_halves_in_thirty_days() -> None:
    assert _salience(1.0, 0, 0) == pytest.approx(1.0)
    assert _salience(1.0, 3, 0) == pytest.approx(1.3)
    assert _salience(1.0, 3, 30) == pytest.approx(0.65)


def test_decisions_and_what_is_maintained_start_higher() -> None:
    plain, decision, revised, often = base_salience(
        ["bugfix", "Decision"], np.array([0, 1, 0, 0], np.int32), np.array([0.0, 0.0, 4.0, 1e6])
    )
    assert (plain, decision, revised) == (1.0, 1.5, 1.1)
    assert often == pytest.approx(1.2)
    assert count_revisions(memory("1", "x", extra={"revision_count": 5})) == 4


def test_an_access_counts_from_the_day_it_was_made() -> None:
    extra: dict[str, Any] = {"access_count": 2, "last_accessed": "2026-11-20T12:00:00Z"}
    old = memory("old", "x", created=NOW - timedelta(days=300), extra=extra)
    assert count_accesses(old) == 2
    assert find_last_access(old) == NOW - timedelta(days=1)
    library = library_of(old, memory("recent", "y", created=NOW - timedelta(days=10)))
    for order in ("salience", "used"):
        found = library.find(parse_query(f"sort:{order}", NOW))
        assert [found.rows[slot].id for slot in found.slots] == ["old", "recent"]


@pytest.mark.parametrize("last", ["", "never", 5, None, "99999-01-01", "0001-01-01T00:00:00+14:00"])
def test_a_last_access_that_is_no_time_is_none(last: object) -> None:
    assert find_last_access(memory("1", "x", extra={"last_accessed": last})) is None


def test_the_distribution_of_salience() -> None:
    found = describe_range([float(n) for n in range(1, 12)])
    assert found == {"min": 1, "median": 6, "p90": 10, "max": 11}
    assert describe_range([]) == {}


# ---- maximal marginal relevance -----------------------------------------------------------------

TEXTS = st.lists(
    st.tuples(st.floats(0, 1), st.frozensets(st.sampled_from("abcdefgh"), max_size=5)), max_size=20
)


@given(TEXTS, st.integers(0, 25), st.floats(0, 1))
def test_mmr_chooses_each_text_once_and_the_most_relevant_first(
    texts: list[tuple[float, frozenset[str]]], limit: int, share: float
) -> None:
    chosen = choose_diverse([r for r, _ in texts], [w for _, w in texts], limit, share)
    assert len(chosen) == min(limit, len(texts))
    assert len({choice.at for choice in chosen}) == len(chosen)
    if chosen and share > 0:
        assert share * texts[chosen[0].at][0] == pytest.approx(max(share * r for r, _ in texts))
    for at, choice in enumerate(chosen):
        before = [texts[other.at][1] for other in chosen[:at]]
        similar = max((jaccard(texts[choice.at][1], words) for words in before), default=0.0)
        assert choice.similarity == pytest.approx(similar)


@given(TEXTS, st.integers(1, 10))
def test_relevance_alone_is_the_order_of_relevance(
    texts: list[tuple[float, frozenset[str]]], limit: int
) -> None:
    chosen = choose_diverse([r for r, _ in texts], [w for _, w in texts], limit, 1.0)
    values = [texts[choice.at][0] for choice in chosen]
    assert values == sorted((r for r, _ in texts), reverse=True)[:limit]


def test_a_second_text_on_the_same_topic_waits() -> None:
    texts = ["deploy on tuesday morning", "deploy on tuesday evening", "the bell is silent"]
    words = [text_words(text) for text in texts]
    assert [choice.at for choice in choose_diverse([1.0, 0.95, 0.8], words, 3, 0.7)] == [0, 2, 1]


@pytest.mark.slow
@pytest.mark.parametrize("field", ["importance", "priority", "salience", "used"])
@given(data=st.data())
def test_a_minus_turns_every_order_by_value_round(field: str, data: st.DataObject) -> None:
    """But for equal values, of which the newest stay first; uses go on by their last time."""
    held = [
        memory(
            str(number),
            "tide",
            importance=data.draw(st.sampled_from(IMPORTANCES)),
            pinned=data.draw(st.booleans()),
            type=data.draw(st.sampled_from(["decision", "fact", ""])),
            created=NOW - timedelta(days=data.draw(st.integers(0, 400))),
            extra={"access_count": data.draw(st.integers(0, 40))},
        )
        for number in range(data.draw(st.integers(0, 6)))
    ]
    library = library_of(*held)
    up, down = (library.find(parse_query(f"sort:{sign}{field}", NOW)) for sign in ("", "-"))
    values = _values(field, up)
    shown = [values[slot] for slot in up.slots]
    assert shown == sorted(shown, reverse=True)
    assert [values[slot] for slot in down.slots] == shown[::-1]
    for found in (up, down):
        for one, two in itertools.pairwise(found.slots):
            if values[one] == values[two] and field != "used":
                assert (found.rows[one].when or NOW) >= (found.rows[two].when or NOW)


def _values(field: str, found: SearchResult) -> dict[int, float]:
    columns, slots = found.columns, np.array(sorted(found.slots), dtype=np.int64)
    if field == "importance":
        amounts = -columns.importance[slots].astype(float)  # 0 is high
    elif field == "priority":
        amounts = priority_parts(columns, slots, NOW).total
    elif field == "salience":
        amounts = salience_now(columns, slots, NOW)
    else:
        amounts = columns.accesses[slots].astype(float)
    return dict(zip(slots.tolist(), amounts.tolist(), strict=True))
