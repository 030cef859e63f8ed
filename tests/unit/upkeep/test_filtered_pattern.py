"""Filtering expressions by their words loses no match."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from memtui.text import secrets
from memtui.text.filtered_pattern import ExpressionFilter, fold
from memtui.upkeep import instructions

from .labelled_instructions import HONEST, POISONED, TUNING, measured_lines
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


@given(
    before=st.sampled_from(["", "x", " far away " * 300]),
    text=st.text("abcdefiknostuwxym KEY鍵ıİſ.<|", max_size=24),
    inner=st.sampled_from(["must not", f"must{' ' * 90}not", "do not", "no way", "send a key"]),
    after=st.sampled_from(["", "y", " and so on " * 300]),
)
def test_the_places_around_needed_words_are_enough(
    before: str, text: str, inner: str, after: str
) -> None:
    whole = before + text + inner + after
    found = [at for at in range(len(EXPRESSIONS)) if FILTER.matches(at, whole, fold(whole))]
    assert found == matching(EXPRESSIONS, whole)


def test_what_a_word_holds_is_forgotten_in_time() -> None:
    one = ExpressionFilter(EXPRESSIONS)
    for number in range(60_000):
        one.candidates(f"word{number}")
    assert len(one._known) <= 50_000
    assert one.candidates("no way") == [1, 2]


def test_the_rules_have_words_and_lose_no_labelled_line() -> None:
    texts = [*POISONED, *HONEST, *(line.text for line in measured_lines(TUNING))]
    texts += [text for line in labelled_secrets() for text in line]
    phrases = tuple(phrase for own in instructions.PHRASES.values() for phrase in own)
    for expressions in (phrases, tuple(secrets.NAMED)):
        each = ExpressionFilter(expressions)
        assert sum(map(bool, each.words)) >= 0.9 * len(expressions)
        for text in texts:
            found = matching(expressions, text)
            assert set(found) <= set(each.candidates(fold(text)))
            assert all(each.matches(at, text, fold(text)) for at in found)
