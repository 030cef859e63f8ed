"""What is said about two hits that stand one above the other."""

from __future__ import annotations

import pytest

from memtui.tui.dialogs.why import Hit, compare_parts, explain_rank

FIRST = Hit("first", 1, {"all words": 3.0, "text": 0.5, "importance": 0.25})
SECOND = Hit("second", 2, {"text": 0.75, "recency": 0.125, "importance": 0.125})


def test_every_part_of_both_is_parts_and_the_differences_add_up() -> None:
    parts = compare_parts(FIRST, SECOND)
    assert [part.name for part in parts] == ["all words", "text", "recency", "importance"]
    assert sum(part.value for part in parts) == FIRST.score
    assert sum(part.other for part in parts) == SECOND.score
    assert sum(part.difference for part in parts) == FIRST.score - SECOND.score


def test_a_part_that_only_the_next_has_comes_first_when_nothing_is_before_it() -> None:
    parts = compare_parts(Hit("a", 1, {"text": 1.0}), Hit("b", 2, {"exact id": 1.0, "text": 0.5}))
    assert [part.name for part in parts] == ["exact id", "text"]


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (
            SECOND,
            "2.750 above the next: more for all words and importance, less for text and recency.",
        ),
        (Hit("same", 2, FIRST.parts), "the newer one comes first"),
        (None, "the last result"),
    ],
)
def test_the_explanation(after: Hit | None, words: str) -> None:
    assert words in explain_rank(FIRST, after)
