"""What is said about two hits that stand one above the other."""

from __future__ import annotations

import pytest

from memtui.tui.score_comparison import Hit, scale, verdict, weigh

FIRST = Hit("first", 1, {"all words": 3.0, "text": 0.5, "importance": 0.25})
SECOND = Hit("second", 2, {"text": 0.75, "recency": 0.125, "importance": 0.125})


def test_every_part_of_both_is_weighed_and_the_differences_add_up() -> None:
    weighed = weigh(FIRST, SECOND)
    assert [part.name for part in weighed] == ["all words", "text", "recency", "importance"]
    assert sum(part.value for part in weighed) == FIRST.score
    assert sum(part.other for part in weighed) == SECOND.score
    assert sum(part.difference for part in weighed) == FIRST.score - SECOND.score
    assert scale(weighed) == 3.0


def test_a_part_that_only_the_next_has_comes_first_when_nothing_is_before_it() -> None:
    weighed = weigh(Hit("a", 1, {"text": 1.0}), Hit("b", 2, {"exact id": 1.0, "text": 0.5}))
    assert [part.name for part in weighed] == ["exact id", "text"]


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (SECOND, "by 2.750, for all words and importance, in spite of text and recency."),
        (Hit("same", 2, FIRST.parts), "the newer stands first"),
        (None, "the last hit"),
    ],
)
def test_the_verdict(after: Hit | None, words: str) -> None:
    assert words in verdict(FIRST, after)


def test_nothing_to_weigh_still_has_a_scale() -> None:
    assert scale(weigh(Hit("a", 1, {}), None)) == 1.0
