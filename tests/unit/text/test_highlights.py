"""What was looked for can be seen in what was found."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memtui.text.cells import width
from memtui.text.highlights import (
    CONTEXT_CELLS,
    FORM_CHARS,
    excerpt,
    find_passage,
    fold,
    highlights,
)

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


PIECES = ("foo", "Foo", "bar", "fo", "é", "ﬁ", "b", "_", "\u0301", "東京", " ", "\n", "\n\n")


@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=30),
    words=st.lists(st.sampled_from(("foo", "foo bar", "b", "fo*", "é", "東")), max_size=3),
)
def test_the_passage_has_the_most_words_that_lines_of_a_paragraph_have(
    pieces: list[str], words: list[str]
) -> None:
    """Each line searched by itself finds what one search through the whole text does."""
    text = "".join(pieces)
    best = 0
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [(line, highlights(line, words)) for line in paragraph.split("\n")]
        best = max(best, len({fold(x[a:b])[:FORM_CHARS] for x, spans in lines for a, b in spans}))
    found = find_passage(text, words)
    assert (found.words if found else 0) == best


@given(
    st.text("abéßT .\n", max_size=200),
    st.lists(st.text("abé", min_size=1, max_size=3), min_size=1, max_size=3),
    st.integers(3, 60),
)
def test_an_excerpt_fits_and_shows_the_first_match(text: str, words: list[str], room: int) -> None:
    passage = find_passage(text, words)
    if passage is not None:
        shown = excerpt(text, passage, words, room)
        assert width(shown) <= room
        assert highlights(shown, words) or room <= 2 * CONTEXT_CELLS
