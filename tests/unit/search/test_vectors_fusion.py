"""Text and meaning in one order: what is added, what is kept out, and parts that add up."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.library.finding import Searchable, SearchResult, find
from memtui.library.snapshot import Rows
from memtui.model import Memory
from memtui.query import parse_query
from memtui.search import columns, fusion, ranking
from memtui.search.array_types import Floats
from memtui.search.documents import to_document
from memtui.search.index import memory_index
from tests.unit.search.finding_for_tests import match

NOW = datetime(2026, 11, 20, tzinfo=UTC)
TEXTS = (
    "login fails after the update",  # 0
    "login token expires",  # 1
    "authentication is refused",  # 2
    "bread needs flour",  # 3
    "authentication of bread",  # 4
    "update the oven",  # 5
)
MEMORIES = [
    Memory(f"s:{n}", str(n), "s", "fact", content=text, importance=("high", "low")[n % 2])
    for n, text in enumerate(TEXTS)
]
COLUMNS = columns.build(MEMORIES)
SEGMENT = memory_index.make([to_document(memory) for memory in MEMORIES])
NEAR = np.array([0.9, 0.8, 0.7, 0.0, 0.4, -0.3], np.float32)


class Near:
    """Stands for the vectors."""

    floor = 0.0

    def __init__(self, near: Floats) -> None:
        self.near = near

    def cosines(self, *_: object) -> Floats:
        return self.near


def found(
    line: str,
    near: Floats | None = NEAR,
    weights: ranking.Weights = ranking.DEFAULTS,
) -> SearchResult:
    semantic: Any = None if near is None else Near(near)
    rows = Rows(MEMORIES)
    where = Searchable(rows, COLUMNS, (SEGMENT,), weights=weights, semantic=semantic, now=NOW)
    return find(parse_query(line, NOW), where)


def slots(line: str) -> list[int]:
    return found(line).slots


def test_what_only_the_vectors_know_is_added_below_all_words() -> None:
    assert slots("login")[:2] == [0, 1]
    assert slots("login")[2:] == [2, 4]


def test_what_is_near_wins_among_equal_texts() -> None:
    assert slots("login fails flour").index(0) < slots("login fails flour").index(3)
    nearer = np.array([0, 0.9, 0, 0, 0, 0], np.float32)
    assert found("login bread", nearer).slots[0] == 1


def test_what_is_far_is_not_added() -> None:
    far = np.array([0.9, 0.3, 0.2, 0.1, 0, -1], np.float32)
    assert found("fails", far).slots == [0]


def test_filters_phrases_and_excluded_words_hold_for_the_vectors_too() -> None:
    assert slots("login importance:low") == [1]
    assert slots("login -refused") == [0, 1, 4]
    assert slots('"login fails"') == [0]
    assert slots("~login -token") == [0, 2, 4]


def test_meaning_alone_is_ordered_by_nearness_alone() -> None:
    hits = found("~login")
    assert list(hits.slots) == [0, 1, 2, 4]
    assert hits.scores is not None
    assert list(hits.scores) == pytest.approx([0.9, 0.8, 0.7, 0.4])


def test_words_and_meaning_together() -> None:
    hits = found("update ~login")
    assert list(hits.slots)[:2] == [0, 5]
    assert set(hits.slots) == {0, 5, 1, 2, 4}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("what about login", "what about login"),
        ("login -token type:x", "login"),
        ("~login update", "login"),
        ('"login fails" tok', "login fails tok"),
    ],
)
def test_what_is_embedded_of_a_query(line: str, text: str) -> None:
    assert fusion.text_to_embed(parse_query(line, NOW).terms) == text


def test_a_word_that_is_still_typed_is_embedded_once_it_is_one() -> None:
    def asked(line: str) -> str:
        terms = parse_query(line, NOW, typing=True).terms
        return fusion.text_to_embed(terms, [SEGMENT])

    assert asked("token logi") == "token"
    assert asked("token login") == "token login"


cosines = st.lists(st.floats(-1, 1, width=32), min_size=len(MEMORIES), max_size=len(MEMORIES)).map(
    lambda values: np.array(values, np.float32)
)
lines = st.lists(
    st.sampled_from(["login", "update", "~bread", "-flour", '"needs flour"', "auth*", "zebra"]),
    min_size=1,
    max_size=4,
).map(" ".join)


@given(lines, cosines, st.floats(0, 5))
def test_parts_add_up_and_all_words_stay_first(line: str, near: Floats, weight: float) -> None:
    weights = ranking.Weights(meaning=weight)
    hits = found(line, near, weights)
    match = hits.hits.match
    if hits.scores is None or match is None:
        return
    for at, score in enumerate(hits.scores):
        parts = hits.explain(at, weights)
        assert sum(part.value for part in parts) == pytest.approx(score, abs=1e-5)
    held = [bool(match.all_words[match.slots.tolist().index(slot)]) for slot in hits.slots]
    assert held == sorted(held, reverse=True)
    assert list(hits.scores) == sorted(hits.scores, reverse=True)


def test_without_weight_nothing_changes() -> None:
    none = ranking.Weights(meaning=0)
    fused, plain = found("login update", weights=none), found("login update", None, none)
    assert fused.slots == plain.slots
    assert fused.scores is not None
    assert plain.scores is not None
    assert fused.scores == plain.scores


def test_nothing_is_added_below_the_floor() -> None:
    near = np.array([0.1, 0.31, 0.2, 0.0, 0.4, -0.3], np.float32)
    everything = np.ones(len(MEMORIES), np.bool_)
    assert fusion.match_by_meaning(near, everything, 0.32).slots.tolist() == [4]
    none = fusion.match_by_meaning(near, everything, 0.5)
    assert not len(none.slots)
    assert none.too_far == pytest.approx(0.4)
    by_text = match([SEGMENT], len(MEMORIES), parse_query("flour", NOW).terms)
    added = fusion.fuse_scores(by_text, near, everything, 1.0, floor=0.32)
    assert set(added.slots.tolist()) == {3, 4}
