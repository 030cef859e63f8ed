"""No text and no pattern that a person or a store can give holds anybody up (ReDoS)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memtui.search import analysis, expansion
from memtui.stores.engram import rules as engram
from memtui.testing.fixtures import time_limit
from memtui.text import highlights, one_line
from memtui.text.secrets import find_secrets
from memtui.upkeep.planted_text import find_suspicions
from tests.growth import assert_straight

LONG = 150_000
"""Characters: enough for what grows with their square to take minutes."""
SECONDS = 60.0
"""What tries all ways to match would take longer than anybody lives."""

Looked = tuple[Callable[[str], object], str, str, str]
TRIED: dict[str, Looked] = {
    "blanks on one line": (one_line, "a: \x1b", " ", "b"),
    "stars, marked in a word": (lambda text: highlights(text, ["a*b*c*d"]), "", "a", ""),
    "stars, marked in a path": (lambda text: highlights(text, ["*a*a*a*b"]), "", "a_", ""),
    "a number that is none": (analysis.list_tokens, "1.", "0", "a0a"),
    "tags that are not closed": (engram.redacted, "", "<private>", ""),
    "blanks to be trimmed": (engram.trim, "a", " ", "b"),
    "the start of a key": (lambda text: list(find_secrets(text)), "", "sk-", ""),
    "the start of a web token": (lambda text: list(find_secrets(text)), "", "eyJ-", ""),
    "empty lines": (find_suspicions, "", "\n", ""),
}
"""What looks through a text, and the text: a beginning, what comes again and again, an end."""


@pytest.mark.parametrize("name", TRIED)
def test_no_text_holds_up_what_looks_through_it(name: str) -> None:
    look, begin, piece, end = TRIED[name]
    assert_straight(lambda size: look(begin + piece * (size // len(piece)) + end), LONG)


def test_no_wildcard_holds_up_a_search() -> None:
    with time_limit(SECONDS):
        for pattern in ("*a" * 30 + "b*", "a*" * 30 + "?b", "*" * 200 + "b"):
            assert not expansion.compile_pattern(pattern)("a" * 64)


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("get_user_by_id", ["get*id"], ["get_user_by_id"]),
        ("wordrd wd", ["w*rd"], ["wordrd"]),
        ("abcabc", ["a*b*c"], ["abcabc"]),
        ("aXbYc aXbY", ["a*b*c"], ["aXbYc"]),
        ("deploying", ["dep*"], ["deploying"]),
    ],
)
def test_what_a_wildcard_marks(text: str, words: list[str], found: list[str]) -> None:
    assert [text[start:end] for start, end in highlights(text, words)] == found


def test_a_private_passage_is_redacted_whatever_follows_it() -> None:
    assert engram.redacted(" a <PRIVATE>x</private> b <private>y ") == "a [REDACTED] b <private>y"
    assert engram.has_private("a <private>x\n</private>")
    assert not engram.has_private("a <private>x")
