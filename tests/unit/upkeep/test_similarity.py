"""Similar pairs: the fast way finds what comparing every pair finds."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.upkeep.similarity import (
    cosine,
    is_same_statement,
    jaccard,
    similar_pairs,
    stars_of,
    words_of,
)

texts = st.lists(st.frozensets(st.sampled_from("abcdefghijkl"), max_size=8), max_size=20)


@given(texts, st.floats(0.05, 1.0))
def test_every_similar_pair_is_found_and_no_other(
    words: list[frozenset[str]], threshold: float
) -> None:
    found = {(pair.first, pair.second) for pair in similar_pairs(words, threshold)}
    every = {
        (one, other)
        for one, other in combinations(range(len(words)), 2)
        if words[one] and words[other] and jaccard(words[one], words[other]) >= threshold
    }
    assert found == every


@given(texts, st.floats(0.3, 1.0))
def test_every_pair_of_a_cosine_is_among_those_of_its_square(
    words: list[frozenset[str]], least: float
) -> None:
    found = {(pair.first, pair.second) for pair in similar_pairs(words, least * least)}
    for one, other in combinations(range(len(words)), 2):
        if cosine(words[one], words[other]) > least + 1e-6:
            assert (one, other) in found


@given(st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=20))
def test_each_of_a_group_is_similar_to_its_first(found: set[tuple[int, int]]) -> None:
    pairs = [(one, other) for one, other in found if one < other]
    groups = stars_of(pairs, range(13))
    members = [item for group in groups for item in group]
    assert len(members) == len(set(members))
    for first, *others in groups:
        assert others
        assert all(tuple(sorted((first, other))) in pairs for other in others)
    for one, other in pairs:
        assert {one, other} & set(members)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("created the proactive agent lite skill", "created the tavily search skill", False),
        ("我手动创建了proactive-agent-lite技能", "我手动创建了tavily-search技能", False),
        ("the tests run twice", "the test runs twice", True),
        ("no new mail (earlier sessions handled)", "no new mail (earlier handled)", True),
    ],
)
def test_other_words_make_another_statement(one: str, other: str, is_same: bool) -> None:
    assert is_same_statement(one, other) is is_same


def test_scripts_without_blanks_are_compared_by_letter() -> None:
    assert words_of("鐘は十三回鳴った") == frozenset("鐘は十三回鳴った")
    assert words_of("v2東京") == {"v2", "東", "京"}
