"""A word whose letters pose as others is pointed out; honest words never are."""

from __future__ import annotations

import pytest

from memtui.text import mixed_scripts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("log in at b\u0430nk or bank", ("b\u0430nk",)),
        ("s\u0443do and s\u0443do", ("s\u0443do",)),
        ("\u039datural gas", ("\u039datural",)),
        ("plain words", ()),
        ("привет, καλημέρα, 日本語, café", ()),
        ("5 µs, ∆x, kΩ", ()),
    ],
)
def test_mixed_words(text: str, words: tuple[str, ...]) -> None:
    assert mixed_scripts(text) == words
