"""The known items: each class in both halves, each answer in the sample stores."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.bench import known_item


@pytest.mark.slow
def test_every_class_is_in_both_halves_and_every_answer_exists() -> None:
    items = known_item.read_items()
    tuning, reported = known_item.split_items(items)
    assert len(items) >= 200
    assert not {item.text for item in tuning} & {item.text for item in reported}
    for half in (tuning, reported):
        assert len(Counter(item.kind for item in half)) == 12
        assert abs(len(half) - len(items) / 2) <= 6
    with known_item.open_samples() as library:
        refs = {memory.ref for memory in library.snapshot.rows}
        questions = known_item.read_items(known_item.QUESTIONS)
        assert not {ref for item in (*items, *questions) for ref in item.refs} - refs
        first = next(item for item in items if item.kind == "rare word or path")
        assert known_item.rank_of(library, first) == 1


def test_mean_reciprocal_counts_what_is_not_found_as_nothing() -> None:
    assert known_item.mean_reciprocal([1, 2, 0, 4]) == (1 + 0.5 + 0.25) / 4
