"""Similar pairs: the fast way finds what comparing every pair finds."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from memtui.upkeep.similarity import (
    cosine,
    groups_of,
    jaccard,
    similar_pairs,
    similar_vectors,
    tfidf_vectors,
    words_of,
)

texts = st.lists(st.frozensets(st.sampled_from("abcdefghijkl"), max_size=8), max_size=14)


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


sentences = st.lists(
    st.lists(st.sampled_from("abcdefghijkl"), max_size=8).map(" ".join), max_size=14
)


@given(sentences, st.floats(0.05, 1.0))
def test_every_pair_of_similar_vectors_is_found_and_no_other(
    texts: list[str], threshold: float
) -> None:
    vectors = tfidf_vectors(texts)
    found = {(pair.first, pair.second) for pair in similar_vectors(vectors, threshold)}
    scores = {
        (one, other): cosine(vectors[one], vectors[other])
        for one, other in combinations(range(len(texts)), 2)
    }
    assert {pair for pair, score in scores.items() if score > threshold + 1e-6} <= found
    assert found <= {pair for pair, score in scores.items() if score >= threshold - 1e-6}


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=20))
def test_groups_are_the_connected_parts(pairs: list[tuple[int, int]]) -> None:
    groups = groups_of(pairs)
    assert sorted(item for group in groups for item in group) == sorted(
        {item for pair in pairs for item in pair}
    )
    for one, other in pairs:
        assert any(one in group and other in group for group in groups)


def test_scripts_without_blanks_are_compared_by_letter() -> None:
    assert words_of("鐘は十三回鳴った") == frozenset("鐘は十三回鳴った")
