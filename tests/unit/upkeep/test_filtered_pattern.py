"""Filtering expressions by their words loses no match."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.text import secrets
from memtui.text.filtered_pattern import ExpressionFilter, fold

from .labelled_secrets import secrets as labelled_secrets

EXPRESSIONS = (
    r"\b(?:send|submit|cc|copy)\b[^.]{0,9}\bkeys?\b",
    r"ab?c|a(?:bd)+|x*",
    r"(?:no|not)\s+way|[ab]c{2}",
    r"(?P<q>ding|dong) the (?P=q)",
    r"鍵|(?-i:KEY)",
    r"<\|no",
    r"\bmust\s+not\b(?!\w)|do\s*not$",
)
FILTER = ExpressionFilter(EXPRESSIONS)


def matching(expressions: tuple[str, ...], text: str) -> list[int]:
    found = (re.search(expression, text, re.IGNORECASE) for expression in expressions)
    return [at for at, one in enumerate(found) if one is not None]


@given(text=st.text("abcdefiknostuwxy KEY鍵ıİſ.<|", max_size=24))
def test_no_match_is_lost(text: str) -> None:
    assert set(matching(EXPRESSIONS, text)) <= set(FILTER.candidates(fold(text)))


@pytest.mark.slow
def test_what_a_word_holds_is_forgotten_in_time() -> None:
    one = ExpressionFilter(EXPRESSIONS)
    for number in range(160_000):
        one.candidates(f"word{number}")
    assert len(one._known) <= 150_000
    assert one.candidates("no way") == [1, 2]


def test_the_rules_have_words_and_lose_no_labelled_line() -> None:
    texts = [text for line in labelled_secrets() for text in line]
    expressions = tuple(secrets.NAMED)
    each = ExpressionFilter(expressions)
    assert sum(map(bool, each.words)) >= 0.9 * len(expressions)
    for text in texts:
        found = matching(expressions, text)
        assert set(found) <= set(each.candidates(fold(text)))
        assert all(each.matches(at, text) for at in found)
