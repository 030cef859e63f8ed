"""What was looked for can be seen in what was found."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memtui.text.cells import width
from memtui.text.highlights import (
    CONTEXT_CELLS,
    FORM_CHARS,
    Passage,
    _begins_word,
    _pattern,
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


def test_where_there_is_little_room_the_match_takes_it() -> None:
    text = "Reported on Monday by the infrastructure team: production deployments fail silently"
    passage = find_passage(text, ["deploy"])
    assert passage is not None
    assert excerpt(text, passage, ["deploy"], 15) == "…deployments f…"


def test_an_excerpt_of_a_line_without_end_shows_the_match_far_inside() -> None:
    text = "padding " * 4_000 + "needle " + "xneedle" * 4_000
    passage = find_passage(text, ["needle"])
    assert passage is not None
    assert excerpt(text, passage, ["needle"], 40) == "…padding padding needle xneedlexneedlex…"


# A second implementation: the whole text folded at once, and every line looked at.


def _folded_character(char: str) -> str:
    apart = unicodedata.normalize("NFKD", char)
    return "".join(c for c in apart if unicodedata.category(c) != "Mn").casefold()


def slow_highlights(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    folded = [_folded_character(char) for char in text]
    joined = "".join(folded)
    origins = [at for at, letters in enumerate(folded) for _ in letters]
    pattern = _pattern(tuple(words))
    spans: list[tuple[int, int]] = []
    at = before = 0
    while pattern is not None and (match := pattern.search(joined, at)):
        start, end = origins[match.start()], origins[match.end() - 1] + 1
        while end < len(text) and not folded[end]:
            end += 1
        if start >= before and _begins_word(text, start):
            spans.append((start, end))
            at, before = match.end(), end
        else:
            at = match.start() + 1
    return spans


def slow_passage(text: str, words: Sequence[str]) -> Passage | None:
    def form(text: str, span: tuple[int, int]) -> str:
        return "".join(map(_folded_character, text[slice(*span)]))[:FORM_CHARS]

    spans = slow_highlights(text, words)
    best: Passage | None = None
    lines: list[tuple[int, int, int, set[str]]] = []
    start = 0
    for number, line in enumerate([*text.split("\n"), ""]):
        end = start + len(line)
        matched = {form(text, span) for span in spans if start <= span[0] and span[1] <= end}
        if any(a < end and b > start and (a < start or b > end) for a, b in spans):
            matched = {form(line, span) for span in slow_highlights(line, words)}
        if line and not line.isspace():
            lines += [(number, start, end, matched)] if matched else []
        elif lines:
            longest = max(lines, key=lambda one: len(one[3]))
            count = len(set().union(*(one[3] for one in lines)))
            first, last = lines[0], lines[-1]
            if len(longest[3]) == count:
                first = last = longest
            if best is None or count > best.words:
                best = Passage(first[1], last[2], first[0], count)
            lines = []
        start = end + 1
    return best


ODD = (
    "ß",
    "ẞ",
    "İ",
    "ı",
    "ﬁ",
    "ﬃ",
    "é",
    "e\u0301",
    "\u0301",
    "ǆ",
    "ᏸ",
    "Ꮧ",
    "ꭰ",
    "Σ",
    "ς",
    "東京",
    "한",
)
ODD += ("ö", "㎏", "½", "\U0001f469\u200d\U0001f4bb", "❤\ufe0f", "\ud800", "\x1b", "\t", "\r")
PLAIN = ("foo", "Foo", "fi", "fooBar", "ss", "i", "x1", "_", " ", ".", "a" * 32, "*", "?")
LINES = ("\n", "\n\n", "\n \t\n", "\n\r\n")
pieces = st.lists(st.sampled_from((*ODD, *PLAIN, *PLAIN, *LINES)), max_size=40).map("".join)
searched = st.lists(
    st.sampled_from((*ODD, *PLAIN, "foo bar", "fo*", "f?o", "foo\nfi", "->", "ss i", "fooba")),
    max_size=4,
)


@given(pieces, searched)
@example("foo\n\nbar foo bar", ["foo bar", "bar"])
@example("ﬁﬁ fi\nfi", ["f", "i"])
def test_what_is_found_is_what_the_slow_way_finds(text: str, words: list[str]) -> None:
    assert fold(text) == "".join(map(_folded_character, text))
    assert highlights(text, words) == slow_highlights(text, words)
    assert find_passage(text, words) == slow_passage(text, words)
