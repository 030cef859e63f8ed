"""What was looked for can be seen in what was found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.text import highlights

from .test_hidden import anything


def marked(text: str, *words: str) -> list[str]:
    return [text[start:end] for start, end in highlights(text, words)]


@given(anything, st.lists(anything, max_size=4))
def test_spans_lie_within_the_text_in_order(text: str, words: list[str]) -> None:
    last = 0
    for start, end in highlights(text, words):
        assert last <= start < end <= len(text)
        last = end


@given(st.text("abcé ", min_size=1), st.text("abcé", min_size=1))
def test_a_word_that_stands_in_the_text_is_marked(text: str, word: str) -> None:
    assert marked(f"{text} {word}", word)


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("Authentication by authors", ["auth"], ["Auth", "auth"]),
        ("reauth", ["auth"], []),
        ("the auth_token and authToken", ["token"], ["token", "Token"]),
        ("Café and CAFE and cafe\u0301s", ["café"], ["Café", "CAFE", "cafe\u0301"]),
        ("Straße", ["strasse"], ["Straße"]),
        ("我们用日本語书写", ["日本"], ["日本"]),
        ("exact  words\nhere", ["exact words"], ["exact  words"]),
        ("wood word ward", ["w?rd"], ["word", "ward"]),
        ("redis-cache", ["cache"], ["cache"]),
        ("a.b(c)", ["(", "."], [".", "("]),
        ("a -> b", ["->"], ["->"]),
        ("one", [""], []),
        ("abcabc", ["abc", "ab"], ["abc"]),
    ],
)
def test_what_is_marked(text: str, words: list[str], found: list[str]) -> None:
    assert marked(text, *words) == found
