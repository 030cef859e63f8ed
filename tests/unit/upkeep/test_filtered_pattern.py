"""A filtered pattern finds exactly what the plain expression finds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.upkeep import instructions
from memtui.upkeep.filtered_pattern import FilteredPattern

from .labelled_instructions import HONEST, POISONED, TUNING, measured_lines

EXPRESSIONS = (
    r"\b(?:send|submit|cc|copy)\b[^.]{0,9}\bkeys?\b",
    r"ab?c|a(?:bd)+|x*",
    r"(?:no|not)\s+way|[ab]c{2}",
    r"(?P<q>ding|dong) the (?P=q)",
    r"鍵|(?-i:KEY)",
)


@pytest.mark.parametrize("expression", EXPRESSIONS)
@given(text=st.text("abcdefiknostuwxy KEY鍵ıſ.", max_size=24))
def test_it_matches_where_the_expression_does(expression: str, text: str) -> None:
    plain = re.compile(expression, re.IGNORECASE).search(text) is not None
    assert FilteredPattern(expression).is_in(text, text.casefold().replace("ı", "i")) is plain


def test_every_group_of_phrases_has_words_and_loses_no_labelled_line() -> None:
    texts = [*POISONED, *HONEST, *(line.text for line in measured_lines(TUNING))]
    for phrases in instructions.PHRASES.values():
        filtered = FilteredPattern("|".join(phrases))
        assert filtered.words
        plain = re.compile("|".join(phrases), re.IGNORECASE)
        for text in texts:
            found = filtered.is_in(text, text.casefold().replace("ı", "i"))
            assert found is (plain.search(text) is not None)
