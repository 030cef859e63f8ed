"""No text and no pattern that a person or a store can give holds anybody up (ReDoS)."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from memtui.search import analysis, expansion
from memtui.stores.engram import rules as engram
from memtui.text import highlights, one_line
from memtui.text.secrets import find_secrets
from memtui.upkeep.instructions import find_suspicions

LONG = 150_000
"""Characters: enough for what grows with their square to take minutes."""
SECONDS = 20.0
"""Of this process's own time, for a fiftieth of it."""

TRIED: dict[str, tuple[Callable[[str], object], str]] = {
    "blanks on one line": (one_line, "a: \x1b" + " " * LONG + "b"),
    "stars, marked in a word": (lambda text: highlights(text, ["a*b*c*d"]), "a" * LONG),
    "stars, marked in a path": (lambda text: highlights(text, ["*a*a*a*b"]), "a_" * (LONG // 2)),
    "a number that is none": (analysis.list_tokens, "1." + "0" * LONG + "a0a"),
    "tags that are not closed": (engram.redacted, "<private>" * (LONG // 9)),
    "blanks to be trimmed": (engram.trim, "a" + " " * LONG + "b"),
    "the start of a key": (lambda text: list(find_secrets(text)), "sk-" * (LONG // 3)),
    "the start of a web token": (lambda text: list(find_secrets(text)), "eyJ-" * (LONG // 4)),
    "empty lines": (find_suspicions, "\n" * LONG),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIED)
def test_no_text_holds_up_what_looks_through_it(name: str) -> None:
    look, text = TRIED[name]
    started = time.process_time()
    look(text)
    assert time.process_time() - started < SECONDS


def test_no_wildcard_holds_up_a_search() -> None:
    words = ["a" * 64, "ab" * 32, "a" * 63 + "b"]
    started = time.process_time()
    for pattern in ("*a" * 30 + "b*", "a*" * 30 + "?b", "*" * 200 + "b"):
        matches = expansion.compile_pattern(pattern)
        assert not matches(words[0])
    assert time.process_time() - started < SECONDS


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
